/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_age_test.cpp: dirty runs grow old and are released.
 *
 * what      The queue by age, hak_runs_age, hak_runs_purge and hak_runs_unmap over the fake kernel (fake_os.h); the
 *           clock is the cell g_rent.now_ms.
 * owner     Each case runs in a separate process.
 * failure   A run that is released too early, too late or out of turn; an extra call; a wrong sum.
 * not here  The same in random order: runs_walk_test.cpp. The rent: rent_test.cpp.
 */
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "runs_calls.h"

extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "tables/counters.h"
#include "tables/settings.h"
}

namespace {

using Runs = std::vector<uint32_t>;

/* First units of the purged runs, in order. */
Runs g_purged;
void told(void *p, size_t) { g_purged.push_back(static_cast<uint32_t>(hak_range_unit_of(p))); }

class SpanAge : public testing::Test {
 protected:
  void SetUp() override {
    at(1000);
    fake_os.on_purge = told;
  }
  void TearDown() override { EXPECT_STREQ(hak_inside_span_wrong(), nullptr); }

  static void at(uint64_t ms) { hak_store(&g_rent.now_ms, fake_os.now_ms = ms); }

  static void put_at(uint64_t ms, uint32_t u) {
    at(ms);
    hak_runs_put(u);
    ASSERT_STREQ(hak_inside_span_wrong(), nullptr);
  }

  /* n runs of `units` units, each with a used unit behind. */
  static Runs apart(size_t n, size_t units) {
    Runs runs;
    for (size_t i = 0; i < n; i++) {
      runs.push_back(get(units));
      get(1);
    }
    return runs;
  }

  /* Neighbours of these lengths, and a used unit behind the last. */
  static Runs beside(const std::vector<size_t> &lengths) {
    size_t sum = 0;
    for (const size_t n : lengths) sum += n;
    const uint32_t whole = get(sum);
    get(1);
    hak_runs_shorten(whole, lengths[0]);
    Runs runs = {whole};
    for (size_t i = 1; i < lengths.size(); i++) runs.push_back(get(lengths[i]));
    for (size_t i = 1; i < runs.size(); i++) EXPECT_EQ(runs[i], runs[i - 1] + lengths[i - 1]);
    EXPECT_EQ(dirty_units(), 0u);
    return runs;
  }

