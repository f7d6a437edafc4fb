/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_cache_test.cpp: the cache of freed big blocks: pieces, amount, and moves of pages.
 *
 * what      blocks/big.c over the fake kernel (fake_os.h), whose clock advances only by calls of a test.
 * owner     Each case runs in a separate process.
 * failure   A bound that does not hold, a block that is lost, or an inconsistent table.
 * not here  The amount that the trigger allows: entry_test.cpp. The table, claims, realloc: big_test.cpp.
 */
#include "big_case.h"

extern "C" {
#include "tables/site.h"
}

#include <functional>

namespace {

/* ---- the cache ---- */

TEST_F(Big, AKeptBlockIsUsedAgainAndNotSaidToBeZero) {
  char *p = alloc(2 * kMiB);
  const uint64_t hits = hak_counter_value(HAK_COUNTER_big_hits);
  hak_big_free(p);
  EXPECT_EQ(kept(), 2 * kMiB);
  bool zero = true;
  EXPECT_EQ(alloc(2 * kMiB, 1, &zero), p);
  EXPECT_FALSE(zero);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(live(), 2 * kMiB);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_big_hits), hits + 1);
}

/* Blocks cut in sequence from one piece, with live blocks between, so that freed blocks are not joined. */
std::vector<char *> apart(const std::vector<size_t> &bytes) {
  std::vector<char *> result;
  size_t sum = 0;
  for (const size_t n : bytes) sum += n + page();
  hak_big_free(alloc(sum + kMiB));
  for (const size_t n : bytes) {
    result.push_back(alloc(n));
    alloc(page());
  }
  return result;
}

/* Slack is shorter than 64 KiB, and these cases' is up to 15 pages. */
bool pages_are_too_long() { return page() > 4096; }

TEST_F(Big, WhatIsLeftOfAPieceStays) {
  if (pages_are_too_long()) GTEST_SKIP();
  g_settings.price = 0;
  char *p = alloc(9 * kMiB);
  hak_big_free(p);
  EXPECT_EQ(alloc(5 * kMiB), p);
  EXPECT_EQ(hak_big_bytes(p), 5 * kMiB);
  EXPECT_EQ(kept(), 4 * kMiB);
  EXPECT_EQ(alloc(4 * kMiB - page()), p + 5 * kMiB);
  EXPECT_EQ(hak_inside_big_kept(), 0u) << "a page by itself would be good for nothing";
  EXPECT_EQ(hak_big_bytes(p + 5 * kMiB), 4 * kMiB - page());
  EXPECT_EQ(kept(), page()) << "the block's slack";
}

/* ---- slack ---- */

/* A block of 4 MiB with slack. Nothing else is cached before. From here on 8 MiB stay. */
char *with_slack(size_t pages) {
  hak_store(&g_hold_floor, 8 * kMiB);
  const uint64_t live_before = live(), kept_before = kept();
  char *p = alloc(4 * kMiB + pages * page());
  hak_big_free(p);
  EXPECT_EQ(alloc(4 * kMiB), p);
  EXPECT_EQ(hak_big_bytes(p), 4 * kMiB);
  EXPECT_EQ(live() - live_before, 4 * kMiB);
  EXPECT_EQ(kept() - kept_before, pages * page());
  EXPECT_EQ(g_footprint.big, live() + kept());
  return p;
}

TEST_F(Big, SlackComesBackWithTheBlock) {
  if (pages_are_too_long()) GTEST_SKIP();
  char *p = with_slack(15);
  EXPECT_EQ(hak_big_judge(p + 4 * kMiB), HAK_ERROR_interior);
  EXPECT_EQ(hak_big_free(p), 4 * kMiB + 15 * page());
  EXPECT_EQ(hak_inside_big_kept(), 1u);
  EXPECT_EQ(alloc(4 * kMiB + 15 * page()), p);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Big, ResizeUsesSlackWithoutACall) {
  if (pages_are_too_long()) GTEST_SKIP();
  char *p = with_slack(15);
  fake_os_refuse(FAKE_REMAP);
  fake_os_refuse(FAKE_MAP);
  EXPECT_EQ(hak_big_resize(p, 4 * kMiB + 3 * page()), p);
  EXPECT_EQ(hak_big_bytes(p), 4 * kMiB + 3 * page());
  EXPECT_EQ(kept(), 12 * page());
  EXPECT_EQ(hak_big_resize(p, 4 * kMiB + 15 * page()), p);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(hak_big_resize(p, 4 * kMiB + 16 * page()), nullptr);
  EXPECT_EQ(hak_big_bytes(p), 4 * kMiB + 15 * page());
  EXPECT_EQ(fake_os.calls[FAKE_UNMAP], 0u);
}

