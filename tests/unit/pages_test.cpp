/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages_test.cpp: blocks of pages and stretches of free pages.
 *
 * what      runs/pages.c and runs/stretch.c over the fake kernel (fake_os.h), one rule each.
 * owner     Each case runs in a separate process.
 * failure   A block at the wrong place, memory that stays, a broken predicate (pages_wrong.c).
 * not here  Sizes, sites and classes of requests: large_test.cpp. All calls in random order: pages_walk_test.cpp.
 */
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "retain/footprint.h"
#include "runs/pages.h"
#include "runs/runs.h"
#include "tables/hold.h"
#include "tables/range.h"
#include "tables/settings.h"
}

namespace {

constexpr size_t kPage = HAK_PAGE_BYTES, kUnit = HAK_UNIT_BYTES;

/* Lengths and places are told for pages of 4 KiB, whichever the machine has. */
[[maybe_unused]] const size_t kPageOfKernel = fake_os.page_bytes = kPage;

char *get(size_t pages, size_t align = 1, uint64_t origin = 0, bool *zero = nullptr) {
  bool ignored;
  return static_cast<char *>(hak_pages_get(pages, align, origin, zero != nullptr ? zero : &ignored));
}

/* By its own class, as a free does. */
size_t put(void *p) {
  uint64_t origin;
  return hak_pages_put(p, hak_pages_class(p), &origin);
}

size_t dirty_bytes() {
  uint64_t dirty, clean;
  hak_runs_bytes(&dirty, &clean);
  return dirty;
}

std::vector<char *> blocks_of(size_t n, size_t pages, size_t align = 1) {
  std::vector<char *> blocks;
  for (size_t i = 0; i < n; i++) blocks.push_back(get(pages, align));
  return blocks;
}

void put_all(const std::vector<char *> &blocks) {
  for (char *p : blocks) EXPECT_NE(put(p), 0u);
}

TEST(Pages, BlocksLieSideBySide) {
  char *p = get(17), *q = get(9), *r = get(30);
  EXPECT_EQ(q, p + 17 * kPage);
  EXPECT_EQ(r, q + 9 * kPage);
  EXPECT_EQ(put(q), 9u);
  EXPECT_EQ(get(9), q) << "the stretch that fits best";
}

TEST(Pages, ThePageBehindABlockIsNotItsOwn) {
  char *p = get(17), *q = get(9), *wall = get(9);
  put(q);
  EXPECT_EQ(hak_pages_block(p + 17 * kPage - 1), p);
  EXPECT_EQ(hak_pages_block(p + 17 * kPage), nullptr);
  put(p), put(wall);
}

TEST(Pages, APurgeReturnsWholeUnits) {
  std::vector<char *> blocks;
  for (int i = 0; i < 100; i++) blocks.push_back(get(40));
  for (char *p : blocks) std::memset(p, 1, 40 * kPage), put(p);
  EXPECT_GE(dirty_bytes(), 100 * 40 * kPage);
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), 0u);
  for (char *p : blocks) EXPECT_EQ(p[7], 0);
  hak_runs_unmap_excess();
  EXPECT_LE(g_range.mapped, (2 << 20) + kUnit * 34);
}

TEST(Pages, APurgeTakesTheShortestStretchFirst) {
  char *shorter = get(20), *wall = get(9), *longer = get(60), *end = get(400);
  std::memset(shorter, 1, 20 * kPage), std::memset(longer, 1, 60 * kPage);
  put(shorter), put(longer);
  hak_runs_purge(60 * kPage);
  EXPECT_EQ(shorter[7], 0);
  EXPECT_EQ(longer[7], 1);
  put(wall), put(end);
}

/* Between blocks that stay, stretches shorter than a block go as well. */
TEST(Pages, APurgeTakesShortStretches) {
  std::vector<char *> blocks;
  for (int i = 0; i < 200; i++) blocks.push_back(get(i % 2 ? 9 : 14));
  for (int i = 0; i < 200; i += 2) std::memset(blocks[i], 1, 14 * kPage), put(blocks[i]);
  for (int i = 0; i < 200; i += 2) EXPECT_NE(get(9), nullptr);
  EXPECT_GE(dirty_bytes(), 100 * 5 * kPage);
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), 0u);
  ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
}

