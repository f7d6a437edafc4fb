/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_test.cpp: runs of units: get, cut, merge, put.
 *
 * what      runs/runs.c and tables/range.c over the fake kernel (fake_os.h).
 * owner     Each case runs in a separate process.
 * failure   An overlap, a run of the wrong sort, or an inconsistent structure fails the test.
 * not here  Ages and releases: runs_age_test.cpp. Against a model: runs_walk_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runs_calls.h"

extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "retain/footprint.h"
#include "tables/counters.h"
#include "tables/settings.h"
}

namespace {

TEST(Span, ARunIsMarkedAsWhatItIs) {
  bool clean = false;
  const uint32_t u = hak_runs_get(3, 1, HAK_UNIT_SLAB, 9, &clean, nullptr);
  ASSERT_NE(u, HAK_NO_UNIT);
  EXPECT_TRUE(clean);
  EXPECT_EQ(hak_range_entry(u)->kind, HAK_UNIT_SLAB);
  EXPECT_EQ(hak_range_entry(u)->size_class, 9);
  EXPECT_EQ(hak_range_entry(u)->length, 3u);
  EXPECT_EQ(hak_range_run_of(address(u) + 3 * kUnit - 1), u);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, DirtyComesBeforeClean) {
  const uint32_t a = get(5), b = get(5);
  ASSERT_GT(clean_units(), 0u);
  hak_runs_put(a);
  bool clean = true;
  EXPECT_EQ(get(5, 1, &clean), a);
  EXPECT_FALSE(clean);
  get(5, 1, &clean);
  EXPECT_TRUE(clean);
  hak_runs_put(b);
  EXPECT_EQ(get(2, 1, &clean), b);
  EXPECT_FALSE(clean);
}

TEST(Span, WhoLikesCleanBetterGetsCleanWhileThereIsSome) {
  const uint32_t a = get(5);
  get(1);
  const size_t left = clean_units(), units = g_range.units;
  ASSERT_GE(left, 5u);
  hak_runs_put(a);
  bool clean = true;
  EXPECT_NE(hak_runs_get(5, 1, HAK_UNIT_SLAB, 1, &clean, nullptr), a);
  EXPECT_TRUE(clean);
  for (size_t n = left - 5; n > 0; n--) {
    EXPECT_NE(hak_runs_get(1, 1, HAK_UNIT_SLAB, 1, &clean, nullptr), a);
    EXPECT_TRUE(clean);
  }
  EXPECT_EQ(hak_runs_get(5, 1, HAK_UNIT_SLAB, 1, &clean, nullptr), a) << "but the range does not grow for it";
  EXPECT_FALSE(clean);
  EXPECT_EQ(g_range.units, units);
}

TEST(Span, TheBestFittingBinComesFirst) {
  std::vector<uint32_t> runs;
  for (const size_t units : {9u, 3u, 6u}) {
    runs.push_back(get(units));
    get(1);
  }
  for (const uint32_t u : runs) hak_runs_put(u);
  EXPECT_EQ(get(3), runs[1]);
  EXPECT_EQ(get(4), runs[2]);
  EXPECT_EQ(get(7), runs[0]);
}

/* Whatever the width of a bin: the range does not grow while a run of exactly that length is free. */
TEST(Span, ARunIsFoundByARequestOfItsLength) {
  for (const size_t units : {1u, 15u, 16u, 17u, 23u, 31u, 32u, 33u, 47u, 63u, 65u, 100u, 511u}) {
    const uint32_t run = get(units);
    get(1);
    hak_runs_put(run);
    EXPECT_EQ(get(units), run) << units;
  }
}

TEST(Span, ARunThatIsLongEnoughIsFoundAmongShorterOnes) {
  std::vector<uint32_t> shorter;
  for (int i = 0; i < 5; i++) {
    shorter.push_back(get(64));
    get(1);
  }
  const uint32_t run = get(70);
  get(1);
  hak_runs_put(run);
  for (const uint32_t u : shorter) hak_runs_put(u);
  EXPECT_EQ(get(70), run);
}

TEST(Span, NeighboursMergeInEveryOrder) {
  for (int order = 0; order < 6; order++) {
    std::vector<int> turn = {0, 1, 2};
    for (int i = 0; i < order; i++) std::next_permutation(turn.begin(), turn.end());
    const uint32_t whole = get(12);
    hak_runs_put(whole);
    const uint32_t part[] = {get(4), get(4), get(4)};
    ASSERT_EQ(part[0], whole);
    for (const int i : turn) hak_runs_put(part[i]);
    EXPECT_EQ(dirty_units(), 12u);
    EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
    EXPECT_EQ(get(12), whole);
    hak_runs_put(whole);
  }
}

TEST(Span, ARunThatGrowsAtItsFrontIsWhole) {
  for (const size_t units : {1u, 2u, 31u, 33u, 64u, 65u}) { /* 33 + 1 stay in the bin, all else moves */
    const uint32_t front = get(1), run = get(units);
    get(1);
    hak_runs_put(run);
    hak_runs_put(front);
    EXPECT_STREQ(hak_inside_span_wrong(), nullptr) << units;
    EXPECT_EQ(hak_range_entry(front)->length, units + 1);
    EXPECT_EQ(get(units + 1), front);
  }
}

TEST(Span, CleanAndDirtyDoNotMerge) {
  const uint32_t a = get(4);
  ASSERT_GT(clean_units(), 0u);
  hak_runs_put(a);
  EXPECT_EQ(dirty_units(), 4u);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, RunsAreAligned) {
  for (size_t align = 1; align <= 64; align *= 2) {
    for (const size_t units : {1u, 3u, 20u}) {
      const uint32_t u = get(units, align);
      ASSERT_NE(u, HAK_NO_UNIT);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(address(u)) % (align * kUnit), 0u);
      EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
    }
  }
}

