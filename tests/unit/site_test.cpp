/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* site_test.cpp: the table of call sites.
 *
 * what      tables/site.c: the distinction of sites, the counts, and the bound of the table.
 * owner     Each case runs in a separate process.
 * failure   A wrong count, or a site taken for another, fails the test.
 * not here  Whole programs: process_Sites.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

extern "C" {
#include "tables/counters.h"
#include "tables/site.h"
}

namespace {

const void *at(uintptr_t n) { return reinterpret_cast<const void *>(0x500000000000 + n * 5); }

/* A frame `units` units deep. */
const void *deep(uintptr_t units) {
  static const char *here = static_cast<const char *>(__builtin_frame_address(0));
  return here - units * 16;
}

void use(unsigned site, size_t bytes, int times) {
  for (int n = 0; n < times; n++) {
    hak_site_taken(site, bytes);
    hak_site_freed(site, bytes, 0);
  }
}

/* As a program does: looks up the site for each block. */
std::set<unsigned> numbers(const void *address, const void *frame, size_t bytes, int times) {
  std::set<unsigned> seen;
  for (int n = 0; n < times; n++) {
    const unsigned site = hak_site_of(address, frame);
    seen.insert(site);
    use(site, bytes, 1);
  }
  return seen;
}

TEST(Site, TwoOfTheSameSizeAreTwo) {
  const unsigned a = hak_site_of(at(1), deep(1)), b = hak_site_of(at(2), deep(1));
  EXPECT_NE(a, 0u);
  EXPECT_NE(a, b);
  EXPECT_EQ(hak_site_of(at(1), deep(9)), a);
  hak_site_taken(a, 4096);
  hak_site_taken(a, 4096);
  hak_site_freed(a, 4096, 7);
  hak_site_hit(b, a, 5);
  hak_site_fetched(b, 3);
  EXPECT_EQ(g_site[a].count, 2u);
  EXPECT_EQ(g_site[a].bytes - g_site[a].freed_bytes, 4096u);
  EXPECT_EQ(g_site[a].life_ms, 7u);
  EXPECT_EQ(g_site[a].gap_ms, 5u);
  EXPECT_EQ(g_site[b].count, 0u);
  EXPECT_EQ(g_site[b].hits, 1u);
  EXPECT_EQ(g_site[b].fetched, 3u);
}

TEST(Site, NobodyIsNobody) { EXPECT_EQ(hak_site_of(nullptr, deep(1)), 0u); }

TEST(Site, OneThatAsksForManySizesIsWidened) {
  for (size_t bytes : {size_t{1} << 20, size_t{3} << 20, size_t{9} << 20}) numbers(at(1), deep(1), bytes, 16);
  const unsigned wide = hak_site_of(at(1), deep(1));
  EXPECT_EQ(g_site[wide].depth - g_site[hak_site_of(at(1), deep(0))].depth, 1u);
  EXPECT_NE(hak_site_of(at(1), deep(2)), wide);
  EXPECT_EQ(hak_site_of(at(1), deep(1)), wide);
}

TEST(Site, OneThatHasALargeShareIsWidened) {
  numbers(at(1), deep(1), 1 << 20, 200);
  EXPECT_NE(hak_site_of(at(1), deep(1)), hak_site_of(at(1), deep(2)));
}

TEST(Site, OneThatAsksAtEverNewDepthsHasSoManyRecordsAndNoMore) {
  numbers(at(1), deep(1), 1 << 20, 200);
  const unsigned others = hak_site_end();
  for (uintptr_t units = 2; units < 5000; units++) {
    const unsigned site = hak_site_of(at(1), deep(units));
    ASSERT_EQ(g_site[site].address, reinterpret_cast<uintptr_t>(at(1))) << units;
    hak_site_taken(site, 4096);
  }
  EXPECT_GT(hak_site_end(), others + HAK_SITE_DEPTHS / 2);
  EXPECT_LE(hak_site_end(), others + HAK_SITE_DEPTHS);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_sites_lost), 0u);
}

