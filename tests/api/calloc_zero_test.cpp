/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* calloc_zero_test.cpp: calloc gives zeros, whatever the memory held before.
 *
 * what      Dirties memory of every size range, frees by every function, and allocates again by calloc.
 * owner     Tests free all blocks.
 * failure   The first size that comes back dirty.
 * not here  Overflow of calloc (malloc_rules_test.cpp).
 */
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <thread>

#include "family.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

/* Every usable byte of a calloc block is zero: the standard promises count * size bytes, HAKMEM all. */
void expect_zero(void *p, size_t n) {
  ASSERT_NE(p, nullptr) << n;
  ASSERT_TRUE(family::filled_with(p, 0, n)) << n;
}

size_t blocks_for(size_t n) { return n < 64 ? 2000 : n < kMiB ? (2 * kMiB) / n + 2 : 3; }

void dirty_and_free(size_t n) {
  family::Blocks blocks;
  for (size_t i = 0; i < blocks_for(n); i++) {
    void *p = blocks.keep(family::malloc(n));
    std::memset(p, 0xA5, family::usable_size(p));
  }
}

void expect_zero_blocks(size_t n) {
  family::Blocks blocks;
  for (size_t i = 0; i < blocks_for(n); i++) {
    void *p = blocks.keep(family::calloc(1, n));
    expect_zero(p, n);
    if (testing::Test::HasFatalFailure()) return;
    std::memset(p, 0x5A, family::usable_size(p));
  }
}

std::vector<size_t> ranges() {
  std::vector<size_t> sizes;
  for (size_t n = 1; n <= 40000; n += 1 + n / 6) sizes.push_back(n);
  for (size_t n : {size_t{65536}, size_t{100000}, size_t{262144}, size_t{700000}, kMiB - 1, kMiB, kMiB + 1, 3 * kMiB,
                   8 * kMiB, 33 * kMiB})
    sizes.push_back(n);
  return sizes;
}

TEST(Calloc, FreshMemoryIsZero) {
  for (size_t n : ranges()) {
    family::Blocks blocks;
    expect_zero(blocks.keep(family::calloc(1, n)), n);
  }
}

TEST(Calloc, RecycledMemoryIsZero) {
  for (size_t n : ranges()) {
    dirty_and_free(n);
    expect_zero_blocks(n);
    if (HasFatalFailure()) return;
  }
}

/* A former run of units, big block or slab of a class serves another use. */
TEST(Calloc, MemoryThatChangedItsUseIsZero) {
  const size_t sizes[] = {48, 3000, 30000, 200000, 900000, 2 * kMiB};
  for (size_t dirtied : sizes) {
    for (size_t asked : sizes) {
      dirty_and_free(dirtied);
      malloc_trim(0);
      expect_zero_blocks(asked);
      if (HasFatalFailure()) FAIL() << "dirtied as " << dirtied;
    }
  }
}

TEST(Calloc, MemoryLeftByShrinkingIsZero) {
  for (size_t n : {size_t{30000}, size_t{500000}, 3 * kMiB, 16 * kMiB}) {
    void *p = family::malloc(n);
    std::memset(p, 0xA5, family::usable_size(p));
    p = family::realloc(p, n / 8);
    for (size_t asked : {n / 8, n / 4, n / 2, n}) expect_zero_blocks(asked);
    family::free(p);
    expect_zero_blocks(n);
    if (HasFatalFailure()) return;
  }
}

TEST(Calloc, MemoryLeftByMemalignIsZero) {
  for (size_t alignment = 64; alignment <= 4 * kMiB; alignment *= 8) {
    for (size_t n : {size_t{100}, size_t{5000}, size_t{100000}, 2 * kMiB}) {
      void *p = family::memalign(alignment, n);
      std::memset(p, 0xA5, family::usable_size(p));
      family::free(p);
      expect_zero_blocks(n);
      if (HasFatalFailure()) FAIL() << alignment;
    }
  }
}

TEST(Calloc, MemoryOfADeadThreadIsZero) {
  for (size_t n : {size_t{16}, size_t{500}, size_t{5000}, size_t{30000}, size_t{200000}, 2 * kMiB}) {
    std::thread(dirty_and_free, n).join();
    expect_zero_blocks(n);
    if (HasFatalFailure()) return;
  }
}

TEST(Calloc, ManyTimesOverTheSameMemory) {
  for (int round = 0; round < 20; round++)
    for (size_t n : {size_t{64}, size_t{1500}, size_t{20000}, size_t{150000}, 2 * kMiB}) {
      expect_zero_blocks(n);
      if (HasFatalFailure()) FAIL() << "round " << round;
    }
}

TEST(Calloc, CountTimesSize) {
  family::Blocks blocks;
  expect_zero(blocks.keep(family::calloc(1000, 1)), 1000);
  expect_zero(blocks.keep(family::calloc(1, 1000)), 1000);
  void *p = blocks.keep(family::calloc(123, 457));
  expect_zero(p, 123 * 457);
  EXPECT_GE(family::usable_size(p), size_t{123 * 457});
}

/* Memory the kernel has just given is zero already: writing zeros would fault every page in. */
TEST(Calloc, FreshBigBlocksAreNotTouched) {
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  void *p = family::calloc(1, 256 * kMiB);
  getrusage(RUSAGE_SELF, &after);
  ASSERT_NE(p, nullptr);
  EXPECT_LT(after.ru_minflt - before.ru_minflt, 100);
  EXPECT_EQ(static_cast<char *>(p)[200 * kMiB], 0);
  family::free(p);
}

}  // namespace
