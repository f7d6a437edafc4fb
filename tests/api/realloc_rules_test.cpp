/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* realloc_rules_test.cpp: promises of realloc and reallocarray.
 *
 * what      Contents, failure, NULL and 0, in place and moved, and that a huge block moves by page tables, not bytes.
 * owner     Tests free all blocks.
 * failure   A broken rule fails the test with the sizes that broke it.
 * not here  Alignment and sizes (malloc_rules_test.cpp).
 */
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "family.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

const size_t kSizes[] = {1,     15,    16,    17,     100,    128,     129,     1000,    1024,    1025,   8000,
                         32767, 32768, 32769, 65536,  100000, 300000,  1048575, 1048576, 1048577, 3000000};

TEST(Realloc, KeepsContentFromEverySizeToEvery) {
  for (size_t from : kSizes) {
    for (size_t to : kSizes) {
      void *p = family::malloc(from);
      family::stamp(p, from, static_cast<unsigned>(from));
      p = family::realloc(p, to);
      ASSERT_NE(p, nullptr) << from << " to " << to;
      ASSERT_TRUE(family::aligned(p, 16)) << from << " to " << to;
      ASSERT_GE(family::usable_size(p), to) << from;
      ASSERT_TRUE(family::stamped(p, from < to ? from : to, static_cast<unsigned>(from))) << from << " to " << to;
      family::stamp(p, to, 3);
      family::free(p);
    }
  }
}

/* The usable size belongs to the program: bytes beyond the requested size must survive, too. */
TEST(Realloc, KeepsTheWholeUsableSize) {
  for (size_t n : kSizes) {
    void *p = family::malloc(n);
    const size_t usable = family::usable_size(p);
    family::stamp(p, usable, 9);
    p = family::realloc(p, usable + 1);
    ASSERT_TRUE(family::stamped(p, usable, 9)) << n;
    family::free(p);
  }
}

/* Beyond glibc's rules. Blocks side by side: most must move. Longer than blocks with a class, whose length adds to it.
 * Or less than a page, where pages are longer. */
TEST(Realloc, OfLongBlocksAtMostAnEighthIsLost) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t n = 270000; n < 700000; n += n / 20) {
    std::vector<void *> blocks;
    for (int i = 0; i < 20; i++) blocks.push_back(family::malloc(n - n / 16));
    for (void *&p : blocks) {
      p = family::realloc(p, n);
      EXPECT_LE(family::usable_size(p), std::max(n + n / 8, (n / page + 1) * page)) << n;
    }
    for (void *p : blocks) family::free(p);
  }
}

TEST(Realloc, GrowsStepByStep) {
  char *p = nullptr;
  size_t n = 0;
  while (n < 200000) {
    const size_t more = n + 1 + n / 7;
    p = static_cast<char *>(family::realloc(p, more));
    ASSERT_NE(p, nullptr);
    for (size_t i = n; i < more; i++) p[i] = static_cast<char>(i * 7);
    n = more;
  }
  for (size_t i = 0; i < n; i++) ASSERT_EQ(p[i], static_cast<char>(i * 7)) << i;
  family::free(p);
}

TEST(Realloc, NullAllocates) {
  family::Blocks blocks;
  void *p = blocks.keep(family::realloc(nullptr, 100));
  ASSERT_NE(p, nullptr);
  EXPECT_GE(family::usable_size(p), 100U);
  EXPECT_NE(blocks.keep(family::realloc(nullptr, 0)), nullptr);
}

TEST(Realloc, ZeroFreesAndGivesNull) {
  auto *in_use = family::resolved<size_t()>("hak_bytes_in_use");
  for (size_t n : kSizes) {
    void *p = family::malloc(n);
    void *q = family::malloc(n);
    void *r = family::malloc(n);
    const size_t before = in_use();
    const size_t given_back = family::usable_size(p) + family::usable_size(q) + family::usable_size(r);
    errno = 77;
    EXPECT_EQ(family::realloc(p, 0), nullptr) << n;
    EXPECT_EQ(family::reallocarray(q, 0, 8), nullptr) << n;
    EXPECT_EQ(family::reallocarray(r, 8, 0), nullptr) << n;
    EXPECT_EQ(errno, 77) << n;
    EXPECT_EQ(in_use() + given_back, before) << n;
  }
}