TEST(Site, DepthsThatWereEvictedMakeRoomForOthers) {
  numbers(at(1), deep(1), 1 << 20, 200);
  for (uintptr_t units = 1; units <= HAK_SITE_DEPTHS; units++) hak_site_of(at(1), deep(units));
  const unsigned all = hak_site_of(at(1), deep(HAK_SITE_DEPTHS + 1));
  EXPECT_EQ(g_site[all].depth, 0u);
  hak_site_taken(all, 4096); /* this block stays; every other block is freed */
  for (uintptr_t n = 2; n < 4 * HAK_SITES; n++) hak_site_of(at(n), deep(1));
  EXPECT_NE(hak_site_of(at(1), deep(HAK_SITE_DEPTHS + 1)), all);
}

TEST(Site, OneOfManyIsNot) {
  for (int round = 0; round < 40; round++) {
    for (uintptr_t n = 1; n <= 20; n++) numbers(at(n), deep(round % 7), 1 << 20, 4);
  }
  for (uintptr_t n = 1; n <= 20; n++) EXPECT_EQ(hak_site_of(at(n), deep(1)), hak_site_of(at(n), deep(2))) << n;
  EXPECT_EQ(hak_site_end(), 21u);
}

TEST(Site, FiveThousandAreKept) {
  std::set<unsigned> seen;
  for (uintptr_t n = 0; n < 5000; n++) seen.insert(hak_site_of(at(n), deep(1)));
  EXPECT_EQ(seen.size(), 5000u);
  EXPECT_EQ(seen.count(0), 0u);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_sites_evicted), 0u);
}

TEST(Site, WhenThereIsNoRoomTheIdleGoAndTheLiveStay) {
  const unsigned live = hak_site_of(at(0), deep(1));
  hak_site_taken(live, 4096);
  for (uintptr_t n = 1; n < 50000; n++) {
    const unsigned site = hak_site_of(at(n), deep(1));
    ASSERT_NE(site, 0u) << n;
    ASSERT_EQ(g_site[site].address, reinterpret_cast<uintptr_t>(at(n)));
    ASSERT_EQ(g_site[site].count, 0u) << "another one's counts";
    use(site, 4096, 1);
    ASSERT_EQ(hak_site_of(at(n), deep(1)), site);
  }
  EXPECT_EQ(hak_site_of(at(0), deep(1)), live);
  EXPECT_GT(hak_counter_value(HAK_COUNTER_sites_evicted), 40000u);
  EXPECT_LE(hak_site_end(), unsigned{HAK_SITES});
}

/* A block in flight whose record belongs to a second site at the free. */
TEST(Site, ABlockThatIsFreedForAnotherSiteDoesNotHoldItsRecord) {
  const unsigned before = hak_site_of(at(0), deep(1));
  for (uintptr_t n = 1; g_site[before].address == reinterpret_cast<uintptr_t>(at(0)); n++) hak_site_of(at(n), deep(1));
  const uint64_t address = g_site[before].address;
  hak_site_freed(before, 4096, 0);
  for (uintptr_t n = HAK_SITES * 2; n < HAK_SITES * 5; n++) hak_site_of(at(n), deep(1));
  EXPECT_NE(g_site[before].address, address);
}

TEST(Site, OneThatWasToldAKeepTimeStaysAndTellsItsDepths) {
  const unsigned told = hak_site_of(at(0), deep(1));
  ASSERT_TRUE(hak_site_set_keep(at(0), 5));
  EXPECT_EQ(g_site[told].keep, 5u);
  for (uintptr_t n = 1; n < 3 * HAK_SITES; n++) hak_site_of(at(n), deep(1));
  EXPECT_EQ(hak_site_of(at(0), deep(1)), told) << "though nothing of it is live";
  for (size_t bytes : {size_t{1} << 20, size_t{1} << 22, size_t{1} << 24}) numbers(at(0), deep(1), bytes, 30);
  const unsigned deeper = hak_site_of(at(0), deep(77));
  ASSERT_NE(deeper, told);
  EXPECT_EQ(g_site[deeper].keep, 5u);
  ASSERT_TRUE(hak_site_set_keep(at(0), 0));
  EXPECT_EQ(g_site[told].keep + g_site[deeper].keep, 0u);
}

