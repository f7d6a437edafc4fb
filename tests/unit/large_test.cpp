/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* large_test.cpp: blocks of pages, and blocks that are runs of units.
 *
 * what      blocks/large.c with the real runs over the fake kernel (fake_os.h).
 * owner     Each case runs in a separate process.
 * failure   A block of the wrong length or place, or a wrong sum of live bytes, fails the test.
 * not here  The choice of runs: runs_test.cpp.
 */
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstring>
#include <algorithm>
#include <random>
#include <set>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/large.h"
#include "fake_os.h"
#include "runs/pages.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/site.h"
}

namespace {

size_t free_large(void *p) {
  const uint32_t run = hak_range_run_of(p);
  return run == HAK_NO_UNIT ? 0 : hak_large_free(run, p);
}

constexpr size_t kUnit = HAK_UNIT_BYTES, kPage = HAK_PAGE_BYTES, kLeast = HAK_HALF_PAGES * kPage + kPage;

/* Lengths and places are told for pages of 4 KiB, whichever the machine has. */
[[maybe_unused]] const size_t kPageOfKernel = fake_os.page_bytes = kPage;

/* Shown by cases for which the range grows twice: by parts of such pages it cannot. */
bool has_longer_pages() { return getauxval(AT_PAGESZ) > kPage; }

uint32_t unit_of(const void *p) { return static_cast<uint32_t>(hak_range_unit_of(p)); }

size_t bytes_of(const void *p) { return hak_large_bytes(hak_range_run_of(p), p); }

bool resize(const void *p, size_t n) { return hak_large_resize(hak_range_run_of(p), p, bytes_of(p), n) != 0; }

char *alloc(size_t n, size_t align = 1, bool *zero = nullptr) {
  bool ignored;
  return static_cast<char *>(hak_large_alloc(n, align, 0, zero != nullptr ? zero : &ignored));
}

/* The class of a block of `bytes` bytes, 0: no class. */
unsigned class_of(size_t bytes) { return bytes <= HAK_RUN_MAX ? hak_run_class_of_pages(bytes / kPage) : 0; }

/* What a block of n bytes has: whole pages, from half a MiB on whole units. */
size_t rounded(size_t n) { return n <= HAK_PAGED_MAX ? std::max(hak_round_up(n, kPage), kLeast) : hak_round_up(n, kUnit); }

/* Puts blocks of one class back; returns the error. */
hak_error put_all(unsigned c, std::vector<void *> blocks, const void **wrong = nullptr) {
  hak_fault fault = {HAK_ERROR_none, nullptr};
  hak_large_put(c, blocks.data(), blocks.size(), &fault);
  if (wrong != nullptr) *wrong = fault.p;
  return fault.error;
}

/* What a block of pages has that grew to n bytes. */
size_t grown(size_t n) { return std::max(rounded(n), (n + n / 8) / kPage * kPage); }

unsigned class_at(const void *p) { return hak_range_class(p) != 0 ? hak_range_class(p) : hak_large_class(p); }

void put(void *p) {
  const unsigned c = class_at(p);
  if (c != 0) EXPECT_EQ(put_all(c, {p}), HAK_ERROR_none);
  else EXPECT_NE(free_large(p), 0u);
}

TEST(Large, HoldsWhatWasAskedFor) {
  for (const size_t n : {size_t{1}, kUnit - 1, kUnit, kUnit + 1, 5 * kUnit, 9 * kUnit + 100}) {
    char *p = alloc(n);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(bytes_of(p), rounded(n));
    EXPECT_EQ(hak_range_entry(unit_of(p))->kind, n <= HAK_PAGED_MAX ? HAK_UNIT_PAGED : HAK_UNIT_LARGE);
    EXPECT_EQ(class_at(p), class_of(rounded(n)));
    EXPECT_EQ(bytes_of(p + kPage), 0u);
    EXPECT_EQ(hak_large_block_of(hak_range_run_of(p + kPage), p + kPage), p);
    std::memset(p, 1, bytes_of(p));
  }
}

TEST(Large, AtMostAnEighthIsLost) {
  for (size_t n = HAK_SLAB_MAX + 1; n < size_t{1} << 20; n += 997) {
    char *p = alloc(n);
    ASSERT_GE(bytes_of(p), n);
    ASSERT_LE(bytes_of(p), n + n / 8) << n;
    put(p);
  }
  EXPECT_EQ(hak_large_handed_out(), 0u);
}

/* Blocks lie page beside page, and the class map names what all that begin in a unit have in common. */
TEST(Large, TheClassMapNamesAUnitOfOneClass) {
  char *p = alloc(9 * kPage), *q = alloc(9 * kPage), *other = alloc(10 * kPage);
  ASSERT_EQ(q, p + 9 * kPage);
  ASSERT_EQ(other, q + 9 * kPage);
  const unsigned nine = class_of(9 * kPage), ten = class_of(10 * kPage);
  EXPECT_EQ(hak_range_class(p), nine) << "both begin in the first unit";
  EXPECT_EQ(hak_range_class(other), ten);
  EXPECT_TRUE(resize(p, 10 * kPage) == false);
  put(q);
  char *longer = alloc(9 * kPage);
  EXPECT_EQ(longer, q);
  put(p);
  char *shorter = alloc(9 * kPage);
  EXPECT_EQ(shorter, p);
  hak_large_tell(hak_range_run_of(p), p, hak_site_of(reinterpret_cast<void *>(16), __builtin_frame_address(0)));
  EXPECT_EQ(hak_range_class(p), 0u) << "one has a site, and is none of the class";
  EXPECT_EQ(hak_large_class(p), 0u);
  EXPECT_EQ(hak_large_class(longer), nine);
  EXPECT_EQ(free_large(longer), 0u) << "it has a class";
  EXPECT_EQ(free_large(p), 9 * kPage);
  EXPECT_EQ(hak_range_class(longer), nine);
  put(longer);
  put(other);
}

TEST(Large, IsAligned) {
  for (size_t align = 16; align <= size_t{4} << 20; align *= 2) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(alloc(1, align)) % align, 0u) << align;
  }
}