  static uint64_t counter(hak_counter_id id) { return hak_counter_value(id); }
};

/* ---- order ---- */

TEST_F(SpanAge, RunsStandInTheOrderOfTheirFrees) {
  Runs runs = apart(20, 3);
  std::shuffle(runs.begin(), runs.end(), std::mt19937(4));
  for (size_t i = 0; i < runs.size(); i++) put_at(2000 + i, runs[i]);
  EXPECT_EQ(queue(), runs);
  EXPECT_EQ(hak_runs_purge(0), 20 * 3 * kUnit);
  EXPECT_EQ(g_purged, runs) << "the oldest first";
}

TEST_F(SpanAge, TheLargerPartsAgeWins) {
  const Runs old = beside({4, 3}), young = beside({3, 4}), equal = beside({4, 4});
  put_at(2000, old[0]);
  put_at(2001, young[0]);
  put_at(2002, equal[0]);
  put_at(3000, old[1]);
  put_at(3001, young[1]);
  put_at(3002, equal[1]);
  EXPECT_EQ(queue(), (Runs{old[0], equal[0], young[0]}));
}

TEST_F(SpanAge, AmongThreeTheLargestDecides) {
  const Runs front = beside({5, 2, 4}), back = beside({4, 2, 5}), middle = beside({2, 5, 2}), equal = beside({3, 2, 3});
  const Runs all[] = {front, back, middle, equal};
  for (size_t i = 0; i < 4; i++) {
    put_at(2000 + 10 * i, all[i][0]);
    put_at(2001 + 10 * i, all[i][2]);
  }
  for (const Runs &runs : all) put_at(3000, runs[1]);
  EXPECT_EQ(queue(), (Runs{front[0], back[0], equal[0], middle[0]}));
}

TEST_F(SpanAge, WhatIsLeftOfARunKeepsItsPlace) {
  const Runs runs = apart(3, 8); /* the runs begin at units 1, 10 and 19 */
  for (size_t i = 0; i < 3; i++) put_at(2000 + i, runs[i]);
  at(5000);
  Runs rest = runs;
  for (unsigned n = 0; n < 24; n++) {
    const uint32_t u = get(1);
    const auto from = std::find(rest.begin(), rest.end(), u);
    ASSERT_NE(from, rest.end()) << "a run is used up from its front";
    ++*from;
    if (hak_range_entry(u + 1)->kind == HAK_UNIT_LARGE) rest.erase(from); /* the last unit of the run */
    ASSERT_EQ(queue(), rest);
  }
  EXPECT_EQ(rest, Runs{});
}

TEST_F(SpanAge, ACutInTheMiddleLeavesTwoOfOneAge) {
  const uint32_t a = get(1), b = get(40, 1), c = get(2);
  put_at(2000, a);
  put_at(2001, b);
  put_at(2002, c);
  at(5000);
  ASSERT_EQ(dirty_units(), 43u) << "all one run";
  const uint32_t u = get(3, 16);
  ASSERT_NE(u, a) << "aligned, it does not begin where the run did";
  EXPECT_EQ(queue(), (Runs{a, u + 3}));
}

TEST_F(SpanAge, ExtendTakesFromTheFrontAndLeavesTheAge) {
  const Runs runs = beside({2, 6}), other = apart(1, 3);
  put_at(2000, runs[1]);
  put_at(2001, other[0]);
  at(5000);
  EXPECT_TRUE(hak_runs_extend(runs[0], 2));
  EXPECT_EQ(queue(), (Runs{runs[1] + 2, other[0]}));
  EXPECT_TRUE(hak_runs_extend(runs[0], 4));
  EXPECT_EQ(queue(), Runs{other[0]});
}

TEST_F(SpanAge, ShortenFreesAYoungRun) {
  const Runs runs = apart(2, 6);
  put_at(2000, runs[0]);
  at(3000);
  hak_runs_shorten(runs[1], 2);
  EXPECT_EQ(queue(), (Runs{runs[0], runs[1] + 2}));
}

/* ---- going back ---- */

/* Runs are freed and allocated, so that memory is known to be reused. */
void swing(const Runs &runs, size_t units) {
  for (const uint32_t u : runs) hak_runs_put(u);
  for (size_t i = 0; i < runs.size(); i++) get(units);
}

TEST_F(SpanAge, WhatIsTakenAgainStaysUntilItsRentIsUp) {
  const Runs runs = apart(400, 4);
  const uint64_t rent = hak_rent_ms(2 << 20);
  for (int i = 0; i < 4; i++) swing(runs, 4);
  for (const uint32_t u : runs) hak_runs_put(u);
  at(1000 + rent / 2);
  EXPECT_EQ(hak_runs_age(0), 0u);
  EXPECT_EQ(fake_os.purge_batches, 0u) << "the kernel is not asked for nothing";
  at(1000 + 2 * rent);
  while (hak_runs_age(0) != 0) {
  }
  EXPECT_EQ(dirty_units(), 0u);
  EXPECT_EQ(g_purged, runs) << "the oldest first";
}

TEST_F(SpanAge, WhatWasNeverTakenAgainGoesButForALittle) {
  for (const uint32_t u : apart(400, 4)) hak_runs_put(u);
  while (hak_runs_age(0) != 0) {
  }
  EXPECT_LE(dirty_units() * kUnit, HAK_WATERMARK_LEAST);
  EXPECT_GE(dirty_units() * kUnit, HAK_WATERMARK_LEAST / 2);
}

TEST_F(SpanAge, NoneStaysWhereMemoryIsShort) {
  put_at(2000, apart(1, 4)[0]);
  EXPECT_EQ(hak_runs_age(0), 0u);
  g_rent.pressure = 3;
  EXPECT_EQ(hak_runs_age(0), 4 * kUnit);
}

TEST_F(SpanAge, AllStaysWhereItCostsNothing) {
  g_settings.price = 0;
  for (const uint32_t u : apart(400, 4)) hak_runs_put(u);
  at(100000);
  EXPECT_EQ(hak_runs_age(0), 0u);
}

/* Sanitizers leave mlock out. */
void lock_page(uint32_t unit) { ASSERT_EQ(syscall(SYS_mlock, address(unit), 1), 0); }

TEST_F(SpanAge, WhatTheKernelRefusesIsDirtyAndYoung) {
  const Runs runs = apart(4, 1);
  for (size_t i = 0; i < 4; i++) put_at(2000 + i, runs[i]);
  std::memset(address(runs[1]), 7, kUnit);
  lock_page(runs[1]);
  EXPECT_EQ(hak_runs_purge(2 * kUnit), 2 * kUnit) << "others go instead";
  EXPECT_EQ(queue(), (Runs{runs[3], runs[1]})) << "at the young end";
  EXPECT_EQ(address(runs[1])[0], 7);
  EXPECT_EQ(dirty_units(), 2u);
  EXPECT_EQ(counter(HAK_COUNTER_release_bytes), 2 * kUnit);
}

TEST_F(SpanAge, OfARunWithALockedPageTheRestGoes) {
  const Runs runs = apart(100, 9);
  for (const uint32_t u : runs) hak_runs_put(u);
  lock_page(runs[3] + 5);
  EXPECT_EQ(hak_runs_purge(0), (100 * 9 - 1) * kUnit) << "and other batches come after it";
  EXPECT_EQ(queue(), (Runs{runs[3] + 5}));
  ASSERT_EQ(syscall(SYS_munlock, address(runs[3] + 5), 1), 0);
  EXPECT_EQ(hak_runs_purge(0), kUnit);
  EXPECT_EQ(dirty_units(), 0u);
}

TEST_F(SpanAge, WhereAllIsLockedTheKernelIsAskedALittle) {
  const Runs runs = apart(8, 200);
  for (const uint32_t u : runs) hak_runs_put(u);
  fake_os_refuse(FAKE_PURGE);
  EXPECT_EQ(hak_runs_purge(0), 0u);
  EXPECT_EQ(dirty_units(), 8u * 200u);
  EXPECT_LE(fake_os.calls[FAKE_PURGE], 80u);
}

/* ---- batches ---- */

TEST_F(SpanAge, NeighboursGoInOnePiece) {
  constexpr size_t kFrees = 1024, kStretches = 16;
  Runs units;
  for (size_t i = 0; i < kStretches; i++) {
    const uint32_t first = get(kFrees / kStretches);
    get(1);
    hak_runs_put(first);
    for (size_t k = 0; k < kFrees / kStretches; k++) units.push_back(get(1));
  }
  std::shuffle(units.begin(), units.end(), std::mt19937(5));
  for (const uint32_t u : units) hak_runs_put(u);
  ASSERT_EQ(queue().size(), kStretches);
  const uint64_t before = fake_os.calls[FAKE_PURGE];
  EXPECT_EQ(hak_runs_purge(0), kFrees * kUnit);
  EXPECT_EQ(fake_os.calls[FAKE_PURGE] - before, kStretches);
  EXPECT_LE(fake_os.calls[FAKE_PURGE] - before, kFrees / 16);
  EXPECT_EQ(fake_os.purge_batches, 1u);
}

TEST_F(SpanAge, ScatteredRunsCostOneCallEachAtMost) {
  constexpr size_t kFrees = 200;
  Runs runs = apart(kFrees, 1);
  std::shuffle(runs.begin(), runs.end(), std::mt19937(6));
  for (const uint32_t u : runs) put_at(2000, u);
  g_rent.pressure = 1;
  size_t gone = 0, calls = 0;
  for (size_t bytes; (bytes = hak_runs_age(0)) != 0; calls++) gone += bytes;
  EXPECT_EQ(gone, kFrees * kUnit);
  EXPECT_EQ(calls, (kFrees + HAK_OS_EXTENTS - 1) / HAK_OS_EXTENTS) << "a batch at a time";
  EXPECT_EQ(fake_os.purge_batches, calls);
  EXPECT_EQ(fake_os.calls[FAKE_PURGE], kFrees);
  EXPECT_EQ(g_purged, runs);
}

TEST_F(SpanAge, APurgeEndsWithTheBatchOfWhichNothingWent) {
  for (const uint32_t u : apart(200, 1)) hak_runs_put(u);
  fake_os.fail_from[FAKE_PURGE] = HAK_OS_EXTENTS + 3;
  EXPECT_EQ(hak_runs_purge(0), (HAK_OS_EXTENTS + 2) * kUnit);
  EXPECT_EQ(fake_os.purge_batches, 3u);
  fake_os_permit(FAKE_PURGE);
  EXPECT_EQ(hak_runs_purge(0), (200 - HAK_OS_EXTENTS - 2) * kUnit);
}

TEST_F(SpanAge, TheCountersAgreeWithWhatWasFreed) {
  constexpr size_t kFrees = 300;
  Runs units = {get(kFrees)};
  get(1);
  hak_runs_put(units[0]);
  units.clear();
  for (size_t k = 0; k < kFrees; k++) units.push_back(get(1));
  const uint64_t added = counter(HAK_COUNTER_release_added), merged = counter(HAK_COUNTER_release_merged);
  std::shuffle(units.begin(), units.end(), std::mt19937(7));
  for (size_t k = 0; k < kFrees; k++) {
    if (units[k] % 10 != 0) hak_runs_put(units[k]);
  }
  const size_t freed = dirty_units(), ranges = queue().size();
  EXPECT_EQ(counter(HAK_COUNTER_release_added) - added, freed);
  EXPECT_EQ(counter(HAK_COUNTER_release_added) - added - (counter(HAK_COUNTER_release_merged) - merged), ranges);
  EXPECT_EQ(hak_runs_purge(0), freed * kUnit);
  EXPECT_EQ(counter(HAK_COUNTER_release_flushed), ranges);
  EXPECT_EQ(counter(HAK_COUNTER_release_bytes), freed * kUnit);
}

/* ---- addresses ---- */

class SpanUnmap : public SpanAge {
 protected:
  /* A run without memory, walled in; nothing else is free. */
  static uint32_t gone(size_t units) {
    const uint32_t u = get(units);
    get(1);
    for (; clean_units() != 0; get(1)) {
    }
    hak_runs_put(u);
    hak_runs_purge(0);
    const size_t mapped = g_range.mapped;
    const uint64_t from_kernel = fake_os.mapped_bytes;
    EXPECT_EQ(hak_runs_unmap(), units * kUnit);
    EXPECT_EQ(g_range.mapped, mapped - units * kUnit);
    EXPECT_EQ(fake_os.mapped_bytes, from_kernel - units * kUnit);
    EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED), Runs{u});
    return u;
  }

  static void *sit_down(uint32_t u) {
    return mmap(address(u), kUnit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  }
};