TEST(Span, AHighRunIsTheLastOfTheFreeRunAtItsAlignment) {
  fake_os_reset();
  bool clean = false;
  const uint32_t all = hak_runs_get(64, 1, HAK_UNIT_LARGE, 0, &clean, nullptr);
  const uint32_t wall = hak_runs_get(1, 1, HAK_UNIT_LARGE, 0, &clean, nullptr);
  ASSERT_EQ(wall, all + 64);
  hak_runs_put(all);
  clean = false;
  EXPECT_EQ(hak_runs_get_high(3, 1, HAK_UNIT_LARGE, 0, &clean), wall - 3);
  EXPECT_FALSE(clean);
  const uint32_t aligned = hak_runs_get_high(3, 8, HAK_UNIT_LARGE, 0, &clean);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(hak_range_address(aligned)) % (8 * HAK_UNIT_BYTES), 0u);
  EXPECT_LE(aligned + 3, wall - 3);
  EXPECT_GT(aligned + 11, wall - 3) << "there is no later place";
  EXPECT_EQ(hak_runs_get(9, 1, HAK_UNIT_LARGE, 0, &clean, nullptr), all) << "all others begin at the beginning";
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, AHighRunFillsHolesWhereTheLongestIsASmallPartOfWhatIsFree) {
  fake_os_reset();
  std::vector<uint32_t> holes;
  for (unsigned n = 0; n < 20; n++) {
    holes.push_back(get(5));
    get(1);
  }
  const uint32_t longest = get(16);
  get(1);
  hak_runs_put(longest);
  for (const uint32_t hole : holes) hak_runs_put(hole);
  for (unsigned n = 0; n < 10; n++) {
    bool clean = false;
    const uint32_t u = hak_runs_get_high(5, 1, HAK_UNIT_LARGE, 0, &clean);
    EXPECT_NE(std::find(holes.begin(), holes.end(), u), holes.end()) << n;
  }
  bool clean = false;
  EXPECT_EQ(hak_runs_get_high(5, 1, HAK_UNIT_LARGE, 0, &clean), longest + 11) << "16 of 66 units are a fourth";
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, TooMuchIsNoUnit) {
  EXPECT_EQ(get(SIZE_MAX), HAK_NO_UNIT);
  EXPECT_EQ(get(1, size_t{1} << 63), HAK_NO_UNIT);
  EXPECT_EQ(get(size_t{1} << 30), HAK_NO_UNIT);
  fake_os_refuse(FAKE_MAP_AT);
  EXPECT_EQ(get(1), HAK_NO_UNIT);
  fake_os_permit(FAKE_MAP_AT);
  EXPECT_NE(get(1), HAK_NO_UNIT);
}

TEST(Span, WithoutMemoryWhatIsFreeIsUsedUp) {
  std::vector<uint32_t> runs = {get(1)};
  fake_os_refuse(FAKE_MAP_AT);
  for (uint32_t u; (u = get(1)) != HAK_NO_UNIT;) runs.push_back(u);
  EXPECT_EQ(runs.size(), g_range.units - 1);
  for (const uint32_t u : runs) hak_runs_put(u);
  EXPECT_EQ(get(runs.size()), runs[0]) << "all merged again";
}

TEST(Span, ExtendTakesWhatLiesBehind) {
  const uint32_t a = get(4), b = get(4);
  EXPECT_FALSE(hak_runs_extend(a, 1)) << "in use";
  hak_runs_put(b);
  EXPECT_FALSE(hak_runs_extend(a, 5)) << "only four of its sort";
  EXPECT_TRUE(hak_runs_extend(a, 3));
  EXPECT_EQ(hak_range_entry(a)->length, 7u);
  EXPECT_EQ(hak_range_entry(a)->kind, HAK_UNIT_LARGE);
  EXPECT_EQ(hak_range_run_of(address(a + 6)), a);
  EXPECT_EQ(hak_range_run_of(address(a + 7)), HAK_NO_UNIT);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
  EXPECT_TRUE(hak_runs_extend(a, 1));
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, ExtendStopsAtTheEndOfTheRange) {
  const uint32_t a = get(1);
  fake_os_refuse(FAKE_MAP_AT);
  const size_t left = g_range.units - a - 1;
  EXPECT_TRUE(hak_runs_extend(a, left));
  EXPECT_FALSE(hak_runs_extend(a, 1));
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, ShortenGivesTheEndBack) {
  const uint32_t a = get(10), guard = get(1);
  hak_runs_shorten(a, 10);
  EXPECT_EQ(dirty_units(), 0u);
  hak_runs_shorten(a, 4);
  EXPECT_EQ(hak_range_entry(a)->length, 4u);
  EXPECT_EQ(dirty_units(), 6u);
  EXPECT_EQ(hak_range_run_of(address(a + 4)), HAK_NO_UNIT);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
  EXPECT_EQ(get(6), a + 4);
  hak_runs_put(guard);
}

