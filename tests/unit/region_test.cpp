/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* region_test.cpp: advice for 2 MiB regions, against a model of the kernel's flags.
 *
 * what      runs/region.c over a unit table written by hand and the fake kernel (fake_os.h). The model keeps the
 *           kernel's flags of every unit, and counts the resulting mappings.
 * owner     Each case runs in a separate process.
 * failure   Advice without a rule, or more mappings than the bound.
 * not here  The calls: runs_test.cpp and the tests of src/blocks.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "fake_os.h"
#include "os/os.h"
#include "internal.h"
#include "runs/region.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"
}

namespace {

constexpr uint32_t kRegionUnits = 32;
constexpr size_t kRegionBytes = kRegionUnits * HAK_UNIT_BYTES;
constexpr uint32_t kRegions = 1024, kUnits = kRegions * kRegionUnits;
constexpr unsigned kFull = HAK_CLASS_4096; /* a class whose blocks are pages: 16 to the unit */

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

/* ---- the model ---- */

struct Flags {
  bool huge = false, no_huge = false, no_dump = false;
  bool operator==(const Flags &other) const {
    return huge == other.huge && no_huge == other.no_huge && no_dump == other.no_dump;
  }
};
std::vector<Flags> g_flags(kUnits);
std::vector<size_t> g_splits; /* regions with split huge pages */
size_t g_calls;

void told(void *p, size_t bytes, fake_advice advice) {
  const size_t first = hak_range_unit_of(p), units = bytes / HAK_UNIT_BYTES;
  if (advice == FAKE_SPLIT) {
    ASSERT_FALSE(g_flags[first].huge) << "it would be whole again at once";
    g_splits.push_back(first / kRegionUnits);
    return;
  }
  g_calls++;
  ASSERT_LE(first + units, kUnits);
  for (size_t u = first; u < first + units; u++) {
    Flags &flags = g_flags[u];
    if (advice == FAKE_HUGE || advice == FAKE_NO_HUGE) flags.huge = advice == FAKE_HUGE, flags.no_huge = !flags.huge;
    else flags.no_dump = advice == FAKE_NO_DUMP;
  }
}

size_t mappings() {
  size_t n = 1;
  for (size_t u = 1; u < kUnits; u++) n += !(g_flags[u] == g_flags[u - 1]);
  return n;
}

bool huge(size_t r) {
  for (size_t u = r * kRegionUnits; u < (r + 1) * kRegionUnits; u++) EXPECT_EQ(g_flags[u].huge, g_flags[r * 32].huge);
  return g_flags[r * kRegionUnits].huge;
}

bool left_out(size_t r) {
  for (size_t u = r * kRegionUnits; u < (r + 1) * kRegionUnits; u++) {
    EXPECT_EQ(g_flags[u].no_dump, g_flags[r * kRegionUnits].no_dump);
  }
  return g_flags[r * kRegionUnits].no_dump;
}

/* ---- the table ---- */

void mark(uint32_t first, uint32_t units, hak_unit_kind kind) {
  for (uint32_t u = first; u < first + units; u++) {
    hak_range_entry(u)->head = first;
    hak_range_entry(u)->kind = HAK_UNIT_TAIL;
  }
  hak_range_entry(first)->length = units;
  hak_range_entry(first)->kind = kind;
  hak_range_set_class(first, units, 0);
  if (kind == HAK_UNIT_CLEAN || kind == HAK_UNIT_DIRTY) hak_range_entry(first + units - 1)->kind = kind;
}

void slab(uint32_t u, size_t free) {
  mark(u, 1, HAK_UNIT_SLAB);
  hak_range_set_class(u, 1, kFull);
  hak_range_entry(u)->free = static_cast<uint16_t>(free);
}

/* A region of slabs, each with `free` of its 16 blocks free. */
void slabs(size_t r, size_t free) {
  for (uint32_t i = 0; i < kRegionUnits; i++) slab(static_cast<uint32_t>(r) * kRegionUnits + i, free);
}

void clean(size_t r, size_t regions) {
  mark(static_cast<uint32_t>(r) * kRegionUnits, static_cast<uint32_t>(regions) * kRegionUnits, HAK_UNIT_CLEAN);
}

uint32_t unit(size_t r) { return static_cast<uint32_t>(r) * kRegionUnits; }

class Region : public testing::Test {
 protected:
  void SetUp() override {
    fake_os_reset();
    uint32_t first;
    size_t count;
    ASSERT_TRUE(hak_range_grow(kUnits - 1, &first, &count));
    ASSERT_GE(first + count, kUnits);
    g_range.units = kUnits;
    mark(1, kUnits - 1, HAK_UNIT_DIRTY);
    fake_os.huge_bytes = kRegionBytes;
    fake_os.on_advice = told;
    hak_store(&g_settings.huge_pages, HAK_HUGE_AUTO);
  }
  void TearDown() override { EXPECT_TRUE(hak_inside_region_counts()); }

