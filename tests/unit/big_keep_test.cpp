/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_keep_test.cpp: keep times of sites.
 *
 * what      blocks/big_watermark.c: memory freed by a site stays for the site's keep time, whatever other sites free.
 * owner     Each case runs in a separate process.
 * failure   Memory that is released before or after the keep time; a wrong sum of live bytes per keep time.
 * not here  Setting keep times: process_sites.
 */
#include "big_case.h"

extern "C" {
#include "tables/site.h"
}

namespace {

enum : uint64_t { kLong = 4096, kShort = 64 };

const void *address(uintptr_t n) { return reinterpret_cast<const void *>(n * 16); }

unsigned site(uintptr_t n, uint64_t keep_ms) {
  EXPECT_TRUE(hak_site_set_keep(address(n), hak_keep_for(keep_ms)));
  return hak_site_of(address(n), __builtin_frame_address(0));
}

char *alloc_for(unsigned site, size_t n) {
  bool zero = false;
  return static_cast<char *>(hak_big_alloc(n, 1, site, &zero));
}

uint64_t kept_after(uint64_t ms) {
  fake_os.now_ms += ms;
  hak_big_trim(SIZE_MAX);
  return kept();
}

TEST_F(Big, ArmsAreKeepTimes) {
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) {
    EXPECT_EQ(hak_keep_arm(hak_keep_of_arm(arm)), arm);
    EXPECT_EQ(hak_keep_ms(hak_keep_of_arm(arm)), hak_arm_time(arm, hak_rent_piece_ms()));
  }
}

TEST_F(Big, KeepTimesAreALadder) {
  EXPECT_EQ(hak_keep_for(0), 0u);
  EXPECT_EQ(hak_keep_ms(0), hak_rent_piece_ms());
  EXPECT_EQ(hak_keep_ms(hak_keep_for(1)), 64u);
  EXPECT_EQ(hak_keep_ms(hak_keep_for(64)), 64u);
  EXPECT_EQ(hak_keep_ms(hak_keep_for(65)), 128u);
  EXPECT_EQ(hak_keep_ms(hak_keep_for(600)), 1024u);
  EXPECT_EQ(hak_keep_for(UINT64_MAX), unsigned{HAK_KEEP_TOLD - 1});
  EXPECT_EQ(hak_keep_ms(HAK_KEEP_TOLD - 1), 1048576u);
}

/* 100 MiB, never reused before: at the price the memory would be released at once. */
TEST_F(Big, ItStaysAsLongAsItsSiteWasToldAndNoLonger) {
  hak_big_free(alloc_for(site(1, kLong), 100 * kMiB));
  EXPECT_EQ(kept(), 100 * kMiB);
  EXPECT_EQ(kept_after(kLong / 2), 100 * kMiB);
  EXPECT_EQ(kept_after(kLong / 4), 100 * kMiB);
  EXPECT_EQ(kept_after(kLong), 0u);
}

TEST_F(Big, AClockThatWasSetBackMakesNoTimeNegative) {
  const unsigned own = site(1, kLong);
  char *first = alloc_for(own, 2 * kMiB), *second = alloc_for(own, 3 * kMiB);
  hak_big_free(second);
  fake_os.now_ms -= 500;
  hak_big_free(first);
  hak_big_free(alloc_for(own, 3 * kMiB));
  EXPECT_EQ(g_site[own].gaps, 1u);
  EXPECT_EQ(g_site[own].life_ms + g_site[own].gap_ms, 0u);
}

/* A program of one thread has no background thread that checks ages. */
TEST_F(Big, WhenItsTimeIsOverItGoesWithTheNextBigBlockThatAnyoneFrees) {
  hak_big_free(alloc_for(site(1, kLong), 100 * kMiB));
  fake_os.now_ms += kLong / 2;
  hak_big_free(alloc_for(site(2, 0), 2 * kMiB));
  EXPECT_GE(kept(), 100 * kMiB);
  fake_os.now_ms += kLong;
  hak_big_free(alloc_for(site(2, 0), 2 * kMiB));
  EXPECT_LE(kept(), 8 * kMiB);
}

TEST_F(Big, AShortOneGoesBeforeThePriceSaysSo) {
  ASSERT_GT(hak_rent_piece_ms(), 2 * kShort);
  hak_big_free(alloc_for(site(1, kShort), 4 * kMiB));
  EXPECT_EQ(kept_after(1), 4 * kMiB);
  EXPECT_EQ(kept_after(kShort + kShort / 4), 0u);
}

TEST_F(Big, OthersGoMeanwhile) {
  char *told = alloc_for(site(1, kLong), 40 * kMiB), *other = alloc_for(site(2, 0), 4 * kMiB);
  hak_big_free(told);
  hak_big_free(other);
  EXPECT_EQ(kept(), 44 * kMiB);
  EXPECT_EQ(kept_after(2 * hak_rent_piece_ms()), 40 * kMiB) << "so much may stay, whoever had it";
}

/* A block counts for the keep time at its allocation. */
TEST_F(Big, ANewKeepTimeIsForNewBlocks) {
  char *old = alloc_for(site(1, 0), 30 * kMiB);
  char *young = alloc_for(site(1, kLong), 20 * kMiB);
  ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
  hak_big_free(old);
  hak_big_free(young);
  EXPECT_EQ(kept_after(2 * hak_rent_piece_ms()), 20 * kMiB);
  EXPECT_EQ(kept_after(2 * kLong), 0u);
}

TEST_F(Big, ResizedBlocksStayTheirSites) {
  char *p = alloc_for(site(1, kLong), 30 * kMiB);
  p = static_cast<char *>(hak_big_resize(p, 50 * kMiB));
  p = static_cast<char *>(hak_big_resize(p, 10 * kMiB));
  ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
  EXPECT_EQ(kept(), 40 * kMiB) << "what was cut off";
  hak_big_free(p);
  EXPECT_EQ(kept_after(kLong / 2), 50 * kMiB);
}

TEST_F(Big, APeriodLongerThanTheRentsTimeIsKept) {
  const unsigned s = site(1, kLong);
  std::vector<char *> held;
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < 20; i++) held.push_back(alloc_for(s, 4 * kMiB));
    for (char *p : held) hak_big_free(p);
    held.clear();
    EXPECT_EQ(kept_after(kLong / 2), 80 * kMiB);
  }
  EXPECT_EQ(g_site[s].hits, 80u);
}

TEST_F(Big, TheBoundsHoldWhateverWasTold) {
  g_settings.big_cache_bytes = 30 * kMiB;
  const unsigned s = site(1, kLong);
  for (char *p : {alloc_for(s, 20 * kMiB), alloc_for(s, 20 * kMiB), alloc_for(s, 20 * kMiB)}) hak_big_free(p);
  EXPECT_LE(kept(), 30 * kMiB);
  g_rent.pressure = 1;
  EXPECT_EQ(kept_after(1), 0u) << "memory is short";
}

TEST_F(Big, ACensusCountsThemAnew) {
  char *p = alloc_for(site(1, kLong), 20 * kMiB);
  hak_inside_big_damage();
  hak_inside_vanish(hak_inside_big_lock());
  EXPECT_EQ(live(), 20 * kMiB);
  EXPECT_STREQ(hak_inside_big_wrong(), nullptr);
  hak_big_free(p);
  EXPECT_EQ(kept_after(kLong / 2), 20 * kMiB);
}

}  // namespace