TEST(Pages, WhatCannotBePurgedStaysDirty) {
  char *p = get(200), *wall = get(20);
  std::memset(p, 1, 200 * kPage);
  put(p);
  const size_t before = dirty_bytes();
  fake_os_refuse(FAKE_PURGE);
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), before);
  ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
  fake_os_reset();
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), 0u);
  EXPECT_NE(put(wall), 0u);
}

TEST(Pages, FreeMemoryOfPagesServesUnits) {
  std::vector<char *> blocks;
  for (int i = 0; i < 200; i++) blocks.push_back(get(40));
  for (char *p : blocks) put(p);
  const size_t mapped = g_range.mapped;
  bool clean = false;
  for (int i = 0; i < 40; i++) EXPECT_NE(hak_runs_get(10, 1, HAK_UNIT_LARGE, 0, &clean, nullptr), HAK_NO_UNIT);
  EXPECT_EQ(g_range.mapped, mapped);
}

/* Sanitizers leave mlock out. */
void lock_page(char *p) { ASSERT_EQ(syscall(SYS_mlock, p, 1), 0); }

TEST(Pages, APageThatIsLockedKeepsItsUnitOnly) {
  char *p = get(400), *wall = get(9);
  std::memset(p, 1, 400 * kPage);
  lock_page(p + 200 * kPage);
  put(p);
  const size_t before = dirty_bytes();
  hak_runs_purge(0);
  EXPECT_LE(dirty_bytes(), 2 * kUnit);
  EXPECT_GE(dirty_bytes(), kPage);
  EXPECT_EQ(p[200 * kPage], 1);
  EXPECT_EQ(p[0] | p[399 * kPage], 0);
  EXPECT_GE(before, 400 * kPage);
  ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
  EXPECT_NE(put(wall), 0u);
}

TEST(Pages, ARefusedStretchDoesNotKeepTheShortOnes) {
  std::vector<char *> blocks = blocks_of(60, 14);
  char *front = get(9), *p = get(20), *wall = get(20);
  std::memset(p, 1, 20 * kPage);
  lock_page(p + 5 * kPage);
  put(p);
  for (char *b : blocks) EXPECT_TRUE(hak_pages_resize(b, 9));
  EXPECT_GE(dirty_bytes(), 60 * 5 * kPage);
  hak_runs_purge(0);
  EXPECT_LE(dirty_bytes(), 20 * kPage);
  EXPECT_NE(put(wall), 0u);
  EXPECT_NE(put(front), 0u);
}

/* Blocks of 64 KiB at multiples of 64 KiB leave holes of just this length. */
TEST(Pages, AnAlignedBlockFitsTheHoleOfAnother) {
  for (const size_t align : {2, 4, 16}) {
    std::vector<char *> blocks = blocks_of(100, 16, align), freed, again;
    for (size_t i = 0; i < 100; i += 2) freed.push_back(blocks[i]), put(blocks[i]);
    for (size_t i = 0; i < 100; i += 2) again.push_back(get(16, align));
    EXPECT_EQ(std::set<char *>(again.begin(), again.end()), std::set<char *>(freed.begin(), freed.end())) << align;
  }
}

/* ---- the hard limit ---- */

void limit_to(size_t more) { hak_store(&g_settings.hard_limit, g_footprint.span + more); }

/* A free block beside pages without content: one stretch, which counts as dirty. */
size_t mixed_stretch() {
  blocks_of(1000, 16);
  put(get(9));
  const size_t dirty = dirty_bytes();
  EXPECT_LE(dirty, 9 * kPage);
  return dirty;
}

TEST(Pages, TheHardLimitCountsCleanPagesOfADirtyStretch) {
  const size_t dirty = mixed_stretch();
  limit_to(16 * kPage);
  EXPECT_EQ(get(200), nullptr);
  char *p = get(16 + dirty / kPage);
  EXPECT_NE(p, nullptr) << "just the limit";
  EXPECT_EQ(g_footprint.span, hak_setting(hard_limit));
  EXPECT_EQ(get(9), nullptr);
}

TEST(Pages, AFillStopsAtTheHardLimit) {
  mixed_stretch();
  limit_to(20 * kPage);
  hak_store(&g_footprint.spare, 1);
  void *out[16];
  EXPECT_GE(hak_pages_fill(9, out, 16), 1u);
  EXPECT_LE(g_footprint.span, hak_setting(hard_limit));
}

