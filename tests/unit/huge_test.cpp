/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* huge_test.cpp: regions fetched as huge pages, by what the fake clock says that they cost.
 *
 * what      retain/huge.c, runs/runs_open.c and region.c over the fake kernel (fake_os.h): each first touch takes look_ns.
 * owner     Each case runs in a separate process.
 * failure   A huge page where none pays, or bytes that are counted wrongly.
 * not here  The advice of regions: region_test.cpp. Real costs: tests/process/huge_pages.c.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "retain/footprint.h"
#include "retain/huge.h"
#include "retain/rent.h"
#include "runs/pages.h"
#include "runs/region.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/counters.h"
#include "tables/hold.h"
#include "tables/settings.h"
}

namespace {

constexpr size_t kMiB = size_t{1} << 20, kRegionUnits = HAK_REGION_UNITS;
/* For a region of 512 pages at 1 us each. */
constexpr uint64_t kCheap = 200000, kDear = 2000000, kRefused = 1000;

uint64_t counted(hak_counter_id id) { return hak_counter_value(id); }
uint64_t pages() { return counted(HAK_COUNTER_huge_pages); }
uint64_t dear() { return counted(HAK_COUNTER_huge_dear); }
uint64_t refused() { return counted(HAK_COUNTER_huge_refused); }

class Huge : public testing::Test {
 protected:
  void SetUp() override {
    fake_os_reset();
    fake_os.huge_bytes = 2 * kMiB;
    fake_os.page_bytes = HAK_PAGE_BYTES; /* costs are told for 512 pages */
    fake_os.look_ns = kCheap;
    hak_store(&g_settings.huge_pages, HAK_HUGE_AUTO);
    hak_store(&g_settings.price, 400000);
    hak_store(&g_settings.cost_page, 1000);
    hak_store(&g_rent.now_ms, fake_os.now_ms);
  }
  void TearDown() override {
    EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
    fake_os.page_bytes = 0;
  }

  /* A slab of a unit. If it begins a region, with the region's first touch; *huge: that fetched a huge page. */
  static uint32_t take_one(bool *clean, bool *huge = nullptr) {
    hak_opened opened = {};
    const uint32_t u = hak_runs_get(1, 1, HAK_UNIT_SLAB, 1, clean, &opened);
    const bool fetched = opened.units != 0 && hak_runs_fetch_opened(&opened);
    if (huge != nullptr) *huge = fetched;
    return u;
  }

  /* Slabs of a unit, with their first touches. Returns the last. */
  static uint32_t take(size_t slabs) {
    uint32_t last = HAK_NO_UNIT;
    for (size_t i = 0; i < slabs; i++) {
      bool clean = false;
      last = take_one(&clean);
    }
    return last;
  }

  static uint64_t dirty_bytes() {
    uint64_t dirty, clean;
    hak_runs_bytes(&dirty, &clean);
    return dirty;
  }