TEST(Large, ZeroIsSaidOfFreshMemoryOnly) {
  for (const size_t n : {3 * kUnit, 9 * kUnit}) {
    bool zero = false;
    char *p = alloc(n, 1, &zero);
    EXPECT_TRUE(zero);
    std::memset(p, 1, n);
    put(p);
    zero = true;
    EXPECT_EQ(alloc(n, 1, &zero), p);
    EXPECT_FALSE(zero);
    put(p);
    hak_runs_purge(0);
    EXPECT_EQ(alloc(n, 1, &zero), p);
    EXPECT_TRUE(zero);
    EXPECT_EQ(p[2 * kUnit], 0);
    put(p);
    hak_runs_purge(0);
  }
}

TEST(Large, LiveBytesFollow) {
  EXPECT_EQ(hak_large_handed_out(), 0u);
  char *p = alloc(kUnit + 1), *q = alloc(10);
  EXPECT_EQ(hak_large_handed_out(), 17 * kPage + kLeast);
  put(q);
  EXPECT_EQ(hak_large_handed_out(), 17 * kPage);
  hak_runs_purge(0);
  EXPECT_TRUE(resize(p, 7 * kUnit));
  EXPECT_EQ(hak_large_handed_out(), grown(7 * kUnit));
  EXPECT_TRUE(resize(p, 10));
  EXPECT_EQ(hak_large_handed_out(), kLeast);
  fake_os_refuse(FAKE_MAP_AT);
  EXPECT_EQ(alloc(size_t{1} << 40), nullptr);
  EXPECT_EQ(hak_large_handed_out(), kLeast);
  put(p);
  EXPECT_EQ(hak_large_handed_out(), 0u);
}

/* A block of the site; taken from the end of the free run if expected to stay. */
char *alloc_for(unsigned site, size_t n) {
  bool zero;
  return static_cast<char *>(hak_large_alloc(n, 1, site, &zero));
}

unsigned site(uintptr_t n) { return hak_site_of(reinterpret_cast<void *>(n * 16), __builtin_frame_address(0)); }

TEST(Large, BlocksOfSitesWhoseBlocksStayLieApart) {
  fake_os_reset();
  std::set<char *> stays;
  for (int n = 0; n < 100; n++) {
    hak_site_taken(site(2), kUnit);
    hak_site_freed(site(2), kUnit, 1);
  }
  for (int n = 0; n < 30; n++) {
    char *p = alloc_for(site(1), 9 * kUnit);
    if (n >= 8) stays.insert(p); /* before that nothing is known */
    alloc_for(site(2), 11 * kUnit);
  }
  size_t neighbours = 0;
  for (char *p : stays) neighbours += stays.count(p + 9 * kUnit);
  EXPECT_GE(neighbours, stays.size() / 2) << "one beside the other, but where the range grew";
}

