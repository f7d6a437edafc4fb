/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_depot_test.cpp: blocks between magazines and the depot.
 *
 * what      Which flushes go to the depot, how much it may hold, and what magazines hold of blocks that go from thread
 *           to thread; with the whole library below cache/magazine.c.
 * owner     Each case runs in a separate process.
 * not here  The depot alone: depot_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <random>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/depot.h"
#include "cache/magazine.h"
#include "entry/thread.h"
#include "internal.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"
}
#include "magazine_case.h"

namespace {

TEST(Magazine, AThreadAloneHasNoDepot) {
  for (int i = 0; i < 20; i++) burst_at_random(HAK_CLASS_64, 5000);
  EXPECT_FALSE(hak_depot_had(HAK_CLASS_64));
}

/* Slabs take a row a word of their bitmap at a time, which costs less than a pack; of scattered blocks a pack does. */
TEST(Magazine, RowsGoBackToSlabsAndScatteredBlocksToTheDepot) {
  hak_free(hak_malloc(1)); /* a first context: the thread is not alone */
  std::thread([] {
    hak_free(hak_malloc(1)); /* its context has classes of its own colour */
    for (const unsigned size : {unsigned{HAK_CLASS_16}, unsigned{HAK_CLASS_64}}) {
      const unsigned c = serving(size);
      for (int i = 0; i < 20; i++) burst(c, 3001);
      EXPECT_FALSE(hak_depot_had(c)) << "rows, class " << c;
      EXPECT_EQ(context()->slab[c], uint32_t{HAK_NO_UNIT}) << "other threads cannot fill from it, class " << c;
      for (int i = 0; i < 20; i++) burst_at_random(c, 3001);
      EXPECT_GT(hak_depot_blocks(c), 0u) << "scattered, class " << c;
    }
  }).join();
}

TEST(Magazine, TheDepotIsBounded) {
  Barrier barrier(3);
  std::vector<void *> blocks(20000);
  std::thread thread([&] {
    for (void *&p : blocks) p = hak_malloc(64);
    barrier.wait();
    barrier.wait();
  });
  std::thread freer([&] {
    barrier.wait();
    for (void *p : blocks) hak_free(p);
    EXPECT_GT(hak_depot_blocks(HAK_CLASS_64), 0u);
    EXPECT_LE(hak_depot_blocks(HAK_CLASS_64) * 64, hak_registry_count() * 64 * kKiB);
    barrier.wait();
  });
  barrier.wait();
  barrier.wait();
  thread.join();
  freer.join();
}

/* One thread allocates, the other frees. Such classes have all that a thread may cache, beyond 256 KiB of small blocks. */
TEST(Magazine, BlocksThatGoFromThreadToThreadGetMore) {
  constexpr unsigned kRounds = 20, kBlocks = 600;
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  std::vector<void *> blocks;
  Barrier barrier(2);
  std::thread allocator([&] {
    for (unsigned round = 0; round < kRounds; round++) {
      for (unsigned c = 1; is_small(c); c++) {
        for (unsigned i = 0; i < kBlocks; i++) blocks.push_back(hak_malloc(g_class[c].bytes));
      }
      barrier.wait();
      barrier.wait();
    }
  });
  for (unsigned round = 0; round < kRounds; round++) {
    barrier.wait();
    for (void *p : blocks) hak_free(p);
    blocks.clear();
    EXPECT_LE(reserved(context(), false), kMiB);
    if (round + 1 < kRounds) barrier.wait();
  }
  EXPECT_GT(reserved(context(), true), 300 * kKiB);
  barrier.wait();
  allocator.join();
}

/* Few blocks are on their way at once, so the depot is empty every now and then. Magazines have grown, and stay. */
TEST(Magazine, BlocksThatGoFromThreadToThreadFewAtATimeGetMoreForGood) {
  constexpr unsigned kRounds = 2000, kLast = 200, kBlocks = 256;
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  std::vector<void *> blocks;
  Barrier barrier(2);
  std::thread allocator([&] {
    std::mt19937 random(8);
    for (unsigned round = 0; round < kRounds; round++) {
      for (unsigned i = 0; i < kBlocks; i++) blocks.push_back(hak_malloc(16 + random() % 1000));
      barrier.wait();
      barrier.wait();
    }
  });
  unsigned shrunk = 0;
  for (unsigned round = 0; round < kRounds; round++) {
    barrier.wait();
    for (void *p : blocks) {
      const unsigned c = hak_range_class(p), before = context()->capacity[c];
      hak_free(p);
      shrunk += round >= kRounds - kLast && context()->capacity[c] < before;
    }
    blocks.clear();
    ASSERT_LE(reserved(context(), false), kMiB);
    if (round + 1 < kRounds) barrier.wait();
  }
  EXPECT_GT(reserved(context(), true), 300 * kKiB);
  EXPECT_LT(shrunk, 20u);
  barrier.wait();
  allocator.join();
}

}  // namespace