TEST_F(Big, ResizeBeyondSlackTakesIt) {
  if (pages_are_too_long()) GTEST_SKIP();
  char *p = with_slack(9);
  fake_os.remap_moves = true;
  p = static_cast<char *>(hak_big_resize(p, 9 * kMiB));
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(hak_big_bytes(p), 9 * kMiB);
  EXPECT_EQ(live(), 9 * kMiB);
  EXPECT_EQ(kept(), 0u);
  p = with_slack(9);
  EXPECT_EQ(hak_big_resize(p, 3 * kMiB), p);
  EXPECT_EQ(kept(), kMiB + 9 * page()) << "all of it behind the block";
  EXPECT_EQ(hak_big_shed(p, 3 * kMiB), nullptr);
}

TEST_F(Big, SlackGoesWithTheBlocksMemory) {
  if (pages_are_too_long()) GTEST_SKIP();
  char *p = with_slack(9);
  const uint64_t before = fake_os.mapped_bytes;
  EXPECT_EQ(hak_big_shed(p, kMiB), p + kMiB);
  EXPECT_EQ(hak_big_shed(p + kMiB, 3 * kMiB), nullptr);
  EXPECT_EQ(before - fake_os.mapped_bytes, 4 * kMiB + 9 * page());
  EXPECT_EQ(live() + kept(), 0u);
}

TEST_F(Big, SlackIsReleasedAfterThePieces) {
  if (pages_are_too_long()) GTEST_SKIP();
  g_settings.price = 0;
  std::vector<char *> all;
  for (size_t pages = 1; pages < 16; pages++) all.push_back(with_slack(pages)), alloc(4 * kMiB);
  hak_big_free(alloc(2 * kMiB));
  const size_t slack = 120 * page();
  EXPECT_EQ(kept(), 2 * kMiB + slack);
  EXPECT_EQ(hak_big_trim(slack), 2 * kMiB);
  EXPECT_EQ(hak_big_trim(0), slack);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(hak_big_trim(0), 0u);
  for (char *p : all) EXPECT_EQ(hak_big_bytes(p), 4 * kMiB);
  for (char *p : all) EXPECT_EQ(hak_big_free(p), 4 * kMiB);
}

/* The usable size is the request in whole pages, whatever piece the block came from. */
TEST_F(Big, UsableIsWhatWasAsked) {
  std::mt19937 random(3);
  char *slot[16] = {};
  for (int i = 0; i < 5000; i++) {
    fake_os.now_ms += random() % 2;
    const size_t n = kMiB + random() % (8 * kMiB), whole = (n + page() - 1) / page() * page();
    const size_t align = random() % 4 == 0 ? page() << random() % 10 : 1;
    char *&p = slot[random() % 16];
    if (p != nullptr && random() % 4 == 0) {
      if (char *q = static_cast<char *>(hak_big_resize(p, n))) p = q;
      else continue;
    } else {
      if (p != nullptr) hak_big_free(p);
      p = alloc(n, align);
    }
    ASSERT_EQ(hak_big_bytes(p), whole) << "step " << i;
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "step " << i;
  }
}

TEST_F(Big, NeighboursAreJoined) {
  g_settings.price = 0;
  char *p = alloc(9 * kMiB);
  hak_big_free(p);
  char *part[] = {alloc(3 * kMiB), alloc(3 * kMiB), alloc(3 * kMiB)};
  for (int i : {0, 2, 1}) EXPECT_TRUE(hak_big_free(part[i]));
  EXPECT_EQ(hak_inside_big_kept(), 1u);
  EXPECT_EQ(alloc(9 * kMiB), p);
}

TEST_F(Big, TheBestFitIsTaken) {
  g_settings.price = 0;
  const auto p = apart({1050 * page(), 1030 * page(), 1040 * page(), 1020 * page()});
  hak_big_trim(0);
  for (char *q : p) hak_big_free(q);
  EXPECT_EQ(alloc(1025 * page()), p[1]);
  EXPECT_EQ(alloc(1025 * page()), p[2]);
  EXPECT_EQ(alloc(1020 * page()), p[3]);
  EXPECT_EQ(alloc(1020 * page()), p[0]);
}