TEST(Large, BlocksThatGrowAreLeftRoom) {
  fake_os_reset();
  std::vector<char *> stays;
  free_large(alloc(200 * kUnit));
  for (int n = 0; n < 11; n++) stays.push_back(alloc_for(site(1), 9 * kUnit));
  EXPECT_TRUE(hak_site_lasts(site(1)));
  EXPECT_EQ(stays[10] + 9 * kUnit, stays[9]) << "from the end";
  ASSERT_TRUE(resize(stays[7], 10 * kUnit)) << "the last of those from the beginning";
  EXPECT_FALSE(hak_site_lasts(site(1)));
  EXPECT_EQ(alloc_for(site(1), 9 * kUnit), stays[7] + 10 * kUnit) << "from the beginning";
}

/* In pages, and in units. */
TEST(Large, GrowsWhereItLiesIfThereIsRoom) {
  if (has_longer_pages()) GTEST_SKIP();
  for (const size_t n : {2 * kUnit, 9 * kUnit}) {
    const size_t before = hak_large_handed_out();
    char *p = alloc(n), *wall = alloc(n);
    ASSERT_EQ(wall, p + n);
    std::memset(p, 3, n);
    EXPECT_FALSE(resize(p, n + 1));
    EXPECT_EQ(bytes_of(p), n);
    EXPECT_EQ(hak_large_handed_out(), before + 2 * n);
    put(wall);
    EXPECT_TRUE(resize(p, n + 1));
    EXPECT_EQ(bytes_of(p), n <= HAK_PAGED_MAX ? grown(n + 1) : rounded(n + 1));
    for (size_t i = 0; i < n; i++) ASSERT_EQ(p[i], 3);
    std::memset(p, 4, bytes_of(p));
  }
}

TEST(Large, StaysWhereLessThanAnEighthWouldBeGivenUp) {
  char *p = alloc(25 * kPage);
  EXPECT_TRUE(resize(p, 23 * kPage));
  EXPECT_EQ(bytes_of(p), 25 * kPage);
  EXPECT_TRUE(resize(p, 22 * kPage));
  EXPECT_EQ(bytes_of(p), 22 * kPage);
  put(p);
}

TEST(Large, GrowsFromPagesIntoFreeUnitsBehind) {
  char *p = alloc(kUnit + 1);
  EXPECT_TRUE(resize(p, 14 * kUnit)) << "the units behind belong to no block";
  EXPECT_EQ(bytes_of(p), grown(14 * kUnit));
  std::memset(p, 1, 14 * kUnit);
  put(p);
}

TEST(Large, ShrinksWhereItLiesAndTheRestIsFree) {
  char *p = alloc(14 * kUnit), *wall = alloc(9 * kUnit);
  EXPECT_TRUE(resize(p, 14 * kUnit - 5)) << "as many units";
  EXPECT_EQ(hak_range_entry(unit_of(p))->kind, HAK_UNIT_LARGE);
  EXPECT_TRUE(resize(p, 4 * kUnit));
  EXPECT_EQ(bytes_of(p), 4 * kUnit);
  EXPECT_EQ(hak_large_block_of(unit_of(p + 4 * kUnit), p + 4 * kUnit), nullptr);
  EXPECT_EQ(alloc(10 * kUnit), p + 4 * kUnit);
  put(wall);
}

/* So long a tail that its units return as a run and merge with the free unit behind, which then heads no run. */
TEST(Large, ALongTailJoinsTheFreeUnitBehind) {
  fake_os_reset();
  char *first = alloc(200 * kUnit);
  put(first);
  char *p = alloc(100 * kUnit);
  bool clean = false;
  const uint32_t unit = hak_runs_get(1, 1, HAK_UNIT_LARGE, 0, &clean, nullptr);
  char *wall = alloc(9 * kUnit);
  ASSERT_EQ(unit, unit_of(p) + 100);
  ASSERT_EQ(wall, p + 101 * kUnit);
  hak_runs_put(unit);
  EXPECT_TRUE(resize(p, 40 * kPage));
  char *rest = alloc(60 * kUnit);
  EXPECT_GT(rest, p);
  EXPECT_LT(rest, wall) << "tail and unit are one run";
  for (char *q : {p, rest, wall}) put(q);
}