/* Stretches of one length, each with three clean pages. */
TEST(Pages, AFillOfStretchesStopsAtTheHardLimit) {
  std::vector<char *> blocks;
  for (int i = 0; i < 10; i++) blocks.push_back(get(12)), get(9);
  put_all(blocks);
  hak_runs_purge(0);
  put_all(blocks_of(10, 9));
  EXPECT_EQ(dirty_bytes(), 10 * 9 * kPage);
  limit_to(3 * kPage);
  void *out[16];
  EXPECT_EQ(hak_pages_fill(12, out, 8), 1u);
  EXPECT_EQ(g_footprint.span, hak_setting(hard_limit));
}

TEST(Pages, AtTheHardLimitUnitsWithCleanPagesDoNotServeRuns) {
  char *p = get(100), *wall = get(9);
  put(p);
  limit_to(0);
  bool clean = false;
  EXPECT_NE(hak_runs_get(6, 1, HAK_UNIT_LARGE, 0, &clean, nullptr), HAK_NO_UNIT) << "all pages are dirty";
  EXPECT_NE(put(wall), 0u);
  EXPECT_EQ(hak_runs_get(4, 1, HAK_UNIT_LARGE, 0, &clean, nullptr), HAK_NO_UNIT) << "a stretch of few dirty pages";
  EXPECT_LE(g_footprint.span, hak_setting(hard_limit));
}

TEST(Pages, ABlockGrowsUpToTheHardLimit) {
  blocks_of(1000, 16);
  char *p = get(9);
  put(get(9));
  limit_to(20 * kPage);
  EXPECT_FALSE(hak_pages_resize(p, 60));
  EXPECT_TRUE(hak_pages_resize(p, 9 + 9 + 20));
  EXPECT_EQ(g_footprint.span, hak_setting(hard_limit));
}

TEST(Pages, AtTheHardLimitABlockGrowsIntoDirtyPages) {
  char *p = get(9), *q = get(9), *wall = get(9);
  put(q);
  limit_to(0);
  EXPECT_TRUE(hak_pages_resize(p, 18));
  EXPECT_NE(put(wall), 0u);
}

TEST(Pages, AnAlignedBlockCountsNoMoreThanItsPages) {
  get(9);
  limit_to(16 * kPage);
  EXPECT_NE(get(16, 16), nullptr);
  EXPECT_EQ(g_footprint.span, hak_setting(hard_limit));
}

/* ---- while all free memory is held ---- */

TEST(Pages, WhereAllIsHeldFreePagesAreFetched) {
  hak_store(&g_hold_floor, UINT64_MAX);
  fake_os.populates = true;
  char *p = get(200);
  EXPECT_EQ(dirty_bytes(), 8 * kPage) << "the rest of the last unit";
  EXPECT_TRUE(hak_pages_resize(p, 213));
  EXPECT_EQ(dirty_bytes(), 11 * kPage);
  bool zero = true;
  EXPECT_EQ(get(11, 1, 0, &zero), p + 213 * kPage);
  EXPECT_FALSE(zero);
}

TEST(Pages, WhereAllIsHeldABlockRatherMovesThanGrowsIntoFreshUnits) {
  hak_store(&g_hold_floor, UINT64_MAX);
  fake_os.populates = true;
  char *q = get(400), *p = get(208);
  put(q);
  EXPECT_FALSE(hak_pages_resize(p, 220)) << "the dirty stretch has room";
  EXPECT_EQ(get(400), q);
  EXPECT_TRUE(hak_pages_resize(p, 220));
}

/* ---- advice to the kernel ---- */

size_t g_not_dumped;
void note_advice(void *, size_t bytes, fake_advice advice) { g_not_dumped += advice == FAKE_NO_DUMP ? bytes : 0; }

TEST(Pages, CoreDumpsLeaveOutWhatWasPurged) {
  fake_os.on_advice = note_advice;
  fake_os.huge_bytes = size_t{2} << 20;
  put_all(blocks_of(1000, 16));
  g_not_dumped = 0;
  hak_runs_purge(0);
  EXPECT_GE(g_not_dumped, size_t{32} << 20);
}

}  // namespace