TEST_F(Big, APieceIsCutWhereItIsAligned) {
  g_settings.price = 0;
  char *p = alloc(9 * kMiB, 4 * kMiB) + page();
  hak_big_free(p - page());
  alloc(page() * 20);
  char *q = alloc(2 * kMiB, 4 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(q) % (4 * kMiB), 0u);
  EXPECT_GE(q, p);
  EXPECT_LT(q, p + 9 * kMiB) << "inside it";
  EXPECT_EQ(hak_inside_big_kept(), 2u) << "in front of it and behind it";
}

TEST_F(Big, TheNumberOfPiecesIsBounded) {
  g_settings.price = 0;
  for (const uint64_t bound : {4u, 0u, 64u, 1u}) {
    g_settings.big_cache_blocks = 128;
    const auto p = apart(std::vector<size_t>(70, kMiB));
    hak_big_trim(0);
    g_settings.big_cache_blocks = bound;
    for (char *q : p) {
      fake_os.now_ms++;
      hak_big_free(q);
    }
    EXPECT_EQ(hak_inside_big_kept(), bound);
    EXPECT_EQ(kept(), bound * kMiB);
    for (size_t i = 0; i < p.size(); i++) {
      const bool newest = i + bound >= p.size();
      EXPECT_EQ(hak_big_judge(p[i]), newest ? HAK_ERROR_released : HAK_ERROR_foreign);
    }
    hak_big_trim(0);
  }
}

TEST_F(Big, KeptBytesAreBounded) {
  g_settings.price = 0;
  const auto p = apart(std::vector<size_t>(5, 3 * kMiB));
  g_settings.big_cache_bytes = 10 * kMiB;
  for (char *q : p) {
    hak_big_free(q);
    EXPECT_LE(kept(), 10 * kMiB);
  }
  EXPECT_EQ(kept(), 10 * kMiB);
  hak_big_free(alloc(11 * kMiB));
  EXPECT_EQ(kept(), 10 * kMiB) << "as much of it as may stay";
}

/* ---- a program's advice for huge pages ---- */

constexpr unsigned kSite = 7;

char *alloc_at(size_t n, unsigned site) {
  bool zero = false;
  return static_cast<char *>(hak_big_alloc(n, 1, site, &zero));
}

/* Calls that withdraw advice. */
uint64_t withdrawn(const std::function<void()> &act) {
  const uint64_t before = fake_os.unadvised;
  act();
  return fake_os.unadvised - before;
}

class Advice : public Big {
 protected:
  void SetUp() override {
    Big::SetUp();
    hak_site_reserve(); /* records for sites that no call made known */
    fake_os.huge_bytes = 2 * kMiB;
    g_settings.price = 0;
    g_settings.huge_pages = HAK_HUGE_AUTO;
  }
};

TEST_F(Advice, FreshMemoryHasTheAdviceOfAllMemory) {
  EXPECT_EQ(withdrawn([] { alloc_at(kMiB, kSite); }), 1u);
}

TEST_F(Advice, TheSameBlockForTheSameSiteCostsNoCall) {
  char *p = alloc_at(4 * kMiB, kSite);
  for (int i = 0; i < 10; i++) {
    EXPECT_EQ(withdrawn([&] { hak_big_free(p), alloc_at(4 * kMiB, kSite); }), 0u);
  }
}

/* Freed, the block joins the free memory behind it, and is cut off again. */
TEST_F(Advice, NorIfFreeMemoryLiesBehind) {
  char *p = alloc_at(9 * kMiB, kSite + 1);
  hak_big_free(p);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(4 * kMiB, kSite), p); }), 1u);
  for (int i = 0; i < 10; i++) {
    hak_big_free(p);
    EXPECT_EQ(withdrawn([] { alloc_at(4 * kMiB, kSite); }), 0u);
    EXPECT_EQ(hak_big_bytes(p), 4 * kMiB);
  }
  hak_big_free(p);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(3 * kMiB, kSite), p); }), 1u);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(4 * kMiB, kSite), p + 3 * kMiB); }), 0u) << "withdrawn from the whole piece";
}