TEST_F(SpanUnmap, OnlyCleanRunsOfAMiBGo) {
  const Runs runs = apart(3, 16), small = apart(1, 15);
  while (clean_units() != 0) get(1);
  hak_runs_put_clean(runs[0]);
  hak_runs_put(runs[1]);
  hak_runs_put_clean(runs[2]);
  hak_runs_put_clean(small[0]);
  EXPECT_EQ(hak_runs_unmap(), 32 * kUnit);
  EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED), (Runs{runs[0], runs[2]}));
  EXPECT_EQ(clean_units(), 15u);
  EXPECT_EQ(dirty_units(), 16u);
  EXPECT_EQ(hak_runs_unmap(), 0u);
}

TEST_F(SpanUnmap, WhatIsRefusedStaysClean) {
  const uint32_t u = get(20);
  get(1);
  for (; clean_units() != 0; get(1)) {
  }
  hak_runs_put_clean(u);
  const size_t mapped = g_range.mapped;
  fake_os_refuse(FAKE_UNMAP);
  EXPECT_EQ(hak_runs_unmap(), 0u);
  EXPECT_EQ(clean_units(), 20u);
  EXPECT_EQ(g_range.mapped, mapped);
}

/* By steps of a MiB at least, as each is a kernel call or two. */
TEST_F(SpanUnmap, AGoneRunIsMappedAgainBeforeTheRangeGrows) {
  const uint32_t u = gone(40);
  const size_t units = g_range.units, mapped = g_range.mapped;
  bool clean = false;
  EXPECT_EQ(get(5, 1, &clean), u);
  EXPECT_TRUE(clean);
  EXPECT_EQ(g_range.units, units);
  EXPECT_EQ(g_range.mapped, mapped + 16 * kUnit);
  EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED), Runs{u + 16});
  EXPECT_EQ(clean_units(), 11u);
  std::memset(address(u), 1, 5 * kUnit);
  hak_runs_put(u);
  EXPECT_EQ(get(5), u) << "dirty and gone do not merge";
  EXPECT_EQ(get(20), u + 5) << "as many as are wanted";
  EXPECT_EQ(g_range.mapped, mapped + 36 * kUnit);
  EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED), Runs{u + 36});
  EXPECT_EQ(address(u + 5)[20 * kUnit - 1], 0);
}