TEST(Span, PurgeMakesDirtyClean) {
  const uint32_t a = get(6), guard = get(1);
  std::memset(address(a), 1, 6 * kUnit);
  hak_runs_put(a);
  EXPECT_EQ(hak_runs_purge(6 * kUnit), 0u) << "this much may stay";
  EXPECT_EQ(hak_runs_purge(0), 6 * kUnit);
  EXPECT_EQ(dirty_units(), 0u);
  EXPECT_EQ(fake_os.last_purged, address(a));
  EXPECT_EQ(fake_os.last_purged_bytes, 6 * kUnit);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
  bool clean = false;
  const uint32_t again = get(6, 1, &clean);
  EXPECT_EQ(again, a);
  EXPECT_TRUE(clean);
  for (size_t i = 0; i < 6 * kUnit; i += 4096) EXPECT_EQ(address(a)[i], 0);
  hak_runs_put(guard);
}

TEST(Span, PurgeStopsAtWhatMayStay) {
  std::vector<uint32_t> runs;
  for (int i = 0; i < 8; i++) {
    runs.push_back(get(2));
    get(1);
  }
  for (const uint32_t u : runs) hak_runs_put(u);
  EXPECT_EQ(hak_runs_purge(5 * kUnit), 11 * kUnit) << "of the last run only its end";
  EXPECT_EQ(dirty_units(), 5u);
}

TEST(Span, ARefusedPurgeEndsAndLeavesTheRunDirty) {
  const uint32_t a = get(6);
  get(1);
  std::memset(address(a), 1, kUnit);
  hak_runs_put(a);
  fake_os_refuse(FAKE_PURGE);
  EXPECT_EQ(hak_runs_purge(0), 0u);
  EXPECT_EQ(dirty_units(), 6u);
  bool clean = true;
  EXPECT_EQ(get(6, 1, &clean), a);
  EXPECT_FALSE(clean) << "pages that were not given back are not zero";
}

/* The kernel refuses the two units at once, as if one of their pages were locked, and then takes each alone. */
TEST(Span, ARefusedRunOfTwoUnitsIsHalved) {
  const uint32_t a = get(2);
  get(1);
  hak_runs_put(a);
  fake_os_refuse_once(FAKE_PURGE, 1);
  EXPECT_EQ(hak_runs_purge(0), 2 * kUnit);
  EXPECT_EQ(dirty_units(), 0u);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

/* ---- sums ---- */

TEST(Span, ARunThatGrowsIntoCleanUnitsFetchesThem) {
  hak_store(&g_settings.mode, HAK_MODE_SHADOW);
  const uint32_t a = get(1);
  ASSERT_GE(clean_units(), 3u);
  const uint64_t before = hak_counter_value(HAK_COUNTER_fetched_bytes);
  EXPECT_TRUE(hak_runs_extend(a, 3));
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_fetched_bytes), before + 3 * kUnit);
}

void take_the_room() { hak_store(&g_footprint.big, g_settings.hard_limit); }

/* A big block of another thread is entered after the limit was compared, and before the run counts. */
TEST(Span, ARunBesideABigBlockIsTakenBack) {
  hak_store(&g_settings.hard_limit, 64 * kUnit);
  hak_inside_at_fence = take_the_room;
  const uint64_t span = g_footprint.span;
  EXPECT_EQ(get(3), HAK_NO_UNIT);
  EXPECT_EQ(g_footprint.span, span);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(SpanDeathTest, ATableThatSomeoneWroteOverIsTold) {
  const uint32_t a = get(3), wall = get(1), b = get(3);
  get(1);
  hak_runs_put(a);
  hak_runs_put(b); /* both lie in one bin */
  hak_range_entry(a)->previous = wall;
  EXPECT_EXIT(get(3), testing::KilledBySignal(SIGABRT), "^hakmem: metadata was overwritten: pointer 0x");
  hak_range_entry(a)->previous = b;
  hak_range_entry(b)->next = UINT32_MAX;
  EXPECT_EXIT(get(3), testing::KilledBySignal(SIGABRT), "^hakmem: metadata was overwritten: pointer 0x");
}

}  // namespace