TEST_F(Advice, ANewOwnerCostsACall) {
  char *p = alloc_at(8 * kMiB, kSite);
  hak_big_free(p);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(8 * kMiB, kSite + 1), p); }), 1u) << "another site";
  hak_big_free(p);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(5 * kMiB, kSite + 1), p); }), 1u) << "a part";
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(kMiB, kSite + 1), p + 5 * kMiB); }), 0u) << "the rest has none";
  hak_big_free(p + 5 * kMiB);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(2 * kMiB, kSite), p + 5 * kMiB); }), 1u) << "a block was freed there";
  hak_big_free(p + 5 * kMiB);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(3 * kMiB, 0), p + 5 * kMiB); }), 1u) << "no site is nobody's own";
}

TEST_F(Advice, PiecesWithoutRoomForAHugePageMayHaveRoomTogether) {
  char *p = alloc_at(3 * kMiB, kSite);
  EXPECT_EQ(hak_big_resize(p, 3 * kMiB / 2), p);
  char *q = alloc_at(3 * kMiB / 2, kSite);
  ASSERT_EQ(q, p + 3 * kMiB / 2);
  hak_big_free(p);
  hak_big_free(q);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(3 * kMiB, kSite + 1), p); }), 1u);
}

TEST_F(Advice, MemoryWithoutRoomForAHugePageCostsNone) {
  char *p = alloc_at(2 * kMiB - page(), kSite);
  hak_big_free(p);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(alloc_at(kMiB, kSite + 1), p); }), 0u);
}

TEST_F(Advice, AResizeIntoFreedMemoryCostsACall) {
  char *p = alloc_at(9 * kMiB, kSite);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(hak_big_resize(p, 3 * kMiB), p); }), 0u);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(hak_big_resize(p, 8 * kMiB), p); }), 1u);
  EXPECT_EQ(withdrawn([&] { EXPECT_EQ(hak_big_resize(p, 9 * kMiB), p); }), 0u) << "of 1 MiB";
}

TEST_F(Advice, MovedPagesCostACallForTheWholeBlock) {
  g_settings.price = 640000;
  static void *from;
  static size_t bytes;
  fake_os.on_advice = [](void *p, size_t n, fake_advice) { from = p, bytes = n; };
  for (size_t n = 16; n < 24; n++) {
    char *p = nullptr;
    EXPECT_EQ(withdrawn([&] { p = alloc_at(n * kMiB, kSite); }), 1u);
    EXPECT_EQ(from, p);
    EXPECT_EQ(bytes, n * kMiB);
    hak_big_free(p);
  }
  EXPECT_GT(hak_counter_value(HAK_COUNTER_big_moved), 0u);
}

TEST_F(Advice, WithHugePagesOnNoneIsWithdrawn) {
  g_settings.huge_pages = HAK_HUGE_ON;
  EXPECT_EQ(withdrawn([] { hak_big_free(alloc_at(4 * kMiB, kSite)), alloc_at(3 * kMiB, kSite); }), 0u);
}

/* ---- how much may stay ---- */

TEST_F(Big, WhatIsTakenAgainStaysUntilItsRentIsUp) {
  char *p = nullptr;
  for (int i = 0; i < 5; i++) {
    p = alloc(40 * kMiB);
    hak_big_free(p);
  }
  EXPECT_GE(kept(), 40 * kMiB);
  EXPECT_LE(kept(), 40 * kMiB + 40 * kMiB / 2) << "and a share that does not fit";
  fake_os.now_ms += hak_rent_ms(2 * kMiB) / 2;
  hak_big_trim(SIZE_MAX);
  EXPECT_GE(kept(), 40 * kMiB);
  fake_os.now_ms += hak_rent_ms(2 * kMiB);
  EXPECT_GT(hak_big_trim(SIZE_MAX), 0u);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Big, WhatWasNeverTakenAgainGoes) {
  hak_big_free(alloc(300 * kMiB));
  EXPECT_LE(kept(), 8 * kMiB) << "a program that frees and rests may not call for long";
}

TEST_F(Big, KeptMemoryAges) {
  hak_big_free(alloc(4 * kMiB));
  EXPECT_EQ(kept(), 4 * kMiB);
  fake_os.now_ms += 2 * hak_rent_piece_ms();
  EXPECT_EQ(hak_big_trim(SIZE_MAX), 4 * kMiB);
}