TEST(Large, ABlockThatShrinksBelowHalfAMiBBecomesOneOfPages) {
  char *p = alloc(14 * kUnit);
  std::memset(p, 7, 14 * kUnit);
  EXPECT_TRUE(resize(p, 3 * kUnit + 1));
  EXPECT_EQ(bytes_of(p), 3 * kUnit + kPage);
  EXPECT_EQ(hak_range_entry(unit_of(p))->kind, HAK_UNIT_PAGED);
  for (size_t i = 0; i < 3 * kUnit + kPage; i++) ASSERT_EQ(p[i], 7);
  char *rest = alloc(15 * kPage);
  EXPECT_EQ(rest, p + 3 * kUnit + kPage) << "the pages behind are free";
  put(p);
  put(rest);
  EXPECT_EQ(hak_large_handed_out(), 0u);
}

/* Pages that a shrunk block leaves, and those of its free, serve the next run of units. Nothing is purged here. */
TEST(Large, BlocksThatShrinkTakeTurnsInTheSameMemory) {
  std::mt19937 random(1);
  std::vector<char *> blocks(100);
  for (char *&p : blocks) p = alloc(10 * kUnit);
  const size_t mapped = g_range.mapped;
  for (int i = 0; i < 20000; i++) {
    char *&p = blocks[random() % blocks.size()];
    put(p);
    p = alloc(9 * kUnit + random() % (7 * kUnit));
    EXPECT_TRUE(resize(p, 35000 + random() % (9 * kUnit)));
    EXPECT_TRUE(resize(p, 35000));
  }
  EXPECT_LE(g_range.mapped, mapped);
}

/* A run that is free before its neighbour becomes pages. */
TEST(Large, ADirtyRunBesideABlockThatShrinksMergesWithItsPages) {
  char *before = alloc(9 * kUnit), *p = alloc(9 * kUnit), *behind = alloc(9 * kUnit), *wall = alloc(9 * kUnit);
  put(before);
  put(behind);
  EXPECT_TRUE(resize(p, 4 * kUnit));
  put(p);
  EXPECT_EQ(alloc(27 * kUnit), before);
  put(wall);
}

TEST(Large, TheClassFollowsTheLength) {
  char *p = alloc(12 * kUnit);
  EXPECT_EQ(hak_range_class(p), 0u);
  for (const size_t pages : {64, 48, 16, 9}) {
    EXPECT_TRUE(resize(p, pages * kPage));
    EXPECT_EQ(hak_range_class(p), class_of(pages * kPage)) << pages;
  }
  hak_runs_purge(0);
  EXPECT_TRUE(resize(p, 8 * kPage + 1)) << "as many pages";
  for (const size_t pages : {17, 20, 57, 73}) {
    EXPECT_TRUE(resize(p, pages * kPage));
    EXPECT_EQ(hak_range_class(p), class_of(grown(pages * kPage))) << pages;
  }
  EXPECT_TRUE(resize(p, kUnit));
  put(p);
  for (size_t i = 0; i < 12; i++) EXPECT_EQ(hak_range_class(p + i * kUnit), 0u);
}

/* Blocks with live blocks behind, which keep free pages from merging. */
std::vector<void *> islands(unsigned c, size_t n, std::vector<void *> *walls) {
  std::vector<void *> blocks;
  for (size_t i = 0; i < n; i++) {
    void *p = nullptr;
    EXPECT_EQ(hak_large_fill(c, &p, 1), 1u);
    blocks.push_back(p);
    walls->push_back(alloc(5 * kUnit));
  }
  return blocks;
}

void fill_of_class(unsigned c) {
  void *out[8];
  EXPECT_EQ(hak_large_fill(c, out, 8), 1u) << "fresh ones are for who asks";
  put(out[0]);
  hak_runs_purge(0);
  std::vector<void *> walls;
  const std::vector<void *> blocks = islands(c, 5, &walls);
  EXPECT_EQ(put_all(c, blocks), HAK_ERROR_none);
  const uint64_t before = hak_large_handed_out();
  EXPECT_EQ(hak_large_fill(c, out, 3), 3u);
  EXPECT_EQ(hak_large_fill(c, out + 3, 8), 2u);
  EXPECT_EQ(hak_large_handed_out(), before + 5 * g_class[c].bytes);
  EXPECT_EQ(std::set<void *>(out, out + 5), std::set<void *>(blocks.begin(), blocks.end()));
  for (void *p : blocks) EXPECT_EQ(class_at(p), c);
}