TEST_F(SpanUnmap, WhereAStepCannotBeHadWhatIsNeededIs) {
  const uint32_t u = gone(40);
  const size_t mapped = g_range.mapped;
  fake_os_refuse_once(FAKE_MAP_AT, 1);
  EXPECT_EQ(get(5), u);
  EXPECT_EQ(g_range.mapped, mapped + 5 * kUnit);
  EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED), Runs{u + 5});
}

TEST_F(SpanUnmap, AlignedUnitsOfAGoneRun) {
  const uint32_t u = gone(40);
  const uint32_t at = get(5, 8);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address(at)) % (8 * kUnit), 0u);
  EXPECT_TRUE(at >= u && at < u + 40);
  std::memset(address(at), 1, 5 * kUnit);
}

/* The longest run first, and of that run the excess. */
TEST_F(SpanUnmap, WhatIsCleanBeyondAShareGoes) {
  const Runs runs = apart(1, 200), shorter = apart(1, 100), others = apart(30, 16);
  while (clean_units() != 0) get(1);
  hak_runs_put_clean(runs[0]);
  hak_runs_put_clean(shorter[0]);
  const size_t stays = (g_range.mapped / kUnit - 300) / 8 + 32;
  ASSERT_LT(stays, 200u);
  EXPECT_EQ(hak_runs_unmap_excess(), (300 - stays) * kUnit);
  EXPECT_EQ(clean_units(), stays);
  EXPECT_EQ(hak_runs_unmap_excess(), 0u);
  EXPECT_EQ(hak_range_entry(runs[0] + 199)->kind, HAK_UNIT_UNMAPPED);
  EXPECT_EQ(hak_range_entry(shorter[0])->kind, HAK_UNIT_CLEAN);
  const uint64_t calls = fake_os.calls[FAKE_MAP_AT];
  size_t again = 0;
  for (; runs_of(HAK_UNIT_UNMAPPED) != Runs{}; again++) ASSERT_NE(get(1), HAK_NO_UNIT);
  EXPECT_LE(fake_os.calls[FAKE_MAP_AT] - calls, again / 16 + 2);
}