  static void pass(uint64_t ms) {
    fake_os.now_ms += ms;
    hak_store(&g_rent.now_ms, fake_os.now_ms);
  }
};

TEST_F(Huge, ASmallProgramHasNone) {
  take(15 * kMiB / HAK_UNIT_BYTES);
  EXPECT_EQ(pages() + refused(), 0u);
}

TEST_F(Huge, WhereTheyAreCheapAGrowingProgramHasThem) {
  take(64 * kMiB / HAK_UNIT_BYTES);
  EXPECT_GE(pages(), 22u);
  EXPECT_LE(pages(), 24u);
  EXPECT_EQ(dear() + refused(), 0u);
}

/* A slab without pages counts as empty, and goes back as clean. */
TEST_F(Huge, TheFirstTouchSaysThatTheSlabHasItsPages) {
  take(16 * kMiB / HAK_UNIT_BYTES);
  bool clean = true, huge = false;
  while (pages() == 0) clean = true, take_one(&clean, &huge);
  EXPECT_TRUE(huge);
}

TEST_F(Huge, TheRestServesTheNextSlabsAndStaysForItsTime) {
  take(16 * kMiB / HAK_UNIT_BYTES);
  while (pages() == 0) take(1);
  EXPECT_EQ(dirty_bytes(), (kRegionUnits - 1) * HAK_UNIT_BYTES);
  bool clean = false;
  hak_runs_get(3, 1, HAK_UNIT_LARGE, 0, &clean, nullptr);
  EXPECT_FALSE(clean);
  EXPECT_EQ(hak_runs_age(0), 0u) << "it was fetched a moment ago";
  pass(hak_rent_piece_ms() + 1);
  EXPECT_EQ(hak_runs_age(0), (kRegionUnits - 4) * HAK_UNIT_BYTES);
  EXPECT_EQ(hak_runs_age(0), 0u);
}

/* A program whose regions are huge beyond the first 16 MiB, and all its slabs are in use. */
class HugePart : public Huge {
 protected:
  void SetUp() override {
    Huge::SetUp();
    const uint32_t last = take(64 * kMiB / HAK_UNIT_BYTES);
    region_ = (last / kRegionUnits - 4) * kRegionUnits;
    ASSERT_TRUE(hak_region_is_huge(region_));
    pass(hak_rent_piece_ms() + 1);
    while (hak_runs_age(0) != 0) {
    }
    ASSERT_EQ(dirty_bytes(), 0u);
  }

  static void free_units(uint32_t first, size_t n) {
    for (uint32_t u = first; u < first + n; u++) hak_runs_put(u);
    pass(hak_rent_piece_ms() + 1);
  }