/* Depths of a wrapper that is told a keep time meanwhile: no record is missed, not even one that is just being added. */
TEST(Site, OneThatIsToldAKeepTimeBesideNewDepthsTellsAll) {
  constexpr uintptr_t kDepths = 200;
  for (uintptr_t round = 0; round < 30; round++) {
    for (size_t bytes : {size_t{1} << 20, size_t{1} << 22, size_t{1} << 24}) numbers(at(round), deep(1), bytes, 30);
    std::atomic<uintptr_t> depth{0};
    std::thread keeper([&depth, round] {
      while (depth.load(std::memory_order_relaxed) < 10 + round * 5) {}
      hak_site_set_keep(at(round), 5);
    });
    for (uintptr_t n = 2; n < kDepths; n++) {
      hak_site_of(at(round), deep(n));
      depth.store(n, std::memory_order_relaxed);
    }
    keeper.join();
    for (unsigned n = 1; n < hak_site_end(); n++) {
      if (g_site[n].address == reinterpret_cast<uintptr_t>(at(round))) {
        ASSERT_EQ(g_site[n].keep, 5u) << round << ": " << n << " of depth " << g_site[n].depth;
      }
    }
  }
}

/* Under ThreadSanitizer a read of a record that is being written fails: the relaxed flag orders nothing. */
TEST(Site, ReadersBesideTheFirstAndBesideEviction) {
  std::atomic<bool> begun{false}, stop{false};
  std::thread reader([&begun, &stop] {
    for (; !stop.load(std::memory_order_relaxed); begun.store(true, std::memory_order_relaxed)) {
      hak_site_taken(0, 4096);
      hak_site_lasts(0);
      for (unsigned n = 0; n < hak_site_end(); n++) {
        EXPECT_EQ(hak_load_acquire(&g_site[n].address) >> 48, 0u);
        EXPECT_LE(hak_load(&g_site[n].count), uint64_t{1} << 40);
        EXPECT_LE(hak_load(&g_site[n].depth), uint32_t{1} << 20);
      }
    }
  });
  while (!begun.load(std::memory_order_relaxed)) std::this_thread::yield();
  for (uintptr_t n = 1; n < 3 * HAK_SITES; n++) use(hak_site_of(at(n), deep(1)), 4096, 1);
  stop.store(true, std::memory_order_relaxed);
  reader.join();
}

TEST(Site, WhoIsToldAKeepTimeGetsARecordWhileThereIsAnIdleOne) {
  for (uintptr_t n = 1; n < HAK_SITES; n++) ASSERT_TRUE(hak_site_set_keep(at(n), 5)) << n;
  EXPECT_FALSE(hak_site_set_keep(at(HAK_SITES), 5)) << "all were told one";
  for (uintptr_t n = 1; n < HAK_SITES; n++) ASSERT_TRUE(hak_site_set_keep(at(n), 0));
  for (uintptr_t n = 1; n < HAK_SITES; n++) ASSERT_TRUE(hak_site_set_keep(at(HAK_SITES + n), 5)) << n;
}

TEST(Site, WhenAllAreLiveTheNextIsNobody) {
  for (uintptr_t n = 1; n < HAK_SITES; n++) hak_site_taken(hak_site_of(at(n), deep(1)), 4096);
  EXPECT_EQ(hak_site_of(at(HAK_SITES), deep(1)), 0u);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_sites_lost), 1u);
  EXPECT_FALSE(hak_site_set_keep(at(HAK_SITES + 1), 5));
  EXPECT_EQ(g_site[0].keep, 0u);
  EXPECT_NE(hak_site_of(at(1), deep(1)), 0u);
}

/* All records belong to live sites, and a search for a free record was in vain. */
void fill_table() {
  for (uintptr_t n = 1; n < HAK_SITES; n++) hak_site_taken(hak_site_of(at(n), deep(1)), 4096);
  EXPECT_EQ(hak_site_of(at(0), deep(1)), 0u);
}