/* The rule itself, whatever the requests: never more than the recent peak plus the share. */
TEST_F(Big, KeptMemoryNeverRaisesThePeakByMoreThanTheSlack) {
  std::mt19937 random(11);
  char *slot[4] = {};
  uint64_t most = 0;
  for (int i = 0; i < 3000; i++) {
    fake_os.now_ms += random() % 2;
    char *&p = slot[random() % 4];
    if (p != nullptr) hak_big_free(p);
    p = alloc(kMiB + random() % (30 * kMiB));
    ASSERT_NE(p, nullptr);
    p[0] = 1;
    most = std::max(most, live());
    ASSERT_LE(live() + kept(), most + most * 28 / 100 + kMiB) << "at the balanced price, step " << i;
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "step " << i;
  }
}

TEST_F(Big, TrimKeepsWhatItMay) {
  g_settings.price = 0;
  for (char *q : blocks(6, 2 * kMiB)) hak_big_free(q);
  EXPECT_EQ(hak_big_trim(7 * kMiB), 5 * kMiB);
  EXPECT_EQ(kept(), 7 * kMiB);
  EXPECT_EQ(hak_big_trim(7 * kMiB), 0u);
  const uint64_t mapped = fake_os.mapped_bytes;
  EXPECT_EQ(hak_big_trim(0), 7 * kMiB);
  EXPECT_EQ(fake_os.mapped_bytes, mapped - 7 * kMiB);
}

/* ---- moving pages ---- */

uint64_t kernel_calls() {
  return fake_os.calls[FAKE_MAP] + fake_os.calls[FAKE_UNMAP] + fake_os.calls[FAKE_REMAP] + fake_os.calls[FAKE_MOVE];
}

/* Two slots, so that free mappings do not fit: the pages must move. */
void replace_two(int rounds, size_t align = 1) {
  std::mt19937 random(5);
  char *slot[2] = {};
  size_t bytes[2] = {};
  for (int i = 0; i < rounds; i++) {
    const unsigned k = random() % 2;
    for (size_t at = 0; slot[k] != nullptr && at < bytes[k]; at += 64 * page()) {
      ASSERT_EQ(slot[k][at], static_cast<char>(at / page() + k)) << "round " << i;
    }
    if (slot[k] != nullptr) {
      ASSERT_TRUE(hak_big_free(slot[k]));
    }
    bytes[k] = 4 * kMiB + random() % (30 * kMiB);
    bool zero = false;
    slot[k] = alloc(bytes[k], align, &zero);
    ASSERT_NE(slot[k], nullptr);
    for (size_t at = 0; zero && at < bytes[k]; at += page()) ASSERT_EQ(slot[k][at], 0) << "said to be zero";
    for (size_t at = 0; at < bytes[k]; at += page()) slot[k][at] = static_cast<char>(at / page() + k);
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "round " << i;
  }
}

TEST_F(Big, PagesMoveIntoBlocksThatNoPieceFits) {
  const uint64_t before = hak_counter_value(HAK_COUNTER_big_moved);
  replace_two(300);
  EXPECT_GT(hak_counter_value(HAK_COUNTER_big_moved), before + 5);
}

/* A block into which pages moved would have to be cleared whole. */
TEST_F(Big, NoPagesMoveIntoABlockThatIsToBeZero) {
  replace_two(50);
  const uint64_t before = hak_counter_value(HAK_COUNTER_big_moved);
  bool zero = true;
  EXPECT_NE(alloc(300 * kMiB, 1, &zero), nullptr);
  EXPECT_TRUE(zero);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_big_moved), before);
}

/* A program asks for such an alignment to have huge pages there. */
TEST_F(Big, NoPagesMoveIntoABlockAlignedForHugePages) {
  const uint64_t before = hak_counter_value(HAK_COUNTER_big_moved);
  replace_two(300, 2 * kMiB);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_big_moved), before);
}

/* Each time a little longer than the free mapping: the mapping is extended, and stays one mapping. */
TEST_F(Big, BlocksThatGrowALittleEachTimeCostACallEach) {
  for (const size_t step : {page(), 16 * page(), kMiB}) {
    for (size_t i = 0; i < 60; i++) {
      const uint64_t before = kernel_calls();
      char *p = alloc(kMiB + i * step);
      ASSERT_NE(p, nullptr);
      std::memset(p, 1, kMiB + i * step);
      hak_big_free(p);
      EXPECT_LE(kernel_calls() - before, 3u) << "step " << step << ", block " << i;
    }
    EXPECT_EQ(fake_os.refused_moves, 0u);
    hak_big_trim(0);
    EXPECT_EQ(hak_inside_big_seams(), 0u) << "nothing of ours is there";
  }
}