  static constexpr uint64_t kMuch = 4 * kMiB;
  uint32_t region_ = 0;
};

TEST_F(HugePart, AWholeGoesByOneCallAndWithoutASplit) {
  const uint64_t calls = fake_os.calls[FAKE_PURGE];
  free_units(region_, kRegionUnits);
  EXPECT_EQ(hak_runs_age(kMuch), 2 * kMiB);
  EXPECT_EQ(fake_os.calls[FAKE_PURGE], calls + 1);
  EXPECT_TRUE(hak_region_is_huge(region_));
}

TEST_F(HugePart, APartStaysWithinTheBytesThatMay) {
  free_units(region_ + 3, 8);
  EXPECT_EQ(hak_runs_age(kMuch), 0u);
  EXPECT_TRUE(hak_region_is_huge(region_));
  EXPECT_EQ(hak_runs_age(0), 8 * HAK_UNIT_BYTES);
  EXPECT_FALSE(hak_region_is_huge(region_)) << "split first: the kernel keeps a huge page of which a part went";
}

TEST_F(HugePart, PartsGoBeyondTheBytesThatMayDownToTheirHalf) {
  free_units(region_ + 3, 8);
  EXPECT_EQ(hak_runs_age(4 * HAK_UNIT_BYTES), 6 * HAK_UNIT_BYTES);
  EXPECT_EQ(dirty_bytes(), 2 * HAK_UNIT_BYTES);
}

TEST_F(HugePart, WholesAndSmallPagesGoBeforeOlderParts) {
  free_units(region_ + 30, 2 + kRegionUnits + 5);
  free_units(40, 3);
  ASSERT_FALSE(hak_region_is_huge(40));
  EXPECT_EQ(hak_runs_age(kMuch), 2 * kMiB + 3 * HAK_UNIT_BYTES);
  EXPECT_EQ(dirty_bytes(), 7 * HAK_UNIT_BYTES);
  EXPECT_TRUE(hak_region_is_huge(region_) && hak_region_is_huge(region_ + 2 * kRegionUnits));
}

/* The rest of the excess is a part of a huge page that is free as a whole. */
TEST_F(HugePart, AFreeHugePageIsNotTorn) {
  free_units(region_, kRegionUnits);
  EXPECT_EQ(hak_runs_purge(kMiB), 2 * kMiB);
  EXPECT_TRUE(hak_region_is_huge(region_));
}

TEST_F(HugePart, ExceptToKeepWhatTheProgramSaidShouldStay) {
  free_units(region_, kRegionUnits);
  hak_store(&g_hold_floor, kMiB);
  EXPECT_EQ(hak_runs_purge(kMiB), kMiB);
  hak_store(&g_hold_floor, 0);
}

/* Stretches of pages are no runs: they go as if nothing waited. */
TEST_F(HugePart, StretchesGoWhilePartsWait) {
  bool zero;
  uint64_t origin;
  void *block[20];
  for (void *&p : block) p = hak_pages_get(20, 1, 0, &zero);
  for (int i = 1; i < 19; i += 2) hak_pages_put(block[i], hak_pages_class(block[i]), &origin);
  ASSERT_GE(dirty_bytes(), 9 * 20 * HAK_PAGE_BYTES);
  free_units(region_ + 3, 8);
  while (hak_runs_age(kMuch) != 0) {
  }
  EXPECT_EQ(dirty_bytes(), 8 * HAK_UNIT_BYTES);
}

TEST_F(HugePart, AWalkKeepsWithinTheBounds) {
  std::mt19937 random(29);
  std::vector<uint32_t> live;
  for (size_t i = 0; i < 32 * kMiB / HAK_UNIT_BYTES; i++) live.push_back(take(1));
  for (int step = 0; step < 20000; step++) {
    const bool falls = step / 1000 % 2;
    if (!live.empty() && random() % 4 < (falls ? 3 : 1)) {
      const size_t i = random() % 8 == 0 ? random() % live.size() : live.size() - 1;
      hak_runs_put(live[i]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      live.push_back(take(1));
    }
    if (random() % 16 == 0) pass(random() % 200);
    if (random() % 8 != 0) continue;
    const uint64_t torn = random() % 4 == 0 ? 0 : kMuch;
    while (hak_runs_age(torn) != 0) {
    }
    ASSERT_LE(dirty_bytes(), hak_max(hak_inside_runs_keep_limit(), hak_os_huge_bytes()) + torn);
    ASSERT_STREQ(hak_inside_span_wrong(), nullptr);
  }
}

TEST_F(Huge, TwoDearOnesBeginAPause) {
  fake_os.look_ns = kDear;
  take(64 * kMiB / HAK_UNIT_BYTES);
  EXPECT_EQ(dear(), 2u);
  pass(1001);
  take(16 * kMiB / HAK_UNIT_BYTES);
  EXPECT_EQ(dear(), 3u) << "after a pause one is enough";
  fake_os.look_ns = kCheap;
  pass(1001);
  take(16 * kMiB / HAK_UNIT_BYTES);
  EXPECT_GE(pages(), 9u) << "and a cheap one ends it";
}

/* Small pages for a region cost 1.54 ms. Each huge one counts as four times as much at most, as it may have been
 * interrupted: a loss of 4.6 ms. */
TEST_F(Huge, APauseIsAsLongAsTheLossOfEightRegionsAtMost) {
  fake_os.look_ns = 98 * kDear / 2;
  hak_store(&g_settings.cost_page, 3000);
  take(64 * kMiB / HAK_UNIT_BYTES);
  unsigned n = 2;
  for (const uint64_t ms : {1800, 2400, 2400, 2400}) {
    EXPECT_EQ(dear(), n++);
    pass(ms - 20);
    take(16 * kMiB / HAK_UNIT_BYTES);
    EXPECT_EQ(dear(), n - 1) << "200 times the loss";
    pass(40);
    take(16 * kMiB / HAK_UNIT_BYTES);
  }
  EXPECT_EQ(dear(), n);
}

/* Cheap ones save 0.31 ms each and 4.1 ms at most, dear ones lose 1.49 ms. */
TEST_F(Huge, CheapOnesPayForDearOnes) {
  take(128 * kMiB / HAK_UNIT_BYTES);
  const uint64_t cheap = pages();
  EXPECT_GE(cheap, 50u);
  fake_os.look_ns = kDear;
  take(128 * kMiB / HAK_UNIT_BYTES);
  EXPECT_EQ(dear(), 4u) << "two are paid, two begin a pause";
  EXPECT_EQ(pages(), cheap + 4);
}

TEST_F(Huge, WhereMostAreCheapTheyGoOn) {
  take(32 * kMiB / HAK_UNIT_BYTES);
  for (unsigned n = 1; n <= 10; n++) {
    fake_os.look_ns = kDear;
    for (size_t slabs = 0; dear() < n && slabs < 4 * kRegionUnits; slabs++) take(1);
    EXPECT_EQ(dear(), n);
    fake_os.look_ns = kCheap;
    take(12 * kMiB / HAK_UNIT_BYTES);
  }
}

/* Two choices, huge or small, for regions that are filled a millisecond apart. */
struct Chosen {
  double huge;      /* share of the regions */
  double regret_ms; /* beside the better choice for all of them */
  std::string curve; /* of each kStep regions "huge ones, regret since the begin [us];", read by lab/huge_curves.py */
};

constexpr unsigned kStep = 100;

/* Of kStep regions: how many are huge. */
unsigned choose_step() {
  static char page[4096];
  unsigned huge = 0;
  for (unsigned n = 0; n < kStep; n++) {
    fake_os.now_ms++;
    if (!hak_huge_pays(false)) continue;
    hak_huge_touch(page, false);
    huge++;
  }
  return huge;
}

Chosen choose(uint64_t huge_ns, unsigned regions) {
  constexpr uint64_t kSmallNs = 512000;
  const uint64_t better = std::min(huge_ns, kSmallNs);
  unsigned huge = 0;
  uint64_t regret = 0;
  Chosen chosen = {0, 0, ""};
  fake_os.look_ns = huge_ns;
  for (unsigned n = 0; n < regions; n += kStep) {
    const unsigned more = choose_step();
    huge += more;
    regret += more * huge_ns + (kStep - more) * kSmallNs - kStep * better;
    chosen.curve += std::to_string(more) + "," + std::to_string(regret / 1000) + ";";
  }
  chosen.huge = double(huge) / regions;
  chosen.regret_ms = double(regret) / 1e6;
  return chosen;
}

/* What a learner of two arms is asked for, here by the account: the better one in four of five regions, also after the
 * costs changed sides, and a regret of two trials and 1 % of the time. */
TEST_F(Huge, TheBetterChoiceHasFourOfFiveRegionsAlsoWhenCostsChangeSides) {
  constexpr unsigned kRegions = 10000;
  constexpr double kMostRegretMs = 2 * double(kDear) / 1e6 + 0.01 * kRegions;
  take(17 * kMiB / HAK_UNIT_BYTES);
  for (unsigned turn = 0; turn < 3; turn++) {
    const Chosen cheap = choose(kCheap, kRegions), dear = choose(kDear, kRegions);
    RecordProperty("cheap_" + std::to_string(turn), cheap.curve);
    RecordProperty("dear_" + std::to_string(turn), dear.curve);
    EXPECT_GE(cheap.huge, 0.8) << turn;
    EXPECT_LE(dear.huge, 0.2) << turn;
    EXPECT_LE(std::max(cheap.regret_ms, dear.regret_ms), kMostRegretMs) << turn;
    if (turn == 0) {
      EXPECT_EQ(cheap.regret_ms, 0);
    }
  }
}

TEST_F(Huge, OneDearOneMayBeAnInterruption) {
  take(16 * kMiB / HAK_UNIT_BYTES);
  fake_os.look_ns = kDear;
  while (dear() == 0) take(1);
  fake_os.look_ns = kCheap;
  take(32 * kMiB / HAK_UNIT_BYTES);
  EXPECT_GE(pages(), 14u);
  EXPECT_EQ(dear(), 1u);
}

TEST_F(Huge, ARefusedRegionHasSmallPages) {
  fake_os.look_ns = kRefused;
  take(64 * kMiB / HAK_UNIT_BYTES);
  EXPECT_EQ(refused(), 2u);
  EXPECT_EQ(pages(), 0u);
  EXPECT_EQ(dirty_bytes(), 0u) << "nothing was fetched ahead";
}

/* Old kernels keep the page table of a region that had small pages. */
TEST_F(Huge, WhereTablesStayOnlyNewRegionsAreHuge) {
  fake_os.look_ns = kRefused;
  take(32 * kMiB / HAK_UNIT_BYTES);
  const uint32_t end = static_cast<uint32_t>(32 * kMiB / HAK_UNIT_BYTES);
  for (uint32_t u = 2 * kRegionUnits; u < end - 2 * kRegionUnits; u++) hak_runs_put(u);
  hak_runs_purge(0);
  pass(5000);
  const uint64_t before = refused();
  take(6 * kRegionUnits);
  EXPECT_EQ(refused(), before + 2) << "two such regions tell";
}

TEST_F(Huge, NoneWhereMemoryIsShortDearOrHeld) {
  take(17 * kMiB / HAK_UNIT_BYTES);
  take(kRegionUnits); /* the rest of the last region */
  const uint64_t first = pages();
  hak_store(&g_settings.price, 3000000);
  take(2 * kRegionUnits);
  EXPECT_EQ(pages(), first) << "lean";
  hak_store(&g_settings.price, 400000);
  hak_store(&g_rent.pressure, 1);
  take(2 * kRegionUnits);
  EXPECT_EQ(pages(), first) << "pressure";
  hak_store(&g_rent.pressure, 0);
  hak_store(&g_hold_floor, UINT64_MAX);
  take(2 * kRegionUnits);
  EXPECT_EQ(pages(), first) << "held";
  hak_store(&g_hold_floor, 0);
  hak_store(&g_settings.huge_pages, HAK_HUGE_OFF);
  take(2 * kRegionUnits);
  EXPECT_EQ(pages(), first) << "off";
  hak_store(&g_settings.huge_pages, HAK_HUGE_AUTO);
  take(2 * kRegionUnits);
  EXPECT_GT(pages(), first) << "and with all of it as usual there are";
}

TEST_F(Huge, LeanFetchesThemWhereEarlierRunsGrew) {
  hak_store(&g_settings.price, 3000000);
  hak_store(&g_footprint.foreseen, 14 * kMiB);
  take(17 * kMiB / HAK_UNIT_BYTES);
  EXPECT_GT(pages(), 0u);
}

TEST_F(Huge, ARefusedAdviceChangesNothing) {
  fake_os_refuse(FAKE_ADVISE);
  take(64 * kMiB / HAK_UNIT_BYTES);
  EXPECT_EQ(pages() + refused(), 0u);
  EXPECT_EQ(dirty_bytes(), 0u);
}

/* The rest is attached before the slab is handed out: a fill that needs a second slab opens no second region. */
TEST_F(Huge, TheNextSlabComesFromTheRest) {
  take(16 * kMiB / HAK_UNIT_BYTES);
  while (pages() == 0) take(1);
  const uint64_t before = pages();
  const uint32_t u = take(1);
  EXPECT_EQ(take(1), u + 1);
  EXPECT_EQ(pages(), before);
}

TEST_F(Huge, AForkWhileRegionsAreOpened) {
  take(16 * kMiB / HAK_UNIT_BYTES);
  *hak_inside_span_opening() = 2; /* by threads that the child does not have */
  const uint64_t before = pages();
  take(4 * kRegionUnits);
  EXPECT_EQ(pages(), before);
  hak_runs_forget_detached();
  take(4 * kRegionUnits);
  EXPECT_GT(pages(), before);
}

}  // namespace