TEST(Large, AFillBringsOneBlockAndDirtyOnesOfItsLength) {
  if (has_longer_pages()) GTEST_SKIP();
  fill_of_class(HAK_RUN_CLASS);
}
TEST(Large, AFillOfTheLongestClassDoes) { fill_of_class(HAK_CLASSES - 1); }

TEST(Large, WhereAllFittedAFillTakesThemSideBySideAndTheyGoAsOne) {
  const unsigned c = hak_run_class_of(2 * kUnit);
  for (const bool upwards : {true, false}) {
    char *p = alloc(8 * kUnit);
    put(p);
    void *out[4];
    ASSERT_EQ(hak_large_fill(c, out, 4), 4u);
    for (size_t i = 0; i < 4; i++) {
      EXPECT_EQ(out[3 - i], p + 2 * i * kUnit) << "the lowest is taken first";
      EXPECT_EQ(hak_range_class(out[i]), c);
    }
    if (upwards) std::reverse(out, out + 4);
    EXPECT_EQ(put_all(c, std::vector<void *>(out, out + 4)), HAK_ERROR_none);
    EXPECT_EQ(alloc(8 * kUnit), p) << "they are one stretch";
    put(p);
    hak_runs_purge(0);
  }
}

TEST(Large, WrongPointersAreNamedAndLeftOut) {
  const unsigned c = hak_run_class_of(2 * kUnit);
  char *p = alloc(2 * kUnit), *q = alloc(2 * kUnit), *other = alloc(kUnit), *wall = alloc(9 * kUnit);
  const uint64_t out = hak_large_handed_out();
  const void *wrong;
  hak_fault fault = {HAK_ERROR_none, nullptr};
  void *const looked_at[] = {p, p + 16, q};
  hak_large_check(c, looked_at, 3, &fault);
  EXPECT_EQ(fault.error, HAK_ERROR_interior);
  EXPECT_EQ(fault.p, p + 16);
  EXPECT_EQ(put_all(c, {p + 4096, other}, &wrong), HAK_ERROR_interior);
  EXPECT_EQ(wrong, p + 4096);
  EXPECT_EQ(put_all(c, {other}, &wrong), HAK_ERROR_released) << "of another class";
  EXPECT_EQ(hak_large_handed_out(), out);
  EXPECT_EQ(put_all(c, {p, q, p, wall}, &wrong), HAK_ERROR_released) << "the same twice";
  EXPECT_EQ(wrong, p);
  EXPECT_EQ(hak_large_handed_out(), out - 4 * kUnit);
  EXPECT_EQ(put_all(c, {q}), HAK_ERROR_released);
  EXPECT_EQ(free_large(p), 0u);
  EXPECT_EQ(free_large(other), 0u) << "it has a class";
  EXPECT_EQ(free_large(wall + kUnit), 0u);
  EXPECT_EQ(free_large(wall), 9 * kUnit);
}

TEST(Large, OfTwoWhoPutTheSameBackOneDoes) {
  constexpr size_t kRuns = 64;
  std::vector<void *> runs;
  for (size_t i = 0; i < kRuns; i++) runs.push_back(alloc(kUnit));
  const uint64_t out = hak_large_handed_out();
  auto work = [&](size_t i) { put_all(hak_run_class_of(kUnit), {runs[i]}); };
  std::thread other([&] { for (size_t i = 0; i < kRuns; i++) work(i); });
  for (size_t i = kRuns; i-- > 0;) work(i);
  other.join();
  EXPECT_EQ(hak_large_handed_out(), out - kRuns * kUnit);
  std::set<void *> again;
  for (size_t i = 0; i < kRuns; i++) EXPECT_TRUE(again.insert(alloc(kUnit)).second);
}

/* Both threads reach each run at the same time, so that both see a live run. */
TEST(Large, OfTwoWhoFreeTheSameLongRunOneDoes) {
  constexpr size_t kRuns = 500, kLength = 9;
  std::vector<void *> runs;
  for (size_t i = 0; i < kRuns; i++) runs.push_back(alloc(kLength * kUnit));
  const uint64_t out = hak_large_handed_out();
  std::atomic<size_t> bytes = 0, there = 0;
  auto free_all = [&] {
    for (size_t i = 0; i < kRuns; i++) {
      for (there++; there < 2 * (i + 1);) {
      }
      bytes += free_large(runs[i]);
    }
  };
  std::thread other(free_all);
  free_all();
  other.join();
  EXPECT_EQ(bytes, kRuns * kLength * kUnit);
  EXPECT_EQ(hak_large_handed_out(), out - bytes);
}

}  // namespace