/* A search for a record visits each record and removes its mark. */
bool was_searched() {
  struct hak_site *const record = &g_site[HAK_SITES / 2];
  const bool searched = !record->used;
  record->used = true;
  return searched;
}

TEST(Site, AFullTableIsSearchedOnceInManyBlocks) {
  constexpr unsigned kBlocks = 100000, kLeastApart = 512;
  fill_table();
  unsigned searches = 0;
  was_searched();
  for (uintptr_t n = 0; n < kBlocks; n++) {
    EXPECT_EQ(hak_site_of(at(HAK_SITES + n), deep(1)), 0u);
    searches += was_searched();
  }
  EXPECT_LE(searches, kBlocks / kLeastApart);
  EXPECT_GE(searches, 1u) << "some could have gone by then";
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_sites_lost), 1u + kBlocks);
}

TEST(Site, AFullTableWithOneIdleSiteIsSearchedOnceInManyBlocks) {
  constexpr unsigned kBlocks = 100000, kLeastApart = 512;
  fill_table();
  hak_site_freed(hak_site_of(at(7), deep(1)), 4096, 0);
  unsigned searches = 0, served = 0;
  was_searched();
  for (uintptr_t n = 0; n < kBlocks; n++) {
    const unsigned site = hak_site_of(at(HAK_SITES + n), deep(1));
    if (site != 0) use(site, 4096, 1), served++;
    searches += was_searched();
  }
  EXPECT_GE(served, 1u);
  EXPECT_LE(searches, kBlocks / kLeastApart);
}

TEST(Site, WhatBecameIdleInAFullTableIsFoundInTheEnd) {
  constexpr unsigned kIdle = 1000;
  fill_table();
  for (uintptr_t n = 1; n <= kIdle; n++) hak_site_freed(hak_site_of(at(n), deep(1)), 4096, 0);
  unsigned served = 0;
  for (uintptr_t n = 0; n < 10 * kIdle; n++) {
    const unsigned site = hak_site_of(at(HAK_SITES + n), deep(1));
    if (site == 0) continue;
    ASSERT_EQ(g_site[site].address, reinterpret_cast<uintptr_t>(at(HAK_SITES + n)));
    ASSERT_EQ(hak_site_of(at(HAK_SITES + n), deep(1)), site);
    hak_site_taken(site, 4096);
    served++;
  }
  EXPECT_EQ(served, kIdle);
  for (uintptr_t n = kIdle + 1; n < HAK_SITES; n++) ASSERT_NE(hak_site_of(at(n), deep(1)), 0u) << "a live one went";
}

TEST(Site, WithoutRoomForItsDepthABlockIsItsWrappers) {
  hak_site_taken(hak_site_of(at(1), deep(1)), 4096);
  numbers(at(1), deep(1), 1 << 20, 200);
  for (uintptr_t n = 2; n < HAK_SITES + 1; n++) hak_site_taken(hak_site_of(at(n), deep(1)), 4096);
  for (uintptr_t units = 2; units < 5000; units++) {
    const unsigned site = hak_site_of(at(1), deep(units));
    ASSERT_EQ(g_site[site].address, reinterpret_cast<uintptr_t>(at(1))) << units;
    hak_site_taken(site, 4096);
  }
}

TEST(Site, ThreadsFindTheSame) {
  constexpr uintptr_t kEach = 3000;
  constexpr int kThreads = 4;
  std::vector<std::vector<unsigned>> found(kThreads, std::vector<unsigned>(kEach));
  std::vector<std::thread> threads;
  for (auto &mine : found) {
    threads.emplace_back([&mine] {
      for (uintptr_t n = 0; n < kEach; n++) hak_site_taken(mine[n] = hak_site_of(at(n), deep(1)), 4096);
    });
  }
  for (auto &thread : threads) thread.join();
  for (uintptr_t n = 0; n < kEach; n++) {
    for (const auto &mine : found) ASSERT_EQ(mine[n], found[0][n]);
    ASSERT_EQ(g_site[found[0][n]].count, uint64_t{kThreads});
  }
}

}  // namespace
