/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* malloc_rules_test.cpp: promises of every allocating function about alignment, sizes and errors.
 *
 * what      glibc's rules (2.36, and aligned_alloc's of 2.38), one test per rule, over every entry point.
 * owner     Tests free all blocks.
 * failure   A broken rule fails the test with the size or alignment that broke it.
 * not here  realloc_rules_test.cpp, calloc_zero_test.cpp, introspection_test.cpp, new_test.cpp.
 */
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "family.h"

namespace {

constexpr size_t kAboveLimit = static_cast<size_t>(PTRDIFF_MAX) + 1;

/* All of 0..70000 would miss large and big blocks: beyond, powers of two up to 64 MiB, each with its neighbours. */
std::vector<size_t> sampled_sizes(size_t from, size_t to) {
  std::vector<size_t> sizes;
  for (size_t power = from; power <= to; power *= 2)
    for (size_t n : {power - 1, power, power + 1, power + power / 2 + 13}) sizes.push_back(n);
  return sizes;
}

TEST(Identity, HakmemServesThisProcess) {
  Dl_info where{};
  ASSERT_NE(dladdr(reinterpret_cast<void *>(family::malloc), &where), 0);
  EXPECT_NE(std::string(where.dli_fname).find("libhakmem"), std::string::npos) << where.dli_fname;
  auto *owns = family::resolved<bool(const void *)>("hak_owns");
  family::Blocks blocks;
  EXPECT_TRUE(owns(blocks.keep(family::malloc(100))));
  EXPECT_TRUE(owns(blocks.keep(family::malloc(100000))));
  EXPECT_TRUE(owns(blocks.keep(family::malloc(10000000))));
  int local = 0;
  EXPECT_FALSE(owns(&local));
}

TEST(Alignment, EverySizeUpTo70000) {
  for (size_t n = 0; n <= 70000; n++) {
    void *p = family::malloc(n);
    ASSERT_NE(p, nullptr) << n;
    ASSERT_TRUE(family::aligned(p, 16)) << "malloc(" << n << ") = " << p;
    ASSERT_GE(family::usable_size(p), n);
    family::free(p);
  }
}

/* Blocks are held, so that not only the first block of each slab is tested. */
TEST(Alignment, EveryBlockOfEverySize) {
  for (size_t n = 0; n <= 40000; n += n < 2048 ? 1 : 97) {
    family::Blocks blocks;
    for (int i = 0; i < 20; i++) ASSERT_TRUE(family::aligned(blocks.keep(family::malloc(n)), 16)) << n;
  }
}

TEST(Alignment, SampledSizesUpTo64MiB) {
  for (size_t n : sampled_sizes(65536, size_t{64} << 20)) {
    void *p = family::malloc(n);
    ASSERT_NE(p, nullptr) << n;
    ASSERT_TRUE(family::aligned(p, 16)) << n;
    ASSERT_GE(family::usable_size(p), n);
    static_cast<char *>(p)[0] = 1;
    static_cast<char *>(p)[n - 1] = 1;
    family::free(p);
  }
}

TEST(Alignment, EveryFunctionKeepsSixteen) {
  for (size_t n = 1; n <= 5000; n += 7) {
    family::Blocks blocks;
    ASSERT_TRUE(family::aligned(blocks.keep(family::calloc(1, n)), 16)) << n;
    ASSERT_TRUE(family::aligned(blocks.keep(family::realloc(nullptr, n)), 16)) << n;
    ASSERT_TRUE(family::aligned(blocks.keep(family::reallocarray(nullptr, 1, n)), 16)) << n;
    ASSERT_TRUE(family::aligned(blocks.keep(family::memalign(1, n)), 16)) << n;
    ASSERT_TRUE(family::aligned(blocks.keep(family::aligned_alloc(8, n)), 16)) << n;
  }
}

TEST(Zero, EachBlockIsUnique) {
  family::Blocks blocks;
  std::set<void *> seen;
  for (int i = 0; i < 1000; i++) {
    void *p = blocks.keep(family::malloc(0));
    ASSERT_NE(p, nullptr);
    ASSERT_TRUE(seen.insert(p).second) << p << " handed out twice";
  }
}

TEST(Zero, EveryFunctionGivesABlock) {
  family::Blocks blocks;
  void *out = nullptr;
  EXPECT_EQ(family::posix_memalign(&out, 64, 0), 0);
  std::set<void *> seen{blocks.keep(out)};
  for (void *p : {family::calloc(0, 8), family::calloc(8, 0), family::realloc(nullptr, 0),
                  family::reallocarray(nullptr, 0, 7), family::memalign(64, 0), family::aligned_alloc(64, 0),
                  family::valloc(0), family::pvalloc(0)})
    seen.insert(blocks.keep(p));
  EXPECT_EQ(seen.count(nullptr), 0U);
  EXPECT_EQ(seen.size(), 9U);
}

/* ---- sizes that cannot be ---- */

struct Entry {
  const char *name;
  std::function<void *(size_t)> call;
};

std::vector<Entry> entries() {
  return {{"malloc", [](size_t n) { return family::malloc(n); }},
          {"calloc(1, n)", [](size_t n) { return family::calloc(1, n); }},
          {"calloc(n, 1)", [](size_t n) { return family::calloc(n, 1); }},
          {"realloc(NULL)", [](size_t n) { return family::realloc(nullptr, n); }},
          {"reallocarray(NULL)", [](size_t n) { return family::reallocarray(nullptr, n, 1); }},
          {"memalign(16)", [](size_t n) { return family::memalign(16, n); }},
          {"memalign(4096)", [](size_t n) { return family::memalign(4096, n); }},
          {"memalign(4 MiB)", [](size_t n) { return family::memalign(size_t{4} << 20, n); }},
          {"aligned_alloc(64)", [](size_t n) { return family::aligned_alloc(64, n); }},
          {"valloc", [](size_t n) { return family::valloc(n); }},
          {"pvalloc", [](size_t n) { return family::pvalloc(n); }}};
}

void expect_no_memory(const Entry &entry, size_t n) {
  errno = 0;
  void *p = entry.call(n);
  EXPECT_EQ(p, nullptr) << entry.name << " of " << n;
  EXPECT_EQ(errno, ENOMEM) << entry.name << " of " << n;
  family::free(p);
}

TEST(Impossible, SizesAbovePtrdiffMax) {
  for (const Entry &entry : entries())
    for (size_t n : {kAboveLimit, kAboveLimit + 4096, SIZE_MAX / 2 + 70000, SIZE_MAX - 65536, SIZE_MAX - 4096,
                     SIZE_MAX - 4095, SIZE_MAX - 100, SIZE_MAX - 15, SIZE_MAX - 1, SIZE_MAX})
      expect_no_memory(entry, n);
}

/* Within the limit, but no address space is large enough. */
TEST(Impossible, SizesJustBelowPtrdiffMax) {
  for (const Entry &entry : entries())
    for (size_t n : {kAboveLimit - 1, kAboveLimit - 16, kAboveLimit - 4096, kAboveLimit - 65536, kAboveLimit / 2})
      expect_no_memory(entry, n);
}

TEST(Impossible, PosixMemalignReturnsEnomem) {
  for (size_t n : {kAboveLimit, SIZE_MAX - 64, SIZE_MAX, kAboveLimit - 1}) {
    int marker = 0;
    void *out = &marker;
    errno = 77;
    EXPECT_EQ(family::posix_memalign(&out, 64, n), ENOMEM) << n;
    EXPECT_EQ(out, &marker) << "*out changed for " << n;
    EXPECT_EQ(errno, ENOMEM) << "errno for " << n;
  }
}

TEST(Impossible, ProductsThatOverflow) {
  const size_t half = size_t{1} << 32;
  const std::pair<size_t, size_t> pairs[] = {{half, half},          {SIZE_MAX, 2},        {2, SIZE_MAX},
                                             {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, SIZE_MAX}, {SIZE_MAX / 16 + 1, 16},
                                             {half + 1, half},      {3, SIZE_MAX / 3 + 1}};
  for (auto [count, size] : pairs) {
    errno = 0;
    EXPECT_EQ(family::calloc(count, size), nullptr) << count << " * " << size;
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(family::reallocarray(nullptr, count, size), nullptr) << count << " * " << size;
    EXPECT_EQ(errno, ENOMEM);
  }
}

TEST(Impossible, AlignmentsThatNoAddressSpaceHolds) {
  for (size_t alignment : {size_t{1} << 62, size_t{1} << 63}) {
    errno = 0;
    EXPECT_EQ(family::memalign(alignment, 1), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(family::aligned_alloc(alignment, 1), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    void *out = nullptr;
    EXPECT_EQ(family::posix_memalign(&out, alignment, 1), ENOMEM);
  }
}

/* ---- wrong alignments ---- */

TEST(Alignments, PosixMemalignRefuses) {
  for (size_t alignment : {0, 1, 2, 3, 4, 7, 12, 24, 40, 48, 100, 4097, 65535}) {
    int marker = 0;
    void *out = &marker;
    errno = 77;
    EXPECT_EQ(family::posix_memalign(&out, alignment, 100), EINVAL) << alignment;
    EXPECT_EQ(out, &marker) << alignment;
    EXPECT_EQ(errno, 77) << alignment;
  }
}

TEST(Alignments, AlignedAllocRefuses) {
  for (size_t alignment : {size_t{0}, size_t{3}, size_t{7}, size_t{12}, size_t{24}, size_t{48}, size_t{100},
                           size_t{4097}, (size_t{1} << 63) + 1, SIZE_MAX}) {
    errno = 0;
    void *p = family::aligned_alloc(alignment, 100);
    EXPECT_EQ(p, nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL) << alignment;
    family::free(p);
  }
}

TEST(Alignments, AlignedAllocTakesAnySize) {
  for (size_t n : {size_t{1}, size_t{63}, size_t{65}, size_t{1000}}) {
    family::Blocks blocks;
    EXPECT_TRUE(family::aligned(blocks.keep(family::aligned_alloc(64, n)), 64)) << n;
  }
}

TEST(Alignments, MemalignRoundsUp) {
  const std::pair<size_t, size_t> cases[] = {{0, 16},     {1, 16},     {3, 16},      {15, 16},        {17, 32},
                                             {24, 32},    {33, 64},    {48, 64},     {100, 128},      {1000, 1024},
                                             {4097, 8192}, {5000, 8192}, {70000, 131072}, {1048577, 2097152}};
  for (auto [asked, given] : cases) {
    family::Blocks blocks;
    for (size_t n : {size_t{1}, size_t{100}, size_t{5000}, size_t{100000}}) {
      void *p = blocks.keep(family::memalign(asked, n));
      ASSERT_NE(p, nullptr) << asked << ", " << n;
      EXPECT_TRUE(family::aligned(p, given)) << asked << ", " << n << " gave " << p;
    }
  }
}

TEST(Alignments, MemalignRefusesWhatCannotBeRounded) {
  for (size_t alignment : {(size_t{1} << 63) + 1, SIZE_MAX - 1, SIZE_MAX}) {
    errno = 0;
    EXPECT_EQ(family::memalign(alignment, 100), nullptr) << alignment;
    EXPECT_EQ(errno, EINVAL) << alignment;
  }
}

/* ---- right alignments ---- */

const size_t kAlignedSizes[] = {0,    1,     15,    16,    17,    100,   1000,  1024,   1025,  4095,    4096,
                                4097, 12288, 30000, 32768, 32769, 65536, 100000, 262144, 1048576, 3000000};

void expect_aligned(size_t alignment, size_t n, void *p) {
  ASSERT_NE(p, nullptr) << alignment << ", " << n;
  ASSERT_TRUE(family::aligned(p, alignment)) << alignment << ", " << n << " gave " << p;
  ASSERT_GE(family::usable_size(p), n) << alignment;
  family::stamp(p, n, static_cast<unsigned>(alignment));
}

TEST(Alignments, EveryPowerWithEverySize) {
  for (size_t alignment = 16; alignment <= size_t{4} << 20; alignment *= 2) {
    for (size_t n : kAlignedSizes) {
      family::Blocks blocks;
      void *out = nullptr;
      ASSERT_EQ(family::posix_memalign(&out, alignment, n), 0) << alignment << ", " << n;
      void *made[] = {blocks.keep(out), blocks.keep(family::memalign(alignment, n)),
                      blocks.keep(family::aligned_alloc(alignment, n))};
      for (void *p : made) expect_aligned(alignment, n, p);
      if (HasFatalFailure()) return;
      for (void *p : made) ASSERT_TRUE(family::stamped(p, n, static_cast<unsigned>(alignment))) << alignment << ", " << n;
    }
  }
}

/* Many at once: neighbours from one slab, so that every slot must be aligned. */
TEST(Alignments, ManyBlocksOfOneAlignment) {
  for (size_t alignment = 16; alignment <= 65536; alignment *= 2) {
    for (size_t n : {alignment / 2, alignment - 1, alignment, alignment + 1, alignment * 3}) {
      family::Blocks blocks;
      std::set<void *> seen;
      for (int i = 0; i < 40; i++) {
        void *p = blocks.keep(family::memalign(alignment, n));
        ASSERT_TRUE(family::aligned(p, alignment)) << alignment << ", " << n;
        ASSERT_TRUE(seen.insert(p).second) << alignment << ", " << n;
      }
    }
  }
}

TEST(Alignments, AlignedBlocksCanBeReallocated) {
  for (size_t alignment = 16; alignment <= size_t{4} << 20; alignment *= 4) {
    void *p = family::memalign(alignment, 3000);
    family::stamp(p, 3000, 5);
    for (size_t n : {5000, 50000, 2000000, 100000, 3000}) {
      p = family::realloc(p, n);
      ASSERT_NE(p, nullptr);
      ASSERT_TRUE(family::stamped(p, 3000, 5)) << alignment << ", " << n;
    }
    family::free(p);
  }
}

TEST(Alignments, VallocAndPvalloc) {
  const size_t page = family::page_size();
  for (size_t n : {size_t{0}, size_t{1}, page - 1, page, page + 1, 10 * page + 3, size_t{2000000}}) {
    family::Blocks blocks;
    void *v = blocks.keep(family::valloc(n));
    EXPECT_TRUE(v != nullptr && family::aligned(v, page)) << n;
    EXPECT_GE(family::usable_size(v), n);
    void *pv = blocks.keep(family::pvalloc(n));
    EXPECT_TRUE(pv != nullptr && family::aligned(pv, page)) << n;
    const size_t whole = (n + page - 1) / page * page;
    EXPECT_GE(family::usable_size(pv), whole) << n;
    std::memset(pv, 1, whole);
  }
}

/* ---- usable size ---- */

TEST(Usable, AllOfItIsTheCallers) {
  family::Blocks blocks;
  for (size_t n = 0; n <= 40000; n += 1 + n / 50)
    for (int i = 0; i < 3; i++) blocks.keep(family::malloc(n));
  for (size_t n : {65536, 100000, 500000, 1048576, 3000000}) blocks.keep(family::malloc(n));
  unsigned seed = 0;
  for (void *p : blocks.all()) family::stamp(p, family::usable_size(p), seed++);
  seed = 0;
  for (void *p : blocks.all()) ASSERT_TRUE(family::stamped(p, family::usable_size(p), seed++)) << p;
}

TEST(Usable, NullHasNone) { EXPECT_EQ(family::usable_size(nullptr), 0U); }

TEST(Usable, WasteStaysWithinAnEighth) {
  for (size_t n = 129; n <= 32768; n += 31) {
    family::Blocks blocks;
    EXPECT_LE(family::usable_size(blocks.keep(family::malloc(n))), n + n / 8 + 16) << n;
  }
}

size_t in_pages(size_t n) { return (n + family::page_size() - 1) / family::page_size() * family::page_size(); }

/* From the size on where blocks are mapped one by one: fresh, from freed blocks, aligned, after a resize. */
TEST(Usable, OfBigBlocksIsTheRequestInPages) {
  unsigned state = 9;
  const auto some = [&state](size_t most) { return (state = state * 1664525 + 1013904223) / 256 % most; };
  std::vector<void *> slot(12);
  for (int i = 0; i < 3000; i++) {
    const size_t n = (size_t{1} << 20) + some(6 << 20);
    void *&p = slot[some(slot.size())];
    switch (some(3)) {
      case 0: p = family::realloc(p, n); break;
      case 1: family::free(p), p = family::malloc(n); break;
      default: family::free(p), p = family::memalign(size_t{4096} << some(10), n);
    }
    ASSERT_EQ(family::usable_size(p), in_pages(n)) << i;
    std::memset(static_cast<char *>(p) + n - 1, 1, 1);
  }
  for (void *p : slot) family::free(p);
}

/* ---- free ---- */

TEST(Free, NullDoesNothing) {
  errno = 77;
  family::free(nullptr);
  EXPECT_EQ(errno, 77);
}

/* Enough blocks of each size for some frees to flush, purge or unmap. */
TEST(Free, KeepsErrno) {
  for (size_t n : {size_t{16}, size_t{1000}, size_t{20000}, size_t{100000}, size_t{2000000}, size_t{40000000}}) {
    std::vector<void *> held;
    for (size_t i = 0; i < 2000 && i * n < (size_t{80} << 20); i++) held.push_back(family::malloc(n));
    for (void *p : held) {
      errno = 4711;
      family::free(p);
      ASSERT_EQ(errno, 4711) << n;
    }
  }
}

TEST(Free, SizedFormsTakeWhatWasAsked) {
  auto *free_sized = family::resolved<void(void *, size_t)>("free_sized");
  auto *free_aligned_sized = family::resolved<void(void *, size_t, size_t)>("free_aligned_sized");
  auto *in_use = family::resolved<size_t()>("hak_bytes_in_use");
  errno = 77;
  const size_t before = in_use();
  for (size_t n : {size_t{0}, size_t{1}, size_t{100}, size_t{5000}, size_t{100000}, size_t{3000000}}) {
    free_sized(family::malloc(n), n);
    free_sized(family::calloc(1, n), n);
    free_aligned_sized(family::aligned_alloc(256, n), 256, n);
  }
  free_sized(nullptr, 10);
  free_aligned_sized(nullptr, 64, 10);
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(in_use(), before);
}

/* ---- more names of the same functions ---- */

TEST(Names, CfreeFrees) {
  auto *in_use = family::resolved<size_t()>("hak_bytes_in_use");
  auto *cfree = family::resolved<void(void *)>("cfree");
  const size_t before = in_use();
  void *p = family::malloc(5000);
  EXPECT_GT(in_use(), before);
  errno = 77;
  cfree(p);
  cfree(nullptr);
  EXPECT_EQ(in_use(), before);
  EXPECT_EQ(errno, 77);
}

const char *file_of(const char *name) {
  Dl_info where{};
  void *address = dlsym(RTLD_DEFAULT, name);
  return address != nullptr && dladdr(address, &where) != 0 ? where.dli_fname : "(nothing)";
}

/* A name left to glibc would pass a block of one allocator to the free of the second. */
TEST(Names, NoneIsLeftToLibc) {
  const std::string home = file_of("malloc");
  for (const char *name :
       {"malloc", "free", "cfree", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign",
        "valloc", "pvalloc", "malloc_usable_size", "malloc_trim", "mallinfo", "mallinfo2", "malloc_info",
        "malloc_stats", "mallopt", "free_sized", "free_aligned_sized", "__libc_malloc", "__libc_free",
        "__libc_calloc", "__libc_realloc", "__libc_memalign", "__libc_valloc", "__libc_pvalloc", "__libc_mallinfo",
        "__libc_mallopt"})
    EXPECT_EQ(home, file_of(name)) << name;
}

TEST(Names, LibcAliasesWork) {
  family::Blocks blocks;
  void *p = family::resolved<family::Allocate>("__libc_malloc")(100);
  family::stamp(p, 100, 1);
  p = family::resolved<void *(void *, size_t)>("__libc_realloc")(p, 10000);
  EXPECT_TRUE(family::stamped(p, 100, 1));
  family::resolved<family::Release>("__libc_free")(p);
  void *zero = blocks.keep(family::resolved<family::Allocate2>("__libc_calloc")(10, 100));
  EXPECT_TRUE(family::filled_with(zero, 0, 1000));
  EXPECT_TRUE(family::aligned(blocks.keep(family::resolved<family::Allocate2>("__libc_memalign")(512, 1)), 512));
  const size_t page = family::page_size();
  EXPECT_TRUE(family::aligned(blocks.keep(family::resolved<family::Allocate>("__libc_valloc")(1)), page));
  EXPECT_TRUE(family::aligned(blocks.keep(family::resolved<family::Allocate>("__libc_pvalloc")(1)), page));
}

}  // namespace