TEST_F(SpanUnmap, OfAFewShortRunsNothingGoes) {
  const Runs runs = apart(50, 3);
  while (clean_units() != 0) get(1);
  for (const uint32_t u : runs) hak_runs_put_clean(u);
  EXPECT_EQ(hak_runs_unmap_excess(), 0u);
  EXPECT_EQ(clean_units(), 150u);
}

/* If few blocks stay, memory between the blocks is unmapped, too. */
TEST_F(SpanUnmap, RunsOfAFourthOfAMiBGo) {
  const Runs runs = apart(60, 4);
  while (clean_units() != 0) get(1);
  for (const uint32_t u : runs) hak_runs_put_clean(u);
  const size_t stays = (g_range.mapped / kUnit - 240) / 8 + 32;
  EXPECT_GT(hak_runs_unmap_excess(), 0u);
  EXPECT_LT(clean_units(), stays + 4);
}

/* Each is a mapping more. */
TEST_F(SpanUnmap, TheNumberOfGonePiecesIsBounded) {
  const Runs runs = apart(700, 16);
  while (clean_units() != 0) get(1);
  for (const uint32_t u : runs) hak_runs_put_clean(u);
  EXPECT_EQ(hak_runs_unmap_excess(), 512 * 16 * kUnit);
  EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED).size(), 512u);
}

