/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Where blocks and HAKMEM's own data lie in the secure flavour, and that guards between them are reached by no access.
#include <errno.h>
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr uintptr_t region = 2 << 20, stride = 2 * region, page = 4096; // a guard is as long as a region

// By a kernel call: a byte that cannot be read gives EFAULT.
bool is_readable(uintptr_t p) {
  int ends[2];
  if (pipe(ends) != 0) abort();
  bool ok = write(ends[1], reinterpret_cast<void *>(p), 1) == 1;
  EXPECT_TRUE(ok || errno == EFAULT);
  close(ends[0]);
  close(ends[1]);
  return ok;
}

uintptr_t address(void *p) { return reinterpret_cast<uintptr_t>(p); }

bool is_zero(const char *p, size_t n) { return *p == 0 && memcmp(p, p + 1, n - 1) == 0; }

struct Blocks {
  std::vector<void *> block;
  std::vector<size_t> bytes;
  ~Blocks() {
    for (void *p : block) free(p);
  }
  void take(size_t count, size_t n) {
    for (size_t i = 0; i < count; i++) {
      void *p = malloc(n);
      ASSERT_NE(p, nullptr);
      ASSERT_TRUE(hak_owns(p));
      ASSERT_TRUE(n > 32760 || is_zero(static_cast<char *>(p), n)) << p << " " << n;
      memset(p, 0x5a, n);
      block.push_back(p);
      bytes.push_back(n);
    }
  }
  void take_aligned(size_t longest) {
    for (size_t align = 1 << 16; align <= longest; align *= 2) {
      for (size_t n : {100, 200000, 900000}) {
        void *p = aligned_alloc(align, n);
        ASSERT_EQ(address(p) % align, 0u);
        memset(p, 0x5a, n);
        block.push_back(p);
        bytes.push_back(n);
      }
    }
  }
  // The guards of all regions that blocks of at most `most` bytes lie in.
  std::set<uintptr_t> guards(size_t most) const {
    std::set<uintptr_t> found;
    for (size_t i = 0; i < block.size(); i++) {
      if (bytes[i] <= most) found.insert(address(block[i]) / stride * stride + region);
    }
    return found;
  }
};

void expect_shut(const std::set<uintptr_t> &guards) {
  for (uintptr_t guard : guards) {
    for (uintptr_t p = guard; p < guard + region; p += page) EXPECT_FALSE(is_readable(p)) << std::hex << p;
  }
}

struct Map {
  uintptr_t begin, end;
  bool writable;
};

std::vector<Map> maps() {
  std::vector<Map> all;
  FILE *file = fopen("/proc/self/maps", "r");
  char line[512], access[8];
  Map map;
  while (fgets(line, sizeof line, file) != nullptr) {
    if (sscanf(line, "%lx-%lx %7s", &map.begin, &map.end, access) != 3) continue;
    map.writable = access[1] == 'w';
    all.push_back(map);
  }
  fclose(file);
  return all;
}

uint64_t counter(const char *wanted) {
  const char *name;
  uint64_t value;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++) {
    if (strcmp(name, wanted) == 0) return value;
  }
  return 0;
}

// The kernel gives a huge page where it is advised to.
bool has_huge_pages() {
  char *p = static_cast<char *>(mmap(nullptr, stride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char *whole = reinterpret_cast<char *>((address(p) + region - 1) / region * region);
  madvise(whole, region, MADV_HUGEPAGE);
  *whole = 1;
  unsigned char resident[region / page];
  bool huge = mincore(whole, region, resident) == 0 && (resident[region / page - 1] & 1) != 0;
  munmap(p, stride);
  return huge;
}

size_t neighbours(const std::vector<void *> &blocks, size_t n) {
  size_t found = 0;
  for (size_t i = 1; i < blocks.size(); i++) found += address(blocks[i]) == address(blocks[i - 1]) + n;
  return found;
}

}  // namespace

TEST(Places, BlocksFollowInNoOrder) {
  Blocks all;
  all.take(2000, 64);
  EXPECT_LT(neighbours(all.block, 64), 200u); // libhakmem.so: nearly all
  EXPECT_EQ(std::set<void *>(all.block.begin(), all.block.end()).size(), all.block.size());
}

TEST(Places, EachSlotIsHandedOutOnce) {
  Blocks all;
  for (size_t n : {16, 80, 1000, 5000, 20000}) all.take(3000, n);
  std::vector<std::pair<uintptr_t, size_t>> sorted;
  for (size_t i = 0; i < all.block.size(); i++) sorted.emplace_back(address(all.block[i]), all.bytes[i]);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 1; i < sorted.size(); i++) EXPECT_LE(sorted[i - 1].first + sorted[i - 1].second, sorted[i].first);
}