TEST(Realloc, FailureLeavesTheBlock) {
  for (size_t n : kSizes) {
    void *p = family::malloc(n);
    family::stamp(p, n, 21);
    for (size_t to : {static_cast<size_t>(PTRDIFF_MAX) + 1, SIZE_MAX, SIZE_MAX - 15, SIZE_MAX - 4096,
                      static_cast<size_t>(PTRDIFF_MAX) - 65536}) {
      errno = 0;
      ASSERT_EQ(family::realloc(p, to), nullptr) << n << " to " << to;
      ASSERT_EQ(errno, ENOMEM) << n << " to " << to;
    }
    errno = 0;
    ASSERT_EQ(family::reallocarray(p, SIZE_MAX / 4, 8), nullptr);
    ASSERT_EQ(errno, ENOMEM);
    ASSERT_TRUE(family::stamped(p, n, 21)) << n;
    ASSERT_GE(family::usable_size(p), n);
    family::free(p);
  }
}

/* Beyond glibc's rules: growth within the usable size needs no move. */
TEST(Realloc, StaysWithinTheUsableSize) {
  for (size_t n : kSizes) {
    void *p = family::malloc(n);
    void *same = family::realloc(p, n);
    EXPECT_EQ(same, p) << n;
    void *whole = family::realloc(same, family::usable_size(same));
    EXPECT_EQ(whole, same) << n;
    family::free(whole);
  }
}

/* Each thread makes a block of 1 to 1,024 bytes each, and lives until all later threads have ended. */
void make_in_threads(int threads, std::vector<void *> &made) {
  if (threads == 0) return;
  std::thread([&made, threads] {
    for (size_t n = 1; n <= 1024; n++) made.push_back(family::malloc(n));
    make_in_threads(threads - 1, made);
  }).join();
}

/* Threads come in four colours, and small blocks are of a class of the allocating thread's colour. */
TEST(Realloc, StaysInItsClassWhicheverThreadMadeIt) {
  std::vector<void *> made;
  make_in_threads(5, made);
  for (size_t i = 0; i < made.size(); i++) {
    void *p = made[i];
    const size_t n = i % 1024 + 1;
    for (size_t to = (n - 1) / 16 * 16 + 1; n <= 128 && to <= (n + 15) / 16 * 16; to++)
      ASSERT_EQ(family::realloc(p, to), p) << n << " to " << to;
    ASSERT_EQ(family::realloc(p, n), p) << n;
    family::free(p);
  }
}

TEST(Realloc, ShrinkingGivesMemoryBack) {
  auto *in_use = family::resolved<size_t()>("hak_bytes_in_use");
  for (size_t from : {size_t{4000}, size_t{30000}, size_t{500000}, 4 * kMiB, 64 * kMiB}) {
    void *p = family::malloc(from);
    const size_t before = in_use();
    p = family::realloc(p, from / 16);
    EXPECT_LE(in_use(), before - from / 2) << from;
    family::free(p);
  }
}

TEST(Realloc, HugeBlockKeepsItsContent) {
  constexpr size_t kPage = 4096;
  auto *p = static_cast<char *>(family::malloc(kMiB));
  size_t n = 0;
  for (size_t to = kMiB; to <= 256 * kMiB; to *= 2) {
    p = static_cast<char *>(family::realloc(p, to));
    ASSERT_NE(p, nullptr) << to;
    for (; n < to; n += kPage) std::memcpy(p + n, &n, sizeof n);
  }
  for (size_t at = 0; at < n; at += kPage) ASSERT_EQ(std::memcmp(p + at, &at, sizeof at), 0) << at;
  for (size_t to = 128 * kMiB; to >= 2 * kMiB; to /= 4) {
    p = static_cast<char *>(family::realloc(p, to));
    for (size_t at = 0; at < to; at += kPage) ASSERT_EQ(std::memcmp(p + at, &at, sizeof at), 0) << at;
  }
  family::free(p);
}

long faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/* Copying 64 MiB faults the pages in anew at each of the 24 steps; mremap moves the page table and faults none. */
TEST(Realloc, HugeGrowthMovesPagesNotBytes) {
  const size_t start = 64 * kMiB;
  auto *p = static_cast<char *>(family::malloc(start));
  ASSERT_NE(p, nullptr);
  void *fence = nullptr;
  std::memset(p, 1, start);
  const long before = faults();
  for (size_t n = start + 8 * kMiB; n <= 256 * kMiB; n += 8 * kMiB) {
    p = static_cast<char *>(family::realloc(p, n));
    ASSERT_NE(p, nullptr) << n;
    family::free(fence);
    fence = family::malloc(2 * kMiB);
  }
  EXPECT_LT(faults() - before, 200);
  EXPECT_TRUE(family::filled_with(p, 1, start));
  family::free(fence);
  family::free(p);
}

}  // namespace