/* Pieces shorter than the units that pages.c asks for, once they are most of the range, serve it before new addresses do:
 * otherwise new ones are cut into pieces as short, and the range grows for ever. */
TEST_F(SpanUnmap, PagesTakeIdlePiecesBeforeNewAddresses) {
  const Runs runs = apart(40, 16);
  while (clean_units() != 0) get(1);
  const auto cut = [] {
    size_t units = 32;
    bool clean = true;
    EXPECT_NE(hak_inside_span_cut(4, &units, &clean), HAK_NO_UNIT);
    EXPECT_TRUE(clean);
    return units;
  };
  for (size_t i = 0; i < 30; i++) hak_runs_put_clean(runs[i]);
  const size_t range = g_range.units;
  EXPECT_EQ(cut(), 16u) << "a clean piece";
  ASSERT_EQ(hak_runs_unmap(), 29 * 16 * kUnit);
  EXPECT_EQ(cut(), 16u) << "an unmapped piece";
  EXPECT_EQ(g_range.units, range);
}

/* As long as they are the smaller part, pages.c has its units in one piece. */
TEST_F(SpanUnmap, PagesTakeOnePieceWhileMostOfTheRangeIsInUse) {
  const Runs runs = apart(40, 16);
  while (clean_units() != 0) get(1);
  for (size_t i = 0; i < 5; i++) hak_runs_put_clean(runs[i]);
  size_t units = 32;
  bool clean = true;
  EXPECT_NE(hak_inside_span_cut(4, &units, &clean), HAK_NO_UNIT);
  EXPECT_EQ(units, 32u);
}

TEST_F(SpanUnmap, AGoneRunIsNotExtendedInto) {
  const Runs runs = beside({2, 20});
  while (clean_units() != 0) get(1);
  hak_runs_put_clean(runs[1]);
  EXPECT_EQ(hak_runs_unmap(), 20 * kUnit);
  EXPECT_FALSE(hak_runs_extend(runs[0], 1));
  EXPECT_EQ(hak_range_entry(runs[0])->length, 2u);
}

TEST_F(SpanUnmap, WithoutMemoryAGoneRunStaysOne) {
  const uint32_t u = gone(20);
  const size_t mapped = g_range.mapped;
  fake_os_refuse(FAKE_MAP_AT);
  EXPECT_EQ(get(7), HAK_NO_UNIT);
  EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED), Runs{u});
  EXPECT_EQ(hak_range_entry(u)->length, 20u) << "whole again";
  EXPECT_EQ(g_range.mapped, mapped);
  fake_os_permit(FAKE_MAP_AT);
  EXPECT_EQ(get(20), u);
}