/* With several sizes pages come from several places: each seam is known, so that no move fails. */
TEST_F(Big, WhatMovedMovesAgainStretchByStretch) {
  replace_two(300);
  EXPECT_GT(fake_os.calls[FAKE_MOVE], 3u);
  EXPECT_EQ(fake_os.refused_moves, 0u);
}

/* As if the program gave advice for a part of the block: then the pages are dropped. */
TEST_F(Big, ASeamThatIsNotKnownCostsThePages) {
  for (int i = 0; i < 40; i++) {
    char *p = alloc(4 * kMiB + static_cast<size_t>(i) * 64 * page());
    std::memset(p, 1, hak_big_bytes(p));
    ASSERT_EQ(madvise(p + kMiB, kMiB, MADV_DONTDUMP), 0);
    hak_big_free(p);
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "round " << i;
  }
}

TEST_F(Big, SeamsAreBounded) {
  g_settings.price = 2000001;
  std::vector<char *> held;
  for (size_t i = 0; i < 2000; i++) {
    char *p = alloc(kMiB);
    p[0] = 1;
    hak_big_free(p);
    held.push_back(alloc(kMiB + page()));
  }
  EXPECT_GT(hak_inside_big_seams(), 1000u);
  EXPECT_LE(hak_inside_big_seams(), 2048u);
  for (char *p : held) hak_big_free(p);
  hak_big_trim(0);
  EXPECT_EQ(hak_inside_big_seams(), 0u);
}

TEST_F(Big, PagesThatDoNotMoveGo) {
  fake_os_refuse(FAKE_MOVE);
  replace_two(100);
  for (int i = 0; i < 100; i++) {
    fake_os_permit(FAKE_MOVE);
    fake_os_refuse_once(FAKE_MOVE, 1 + static_cast<uint64_t>(i) % 7);
    replace_two(4);
  }
  fake_os_refuse(FAKE_UNMAP);
  replace_two(30);
}

/* The kernel removed the target of a move, refused the move, and a second thread mapped there. */
TEST_F(Big, APlaceThatIsLostIsLeftAlone) {
  fake_os.tears = true;
  for (int i = 0; i < 100 && fake_os.torn == nullptr; i++) {
    fake_os_permit(FAKE_MOVE);
    replace_two(6);
    fake_os_refuse_once(FAKE_MOVE, 1);
    const uint64_t live_before = live();
    char *p = alloc(33 * kMiB + static_cast<size_t>(i) * page());
    if (fake_os.torn == nullptr) continue;
    EXPECT_EQ(p, nullptr);
    EXPECT_EQ(live(), live_before);
    EXPECT_EQ(g_footprint.claimed, 0u);
  }
  ASSERT_NE(fake_os.torn, nullptr);
  fake_os_permit(FAKE_MOVE);
  replace_two(50);
  hak_big_trim(0);
  for (size_t at = 0; at < fake_os.torn_bytes; at++) ASSERT_EQ(fake_os.torn[at], FAKE_TORN_BYTE);
}

TEST_F(Big, WhatWasToMoveStaysWhenThereIsNoMapping) {
  replace_two(50);
  const uint64_t live_before = live();
  fake_os_refuse(FAKE_MAP);
  fake_os_refuse(FAKE_REMAP);
  EXPECT_EQ(alloc(500 * kMiB), nullptr);
  EXPECT_EQ(live(), live_before);
}

/* Several threads free at once: the cache never takes more than its room. */
TEST_F(Big, TheStockNeverOverflows) {
  g_settings.price = 0;
  g_settings.big_cache_bytes = uint64_t{1} << 40;
  const auto p = apart(std::vector<size_t>(400, kMiB));
  fake_os_refuse(FAKE_UNMAP);
  fake_os_refuse(FAKE_PURGE);
  for (char *q : p) {
    EXPECT_TRUE(hak_big_free(q));
    ASSERT_LE(hak_inside_big_kept(), 129u);
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
  }
}

/* A refused request is no reason to keep memory. */
TEST_F(Big, AFailedRequestMovesNoBound) {
  const auto p = blocks(100, 2 * kMiB);
  fake_os_refuse(FAKE_MAP);
  for (int i = 0; i < 3; i++) EXPECT_EQ(alloc(size_t{1} << 46), nullptr);
  fake_os_permit(FAKE_MAP);
  for (char *q : p) hak_big_free(q);
  EXPECT_LE(kept(), HAK_WATERMARK_LEAST);
}

}  // namespace