TEST(Places, ARegionEndsInAGuard) {
  Blocks all;
  all.take(20000, 2000);
  all.take(100, 100000);
  EXPECT_GE(all.guards(SIZE_MAX).size(), 10u);
  expect_shut(all.guards(SIZE_MAX));
  for (size_t i = 0; i < all.block.size(); i++) {
    EXPECT_LE(address(all.block[i]) % stride + all.bytes[i], region);
  }
}

TEST(Places, AGuardStaysWhenAllWasFreedAndReleased) {
  Blocks all;
  all.take(20000, 2000);
  std::set<uintptr_t> guards = all.guards(SIZE_MAX);
  for (void *&p : all.block) free(p), p = nullptr;
  hak_trim(0);
  expect_shut(guards);
  all.take(20000, 3000);
  expect_shut(guards);
}

// Also behind the last region of the range, and where guards are more than the growths of the range.
TEST(Places, EachGrowthEndsInAGuard) {
  Blocks all;
  for (size_t mib = 1; mib <= 64; mib++) {
    all.take(16, 60000);
    expect_shut({*all.guards(SIZE_MAX).rbegin()});
  }
}

// Alignments up to a region's place lie between guards; longer ones make runs over guards, which serve later. Without
// HAKMEM_LAB_BIG_THRESHOLD alignments from 1 MiB on are big blocks', outside of the regions.
TEST(Places, AlignmentsAreKeptBetweenGuards) {
  size_t between = getenv("HAKMEM_LAB_BIG_THRESHOLD") != nullptr ? stride : 1 << 19;
  Blocks all;
  for (int round = 0; round < 8; round++) all.take_aligned(between), all.take(200, 4000);
  for (size_t i = 0; i < all.block.size(); i++) {
    EXPECT_LE(address(all.block[i]) % stride + all.bytes[i], region) << all.block[i] << " " << all.bytes[i];
  }
  expect_shut(all.guards(SIZE_MAX));
  for (int round = 0; round < 4; round++) all.take_aligned(4 * stride), all.take(200, 4000);
}

// A region is fetched as one huge page, wherever in it its first slab lies.
TEST(Places, RegionsAreHugePages) {
  if (!has_huge_pages()) GTEST_SKIP() << "the kernel gives none";
  Blocks all;
  all.take(40000, 2000);
  EXPECT_GE(counter("huge_pages"), 1u) << counter("huge_refused") << " refused";
  std::set<uintptr_t> slots;
  for (void *p : all.block) slots.insert(address(p));
  EXPECT_EQ(slots.size(), all.block.size());
  expect_shut(all.guards(SIZE_MAX));
}

// The rest of a huge page is zero until longer blocks, which are not zeroed at their free, have used it.
TEST(Places, TheRestOfAHugePageIsZeroOnce) {
  Blocks all;
  all.take(10000, 2000);
  for (int round = 0; round < 20; round++) {
    {
      Blocks passing;
      passing.take(8, 100000), passing.take(2, 600000);
    }
    all.take(500, 1000 + 100 * round);
  }
}

// Longer than a region: where big_threshold is raised such a block is a run, over borders of regions without a guard.
TEST(Places, LongBlocksAreWhole) {
  for (int round = 0; round < 3; round++) {
    Blocks all;
    for (size_t mib : {1, 2, 3, 5, 17, 31}) all.take(2, (mib << 20) - 100), all.take(200, 4000);
    if (getenv("HAKMEM_LAB_BIG_THRESHOLD") == nullptr) expect_shut(all.guards(4096));
  }
}

// Sixteen tries of settle_range in range.c: windows that begin at 2^44, 2^40, 2^36 and 2^33.
TEST(Places, TablesLieBetweenGuards) {
  Blocks all;
  all.take(20000, 2000);
  size_t found = 0;
  std::vector<Map> every = maps();
  for (size_t i = 0; i < every.size(); i++) {
    uintptr_t begin = every[i].begin, end = every[i].end;
    bool own = begin >= (uintptr_t)1 << 43 && begin < (uintptr_t)1 << 44 && every[i].writable;
    if (!own) continue;
    found++;
    EXPECT_TRUE(!is_readable(begin) || !is_readable(begin - 1)) << std::hex << begin;
    EXPECT_TRUE(!is_readable(end - 1) || !is_readable(end)) << std::hex << end;
  }
  EXPECT_GE(found, 3u); // class map, unit table, chunk
}