TEST_F(SpanUnmap, WhatSomebodyElseTookAreHoles) {
  const uint32_t u = gone(20);
  const size_t mapped = g_range.mapped;
  ASSERT_EQ(sit_down(u + 2), address(u + 2));
  ASSERT_EQ(sit_down(u + 8), address(u + 8));
  address(u + 2)[0] = 5;
  const uint32_t other = get(4);
  ASSERT_NE(other, HAK_NO_UNIT) << "there is other memory";
  EXPECT_EQ(other, u + 4);
  for (uint32_t k = u; k < u + 4; k++) EXPECT_EQ(hak_range_entry(k)->kind, HAK_UNIT_HOLE);
  EXPECT_EQ(g_range.mapped, mapped + 4 * kUnit);
  EXPECT_EQ(address(u + 2)[0], 5) << "the stranger's memory is untouched";
  EXPECT_EQ(hak_range_run_of(address(u + 2)), HAK_NO_UNIT);
  EXPECT_NE(get(12), HAK_NO_UNIT) << "new addresses, where none is left";
  EXPECT_EQ(runs_of(HAK_UNIT_UNMAPPED), Runs{});
}

/* ---- the hard limit ---- */

TEST_F(SpanAge, TheHardLimitRefusesWhatWouldHoldMorePages) {
  const Runs runs = apart(2, 4);
  hak_runs_put(runs[0]);
  hak_store(&g_settings.hard_limit, g_footprint.span);
  ASSERT_GT(clean_units(), 0u);
  EXPECT_EQ(get(5), HAK_NO_UNIT) << "clean pages would be more";
  EXPECT_EQ(get(4), runs[0]) << "dirty ones count already";
  EXPECT_EQ(get(1), HAK_NO_UNIT);
  hak_store(&g_settings.hard_limit, g_footprint.span + 2 * kUnit);
  EXPECT_EQ(get(3), HAK_NO_UNIT);
  EXPECT_NE(get(2), HAK_NO_UNIT);
  EXPECT_EQ(get(1), HAK_NO_UNIT);
}

TEST_F(SpanAge, TheHardLimitRefusesNewAndUnmappedMemoryToo) {
  const uint32_t a = get(16);
  while (clean_units() != 0) get(1);
  hak_store(&g_settings.hard_limit, g_footprint.span);
  const size_t units = g_range.units;
  EXPECT_EQ(get(1), HAK_NO_UNIT);
  EXPECT_EQ(g_range.units, units) << "the range did not grow";
  hak_runs_put_clean(a);
  ASSERT_EQ(hak_runs_unmap(), 16 * kUnit);
  EXPECT_EQ(get(17), HAK_NO_UNIT) << "its room is 16 units now";
  EXPECT_EQ(get(16), a);
  EXPECT_EQ(get(1), HAK_NO_UNIT);
}

TEST_F(SpanAge, TheHardLimitRefusesToExtendIntoCleanUnits) {
  const Runs runs = beside({2, 6});
  hak_runs_put_clean(runs[1]);
  hak_store(&g_settings.hard_limit, g_footprint.span + 2 * kUnit);
  EXPECT_FALSE(hak_runs_extend(runs[0], 3));
  EXPECT_TRUE(hak_runs_extend(runs[0], 2));
  EXPECT_FALSE(hak_runs_extend(runs[0], 1));
  EXPECT_EQ(get(1), HAK_NO_UNIT);
}

TEST_F(SpanAge, BigBlocksCountTowardsTheHardLimit) {
  get(1);
  hak_store(&g_settings.hard_limit, g_footprint.span + 8 * kUnit);
  g_footprint.big = 7 * kUnit;
  EXPECT_EQ(get(2), HAK_NO_UNIT);
  EXPECT_NE(get(1), HAK_NO_UNIT);
}

}  // namespace