  static void become_dense(size_t r) {
    slabs(r, 0);
    ASSERT_TRUE(hak_region_open(unit(r), false));
    ASSERT_TRUE(huge(r));
  }
};

/* ---- huge pages ---- */

TEST_F(Region, ANewChunkHasNoHugePagesUnlessTheyAreOn) {
  for (const hak_huge mode : {HAK_HUGE_OFF, HAK_HUGE_AUTO, HAK_HUGE_ON}) {
    hak_store(&g_settings.huge_pages, mode);
    hak_region_grown(unit(3), 16);
    EXPECT_EQ(g_flags[unit(3) + 15].huge, mode == HAK_HUGE_ON);
    EXPECT_EQ(g_flags[unit(3) + 15].no_huge, mode != HAK_HUGE_ON);
    EXPECT_EQ(g_flags[unit(3) + 16], Flags());
  }
}

/* The advice against huge pages would forbid those, too. */
TEST_F(Region, WhereTheSystemGivesMiddlePagesANewChunkHasNoAdvice) {
  hak_store(&g_huge_modes.middle_bytes, size_t{64} << 10);
  hak_store(&g_settings.huge_pages, HAK_HUGE_AUTO);
  hak_region_grown(unit(3), 16);
  EXPECT_EQ(g_calls, 0u);
  hak_store(&g_settings.huge_pages, HAK_HUGE_OFF);
  hak_region_grown(unit(3), 16);
  EXPECT_TRUE(g_flags[unit(3)].no_huge);
}

/* No advice restores the system's default: the border is counted, and the region may be huge again. */
TEST_F(Region, WhereTheSystemGivesMiddlePagesALostHugePageIsABorder) {
  hak_store(&g_huge_modes.middle_bytes, size_t{64} << 10);
  hak_store(&g_settings.huge_pages, HAK_HUGE_AUTO);
  ASSERT_TRUE(hak_region_open(unit(5), false));
  hak_region_close(unit(5));
  EXPECT_TRUE(g_flags[unit(5)].no_huge);
  EXPECT_TRUE(hak_inside_region_counts());
  hak_region_used(unit(5), 3);
  EXPECT_TRUE(g_flags[unit(5)].no_huge);
  const uint64_t calls = g_calls;
  hak_region_close(unit(5));
  EXPECT_EQ(g_calls, calls);
  ASSERT_TRUE(hak_region_open(unit(5), false));
  EXPECT_TRUE(g_flags[unit(5)].huge);
  EXPECT_FALSE(g_flags[unit(4)].no_huge);
}

TEST_F(Region, WhereTheSystemGivesMiddlePagesWholeRegionsLoseAProgramsAdvice) {
  hak_store(&g_huge_modes.middle_bytes, size_t{64} << 10);
  hak_store(&g_settings.huge_pages, HAK_HUGE_AUTO);
  hak_region_withdraw(unit(5) + 7, 2 * kRegionUnits);
  EXPECT_FALSE(g_flags[unit(5) + 8].no_huge);
  EXPECT_TRUE(g_flags[unit(6)].no_huge);
  EXPECT_FALSE(g_flags[unit(7)].no_huge);
  EXPECT_TRUE(hak_inside_region_counts());
  EXPECT_EQ(g_calls, 1u);
  hak_region_withdraw(unit(6), kRegionUnits);
  EXPECT_EQ(g_calls, 1u) << "it has none any more";
}

TEST_F(Region, HugePagesOfAnotherSizeAreNotAskedFor) {
  fake_os.huge_bytes = 32 << 20;
  hak_store(&g_settings.huge_pages, HAK_HUGE_ON);
  hak_region_grown(unit(3), 16);
  EXPECT_EQ(g_calls, 0u);
}

TEST_F(Region, AKernelWithoutHugePagesIsNotAsked) {
  fake_os.huge_bytes = 0;
  EXPECT_FALSE(hak_region_open(unit(5), false));
  EXPECT_EQ(g_calls, 0u);
}

TEST_F(Region, AnOpenedRegionIsHuge) {
  EXPECT_TRUE(hak_region_open(unit(5), false));
  EXPECT_TRUE(huge(5));
  EXPECT_FALSE(huge(4) || huge(6));
  const size_t calls = g_calls;
  EXPECT_TRUE(hak_region_open(unit(5), false));
  EXPECT_EQ(g_calls, calls) << "known already";
  EXPECT_EQ(fake_os.calls[FAKE_PURGE], 0u) << "it had no small pages";
}

TEST_F(Region, AClosedRegionIsPlain) {
  hak_region_open(unit(5), false);
  hak_region_close(unit(5));
  EXPECT_FALSE(huge(5));
  const size_t calls = g_calls;
  hak_region_close(unit(6));
  EXPECT_EQ(g_calls, calls) << "it was not open";
}

TEST_F(Region, APageTableGoesBeforeAHugePageComes) {
  EXPECT_TRUE(hak_region_open(unit(5), true));
  EXPECT_TRUE(huge(5) && hak_region_is_huge(unit(5)));
  EXPECT_EQ(fake_os.last_purged, hak_range_address(unit(5)));
  EXPECT_EQ(fake_os.last_purged_bytes, kRegionBytes) << "by one call, so that the kernel frees the page table";
}

TEST_F(Region, ARegionLeftOutOfDumpsIsOpenedToo) {
  clean(10, 4);
  hak_region_cleaned(unit(10), 4 * kRegionUnits);
  ASSERT_TRUE(left_out(11));
  EXPECT_TRUE(hak_region_open(unit(11), false));
  EXPECT_TRUE(huge(11) && !left_out(11) && left_out(10) && left_out(12));
}

TEST_F(Region, BlocksThatMayNeverBeWrittenToAreNotDense) {
  become_dense(5);
  mark(unit(5), 30, HAK_UNIT_LARGE);
  slab(unit(5) + 30, 0);
  slab(unit(5) + 31, 6);
  EXPECT_FALSE(hak_region_keep(unit(5) + 31, 1)) << "one block may be a buffer of many pages";
  EXPECT_FALSE(huge(5));
}

TEST_F(Region, PurgingADenseRegionIsNotWorthIt) {
  become_dense(5);
  slab(unit(5) + 9, 6);
  EXPECT_TRUE(hak_region_keep(unit(5) + 9, 1));
  EXPECT_TRUE(huge(5));
  hak_region_break(unit(5) + 9, 1);
  EXPECT_FALSE(huge(5)) << "who must purge, purges";
}

TEST_F(Region, PurgingInASparseRegionTakesTheAdviceBackBefore) {
  become_dense(5);
  mark(unit(5) + 9, 8, HAK_UNIT_DIRTY);
  EXPECT_FALSE(hak_region_keep(unit(5) + 9, 8));
  EXPECT_FALSE(huge(5));
  EXPECT_FALSE(hak_region_keep(unit(5) + 9, 8));
  EXPECT_EQ(g_splits, std::vector<size_t>{5}) << "once: the kernel keeps a huge page of which a part went";
}

TEST_F(Region, TheBordersOfAHugePage) {
  EXPECT_FALSE(hak_region_any_huge());
  become_dense(5);
  EXPECT_TRUE(hak_region_any_huge());
  EXPECT_EQ(hak_region_whole_start(unit(5) + 9), unit(6));
  EXPECT_EQ(hak_region_whole_end(unit(5) + 9), unit(5));
  EXPECT_EQ(hak_region_whole_start(unit(5)), unit(5));
  EXPECT_EQ(hak_region_whole_end(unit(6)), unit(6));
  EXPECT_EQ(hak_region_whole_start(unit(6) + 1), unit(6) + 1) << "small pages";
  hak_region_break(unit(5) + 9, 1);
  EXPECT_FALSE(hak_region_any_huge());
}

TEST_F(Region, PurgingAWholeRegionSplitsNothing) {
  become_dense(5);
  become_dense(6);
  mark(unit(5), 40, HAK_UNIT_DIRTY);
  EXPECT_FALSE(hak_region_keep(unit(5), 40));
  EXPECT_TRUE(huge(5));
  EXPECT_FALSE(huge(6));
  EXPECT_EQ(g_splits, std::vector<size_t>{6});
}

TEST_F(Region, AFreeHugeRegionThatIsUsedInPartIsHugeNoMore) {
  become_dense(5);
  become_dense(6);
  become_dense(7);
  clean(5, 3);
  hak_region_used(unit(5), kRegionUnits);
  EXPECT_TRUE(huge(5)) << "used as a whole";
  hak_region_used(unit(6), kRegionUnits + 1);
  EXPECT_TRUE(huge(6));
  EXPECT_FALSE(huge(7)) << "one unit must not take 2 MiB";
}

TEST_F(Region, ARefusalIsTriedAgain) {
  fake_os_refuse(FAKE_ADVISE);
  EXPECT_FALSE(hak_region_open(unit(5), false));
  EXPECT_FALSE(huge(5));
  fake_os_permit(FAKE_ADVISE);
  EXPECT_TRUE(hak_region_open(unit(5), false));
  EXPECT_TRUE(huge(5));
}

/* ---- core dumps ---- */

TEST_F(Region, WholeRegionsOfALongCleanRunAreLeftOut) {
  mark(unit(10) - 5, 4 * kRegionUnits + 9, HAK_UNIT_CLEAN);
  hak_region_cleaned(unit(10) - 5, 4 * kRegionUnits + 9);
  for (size_t r = 10; r < 14; r++) EXPECT_TRUE(left_out(r)) << r;
  EXPECT_FALSE(left_out(9) || left_out(14));
  EXPECT_EQ(g_calls, 1u);
  hak_region_cleaned(unit(10) - 5, 4 * kRegionUnits + 9);
  EXPECT_EQ(g_calls, 1u) << "known already";
}

TEST_F(Region, AShortRunIsNotWorthACall) {
  hak_region_cleaned(unit(10), 4 * kRegionUnits - 1);
  EXPECT_EQ(g_calls, 0u);
}

TEST_F(Region, ARunThatGrewIsToldOnlyWhatIsNew) {
  hak_region_cleaned(unit(10), 4 * kRegionUnits);
  hak_region_cleaned(unit(8), 7 * kRegionUnits);
  for (size_t r = 8; r < 15; r++) EXPECT_TRUE(left_out(r)) << r;
  EXPECT_EQ(g_calls, 3u);
}

TEST_F(Region, WhatIsUsedAgainIsDumped) {
  hak_region_cleaned(unit(10), 10 * kRegionUnits);
  hak_region_used(unit(12) + 30, 4);
  for (size_t r = 10; r < 20; r++) EXPECT_EQ(left_out(r), r != 12 && r != 13) << r;
  EXPECT_EQ(g_calls, 2u) << "neighbours are one call";
}

TEST_F(Region, WithoutAdviceUseCostsNothing) {
  hak_region_used(unit(10), 100);
  EXPECT_FALSE(hak_region_keep(unit(10), 100));
  EXPECT_EQ(fake_os.calls[FAKE_ADVISE], 0u);
}

TEST_F(Region, WhatTheKernelDidNotTakeBackIsTriedAgain) {
  hak_region_cleaned(unit(10), 10 * kRegionUnits);
  fake_os_refuse(FAKE_ADVISE);
  hak_region_used(unit(12), 1);
  fake_os_permit(FAKE_ADVISE);
  EXPECT_TRUE(left_out(12));
  hak_region_used(unit(12) + 1, 1);
  EXPECT_FALSE(left_out(12));
}

TEST_F(Region, AFreeHugeRegionIsLeftOutLikeAnyOther) {
  become_dense(11);
  clean(10, 4);
  hak_region_cleaned(unit(10), 4 * kRegionUnits);
  for (size_t r = 10; r < 14; r++) EXPECT_TRUE(left_out(r) && !huge(r)) << r;
}

TEST_F(Region, AdviceGoesWithTheMapping) {
  hak_region_cleaned(unit(10), 10 * kRegionUnits);
  hak_region_gone(unit(10), 10 * kRegionUnits);
  const size_t calls = g_calls;
  hak_region_used(unit(10), 10 * kRegionUnits);
  EXPECT_EQ(g_calls, calls) << "there is nothing to take back";
}

/* ---- bounds ---- */

TEST_F(Region, RegionsBeyondTheTable) {
  const uint32_t beyond = (1u << 14) * kRegionUnits;
  hak_region_cleaned(beyond, 1000);
  hak_region_used(beyond, 1000);
  hak_region_gone(beyond, 1000);
  EXPECT_FALSE(hak_region_keep(beyond, 1000));
  EXPECT_FALSE(hak_region_is_huge(beyond));
  EXPECT_FALSE(hak_region_open(beyond, false));
  hak_region_close(beyond);
  EXPECT_EQ(g_calls, 0u);
}

TEST_F(Region, MappingsAreBounded) {
  hak_region_grown(0, kUnits);
  for (size_t r = 2; r < kRegions; r += 2) EXPECT_EQ(hak_region_open(unit(r), false), r <= 512) << r;
  size_t advised = 0;
  for (size_t r = 0; r < kRegions; r++) advised += huge(r);
  EXPECT_EQ(advised, 256u);
  EXPECT_EQ(mappings(), 513u);
}

TEST_F(Region, WithoutRoomMoreIsTakenBackInsteadOfSplit) {
  hak_region_grown(0, kUnits);
  slabs(2, 0), slabs(3, 0), slabs(4, 0), slabs(5, 0);
  for (size_t r = 2; r <= 5; r++) hak_region_open(unit(r), false);
  for (size_t r = 7; r < kRegions; r += 2) hak_region_open(unit(r), false);
  ASSERT_EQ(mappings(), 513u);
  mark(unit(3), 4, HAK_UNIT_DIRTY);
  EXPECT_FALSE(hak_region_keep(unit(3), 4));
  EXPECT_TRUE(huge(2));
  EXPECT_FALSE(huge(3) || huge(4) || huge(5));
  EXPECT_EQ(mappings(), 513u);
}

TEST_F(Region, AVanishedHolderLeavesTheCountToBeMadeAgain) {
  become_dense(5);
  hak_inside_region_damage();
  hak_inside_vanish(hak_inside_region_lock());
  hak_region_open(unit(6), false);
  EXPECT_TRUE(hak_inside_region_counts());
  EXPECT_TRUE(huge(5) && huge(6));
}

/* ---- advice of the program ---- */

void advise_by_program(uint32_t first, uint32_t units) {
  for (uint32_t u = first; u < first + units; u++) g_flags[u] = Flags{true, false, false};
}

TEST_F(Region, AFreedRunLosesTheProgramsAdvice) {
  hak_region_grown(0, kUnits);
  const Flags plain = g_flags[unit(5)];
  for (const uint32_t first : {unit(5), unit(5) + 7}) {
    for (const uint32_t units : {kRegionUnits, 2 * kRegionUnits, 100u}) {
      advise_by_program(first, units);
      const size_t calls = g_calls;
      hak_region_freed(first, units);
      EXPECT_EQ(g_calls, calls + 1);
      for (uint32_t u = first - 1; u <= first + units; u++) ASSERT_EQ(g_flags[u], plain) << u - first;
    }
  }
  EXPECT_EQ(mappings(), 1u);
}

TEST_F(Region, ARunWithoutRoomForAHugePageIsNotAskedFor) {
  hak_region_freed(unit(5), kRegionUnits - 1);
  EXPECT_EQ(g_calls, 0u);
}

TEST_F(Region, RegionsThatAreHugeForOthersStayAtBothEnds) {
  hak_region_grown(0, kUnits);
  become_dense(5);
  become_dense(8);
  const uint32_t first = unit(6) - 2, end = unit(8) + 2;
  advise_by_program(first, end - first);
  hak_region_freed(first, end - first);
  EXPECT_TRUE(huge(5));
  EXPECT_FALSE(huge(6) || huge(7));
  EXPECT_TRUE(huge(8));
}

TEST_F(Region, WithHugePagesOnTheyAreTheAdviceRestored) {
  hak_store(&g_settings.huge_pages, HAK_HUGE_ON);
  hak_region_freed(unit(5), 2 * kRegionUnits);
  EXPECT_TRUE(huge(5) && huge(6));
  fake_os.huge_bytes = 32 << 20;
  hak_region_freed(unit(8), 2 * kRegionUnits);
  EXPECT_FALSE(huge(8));
}

/* Everything at random: advice in use is never wrong, and the bound holds. */
TEST_F(Region, AnyOrderOfCalls) {
  std::mt19937 random(7);
  hak_region_grown(0, kUnits);
  std::vector<bool> used(kRegions, false);
  for (unsigned i = 0; i < 4000 * scale(); i++) {
    const size_t r = 1 + random() % (kRegions - 1), n = 1 + random() % std::min<size_t>(24, kRegions - r);
    for (size_t k = r; k < r + n; k++) used[k] = random() % 2 == 0;
    if (used[r]) {
      hak_region_used(unit(r), n * kRegionUnits);
      for (size_t k = r; k < r + n; k++) used[k] = true, slabs(k, random() % 3);
      for (size_t k = r; k < r + n; k++) ASSERT_FALSE(left_out(k));
    } else {
      hak_region_keep(unit(r), n * kRegionUnits);
      for (size_t k = r; k < r + n; k++) used[k] = false;
      clean(r, n);
      hak_region_cleaned(unit(r), n * kRegionUnits);
    }
    const size_t o = 1 + random() % (kRegions - 1);
    if (!used[o]) hak_region_open(unit(o), random() % 2 == 0);
    if (!used[o] && random() % 4 == 0) hak_region_close(unit(o));
    ASSERT_LE(mappings(), 513u);
    ASSERT_TRUE(hak_inside_region_counts());
  }
  for (size_t k = 1; k < kRegions; k++) ASSERT_FALSE(used[k] && left_out(k)) << k;
}

}  // namespace
