/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_test.cpp: refill and flush, and the capacity of magazines.
 *
 * what      cache/magazine.c with the whole library below it. The linker puts this file's functions in front of the
 *           functions of slab, depot and metadata, to count calls and to refuse metadata.
 * owner     Each case runs in a separate process.
 * failure   One operation too many, or one byte above a bound, fails the test.
 * not here  Slabs and depot: slab_test.cpp, depot_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/depot.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "entry/thread.h"
#include "internal.h"
#include "tables/calls.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/meta.h"
#include "tables/settings.h"

size_t __real_hak_slab_fill(unsigned c, uint32_t *current, void **out, size_t want);
size_t __wrap_hak_slab_fill(unsigned c, uint32_t *current, void **out, size_t want);
size_t __real_hak_slab_put(unsigned c, void *const *blocks, size_t n, size_t steps, struct hak_fault *fault);
size_t __wrap_hak_slab_put(unsigned c, void *const *blocks, size_t n, size_t steps, struct hak_fault *fault);
size_t __real_hak_depot_take(unsigned c, void **out, size_t want);
size_t __wrap_hak_depot_take(unsigned c, void **out, size_t want);
size_t __real_hak_depot_put(unsigned c, void *const *blocks, size_t n);
size_t __wrap_hak_depot_put(unsigned c, void *const *blocks, size_t n);
void *__real_hak_meta_get(size_t bytes);
void *__wrap_hak_meta_get(size_t bytes);
}
#include "magazine_case.h"

namespace {

constexpr unsigned kLastClass = HAK_CLASS_32768; // the largest of slabs

std::atomic<uint64_t> operations, depot_operations, class_operations[HAK_CLASSES];
std::atomic<bool> no_metadata, no_packs;
std::atomic<uint32_t> filled_in; /* the visit in which slabs were last asked for blocks */

/* ---- capacity ---- */

TEST(Magazine, CapacityGrowsAtMisses) {
  for (const unsigned c : {1u, 8u, 16u}) {
    std::vector<void *> blocks;
    unsigned before = 0, steps = 0;
    while (blocks.size() < 5000) {
      const uint64_t ops = operations;
      blocks.push_back(hak_malloc(g_class[c].bytes));
      const unsigned now = context()->capacity[c];
      EXPECT_EQ(now & (now + 1), 0u) << "2^k - 1";
      EXPECT_GE(now, before);
      if (now != before) {
        EXPECT_NE(operations, ops) << "grown without a miss";
      }
      steps += now != before;
      before = now;
    }
    EXPECT_GT(steps, 2u) << c;
    EXPECT_LE(before, 1023u);
    for (void *p : blocks) hak_free(p);
  }
}

TEST(Magazine, CapacityGrowsAtMissesOfFree) {
  std::vector<void *> blocks(400);
  for (void *&p : blocks) p = hak_malloc(64);
  hak_trim(0); /* the magazines are closed */
  EXPECT_EQ(context()->capacity[4], 0u);
  for (void *p : blocks) hak_free(p);
  EXPECT_GE(context()->capacity[4], 255u);
}

TEST(Magazine, SteadyUseChangesNothing) {
  burst(5, 100);
  const unsigned capacity = context()->capacity[5];
  const uint64_t ops = operations;
  for (int i = 0; i < 100000; i++) burst(5, 10);
  EXPECT_EQ(context()->capacity[5], capacity);
  EXPECT_LE(operations, ops + 1);
}

/* A class that swings for long counts as one that swings: the count stops at its most. */
TEST(Magazine, TurnsAreNotForgottenWhileTheCapacityStays) {
  hak_free(hak_malloc(1)); /* makes the context */
  const unsigned c = serving(HAK_CLASS_1024);
  unsigned turns = 0, capacity = 0;
  for (int i = 0; i < 300; i++) {
    burst(c, 300);
    if (context()->capacity[c] == capacity) {
      ASSERT_GE(context()->history[c] >> 2, turns) << i;
    }
    capacity = context()->capacity[c];
    turns = context()->history[c] >> 2;
  }
  EXPECT_EQ(turns, 63u);
}

/* The owner may be between the load of the top and its store. */
TEST(Magazine, ADrainLeavesTheLastBlock) {
  hak_free(hak_malloc(1)); /* makes the context */
  const unsigned c = serving(HAK_CLASS_1024);
  burst(c, 20);
  ASSERT_GT(hak_magazine_blocks(context(), c), 2u);
  struct hak_fault fault = {HAK_ERROR_none, nullptr};
  hak_magazine_close(context(), c);
  hak_magazine_empty(context(), c, &fault);
  EXPECT_EQ(hak_magazine_blocks(context(), c), 1u);
  EXPECT_EQ(fault.p, nullptr);
  burst(c, 20);
  EXPECT_EQ(reserved_by_all(), hak_inside_budget()) << "what the drain gave back is given back once";
}

/* A change of the observers opens what may be open, not what a drain closed. */
TEST(Magazine, AClosedClassStaysClosedWhenMarksAreSetAnew) {
  hak_free(hak_malloc(1)); /* makes the context */
  const unsigned c = serving(HAK_CLASS_1024), other = serving(HAK_CLASS_512);
  burst(c, 20);
  hak_magazine_close(context(), c);
  hak_store(&context()->eyes, UINT8_MAX);
  burst(other, 200);
  EXPECT_EQ(context()->eyes, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(context()->floor[c]), uintptr_t{1} << 63);
  EXPECT_EQ(context()->ceiling[c], nullptr);
  burst(c, 20);
}

/* A fork may leave the owner inside for ever: the child's next visit counts as one all the same. */
TEST(Magazine, AVisitIsOddAfterOneThatNeverEnded) {
  hak_free(hak_malloc(1)); /* makes the context */
  hak_store(&context()->visits, 7u);
  filled_in = 0;
  burst(serving(HAK_CLASS_512), 100);
  EXPECT_EQ(filled_in % 2, 1u);
  EXPECT_EQ(context()->visits % 2, 0u);
}

Context *opening;
unsigned opened_class;

/* Another thread begins to count calls, and raises a floor that the owner's store, under way, lowers again. */
void others_count() {
  hak_inside_at_fence = nullptr;
  hak_store(&g_calls, unsigned{HAK_CALLS_UNOBSERVED | HAK_CALLS_COUNTED});
}

TEST(Magazine, AFloorThatTheOwnerLoweredMeanwhileIsRaisedAgain) {
  hak_free(hak_malloc(1)); /* makes the context */
  opening = context();
  opened_class = serving(HAK_CLASS_1024);
  burst(opened_class, 20);
  hak_magazine_close(opening, opened_class);
  hak_inside_at_fence = others_count;
  void *p = hak_malloc(1024);
  EXPECT_EQ(hak_inside_at_fence, nullptr) << "the class was opened";
  EXPECT_EQ(reinterpret_cast<uintptr_t>(opening->floor[opened_class]), uintptr_t{1} << 63);
  EXPECT_EQ(opening->ceiling[opened_class], nullptr);
  hak_free(p);
}

/* A drain took the block below the last one while the owner popped that. The block is another owner's by now, who may
 * free it here: the stale pointer at the top says nothing. */
TEST(Magazine, AStaleTopBesideADrainIsNoDoubleFree) {
  hak_free(hak_malloc(1)); /* makes the context */
  const unsigned c = serving(HAK_CLASS_1024);
  burst(c, 20);
  struct hak_fault fault = {HAK_ERROR_none, nullptr};
  hak_magazine_close(context(), c);
  hak_magazine_empty(context(), c, &fault);
  void **top = context()->top[c] - 1, *last = *top, *p = top[-1];
  hak_store(&context()->top[c], top);
  hak_slab_release(c, &context()->slab[c]); /* all threads' */
  enum hak_route route;
  void *again = nullptr;
  for (int i = 0; i < 10000 && again != p; i++) again = hak_magazine_take(nullptr, c, &route, &fault);
  ASSERT_EQ(again, p);
  hak_free(p);
  hak_free(last);
}

/* ---- contexts ---- */

TEST(Registry, AfterAForkWithTheLockHeldNoContextInUseIsGiven) {
  hak_free(hak_malloc(1));
  Context *own = context();
  ASSERT_NE(own, nullptr);
  hak_inside_vanish(&g_registry.lock);
  EXPECT_NE(hak_registry_claim(), own);
  EXPECT_EQ(hak_registry_count(), 2u);
}

TEST(Magazine, TheLastFreedIsTheNextGiven) {
  for (unsigned c = 1; c < HAK_CLASSES_USED; c++) {
    void *p = hak_malloc(g_class[c].bytes);
    hak_free(p);
    void *q = hak_malloc(g_class[c].bytes);
    EXPECT_EQ(q, p) << c;
    hak_free(q);
  }
}

/* ---- a walk along a boundary ---- */

constexpr size_t kFlushBlocks = 32; /* scattered blocks, at most in one call */

/* Allocates and frees blocks of class c as `takes` says; returns how often two operations of the block layers on c at
 * the same capacity were fewer steps apart than half the capacity or a whole flush. (A miss may also change the
 * capacity, or the capacity of an idle class.) */
template <typename Takes>
size_t walk(unsigned c, unsigned steps, Takes takes) {
  std::vector<void *> live;
  for (unsigned i = 0; i < 6000; i++) live.push_back(hak_malloc(g_class[c].bytes));
  for (unsigned i = 0; i < 3000; i++, live.pop_back()) hak_free(live.back());
  size_t too_close = 0, since = SIZE_MAX / 2;
  for (unsigned i = 0; i < steps; i++) {
    const uint64_t ops = class_operations[c];
    const unsigned capacity = context()->capacity[c];
    if (live.empty() || takes(hak_magazine_blocks(context(), c))) {
      live.push_back(hak_malloc(g_class[c].bytes));
    } else {
      hak_free(live.back());
      live.pop_back();
    }
    since++;
    if (capacity != context()->capacity[c]) since = SIZE_MAX / 2;
    else EXPECT_LE(class_operations[c], ops + 1);
    if (class_operations[c] == ops || since == SIZE_MAX / 2) continue;
    too_close += since < std::min<size_t>((capacity + 1u) / 2, kFlushBlocks);
    since = 0;
  }
  for (void *p : live) hak_free(p);
  return too_close;
}

class Walk : public testing::TestWithParam<bool> {
 protected:
  /* With a second thread flushes go to the depot. */
  void SetUp() override {
    hak_free(hak_malloc(1)); /* the first context has the plain classes */
    if (GetParam()) second_ = std::thread([this] { idle(); });
    while (GetParam() && !ready_) std::this_thread::yield();
  }
  void TearDown() override {
    stop_ = true;
    if (second_.joinable()) second_.join();
  }

 private:
  void idle() {
    hak_free(hak_malloc(1));
    ready_ = true;
    while (!stop_) std::this_thread::yield();
  }

  std::atomic<bool> ready_{false}, stop_{false};
  std::thread second_;
};

TEST_P(Walk, CostsAtMostOneOperationPerHalfCapacityOrFlush) {
  std::mt19937 random(2);
  for (const unsigned c : {1u, 4u, 20u, 40u, 60u, kLastClass}) {
    const auto nearer = [&](size_t blocks) { return blocks <= context()->capacity[c] / 2u; };
    EXPECT_EQ(walk(c, 20000, nearer), 0u) << "always to the nearer boundary, class " << c;
    EXPECT_EQ(walk(c, 20000, [&](size_t) { return random() % 2 != 0; }), 0u) << "at random, class " << c;
    bool up = false;
    const auto across = [&](size_t blocks) {
      if (blocks == 0 || blocks == context()->capacity[c]) up = !up;
      return up;
    };
    EXPECT_EQ(walk(c, 20000, across), 0u) << "from end to end, class " << c;
  }
  EXPECT_EQ(depot_operations != 0, GetParam());
}

TEST_P(Walk, WhatTheDepotRefusesIsNotReserved) {
  no_packs = true;
  for (int i = 0; i < 20; i++) burst_at_random(HAK_CLASS_64, 2000);
  no_packs = false;
  EXPECT_EQ(depot_operations != 0, GetParam());
  EXPECT_EQ(hak_inside_budget(), reserved_by_all());
}

INSTANTIATE_TEST_SUITE_P(Alone, Walk, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(WithADepot, Walk, testing::Values(true));

/* ---- capacity of a thread ---- */

TEST(Magazine, TouchingEverySmallClassHoldsAtMost256KiB) {
  for (int round = 0; round < 20; round++) {
    for (unsigned c = 1; is_small(c); c++) burst(c, 1);
  }
  EXPECT_LE(reserved(context(), true), 256 * kKiB);
  for (unsigned c = 1; is_small(c); c++) EXPECT_GT(context()->capacity[serving(c)], 0u);
}

TEST(Magazine, TouchingEveryClassHoldsAtMostAMiB) {
  for (int round = 0; round < 20; round++) {
    for (unsigned c = 1; c < HAK_CLASSES_USED; c++) burst(c, 1);
  }
  EXPECT_LE(reserved(context(), true), 256 * kKiB);
  EXPECT_LE(reserved(context(), false), kMiB);
}

/* Without a share of the heap a thread stays below the constants, whatever its use of classes. */
TEST(Magazine, DeepUseOfEveryClassStaysBelowTheBounds) {
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  std::mt19937 random(6);
  for (int i = 0; i < 600; i++) {
    const unsigned c = 1 + random() % (HAK_CLASSES_USED - 1);
    burst(c, 1 + random() % (is_small(c) ? 1500 : 60));
    ASSERT_LE(reserved(context(), true), 256 * kKiB);
    ASSERT_LE(reserved(context(), false), kMiB);
    ASSERT_EQ(reserved(context(), true), context()->small_bytes);
    ASSERT_EQ(reserved(context(), false), context()->all_bytes);
    ASSERT_EQ(hak_inside_budget(), context()->all_bytes);
  }
  EXPECT_GT(reserved(context(), false), 300 * kKiB) << "and uses what it may";
}

/* A burst is all refills, then all flushes: a burst would fill any magazine, and profits from none. */
TEST(Magazine, BurstsStayBelowTheBoundsWhateverTheHeap) {
  std::vector<void *> live;
  for (int i = 0; i < 40000; i++) live.push_back(hak_malloc(600));
  for (unsigned c = 1; c < HAK_CLASSES_USED; c++) {
    burst(c, is_small(c) ? 5000 : 200);
    ASSERT_LE(reserved(context(), true), 256 * kKiB);
    ASSERT_LE(reserved(context(), false), kMiB);
  }
  for (void *p : live) hak_free(p);
  EXPECT_LE(reserved(context(), true), 256 * kKiB);
}

TEST(Magazine, ClassesThatSwingGetAShareOfALargeHeap) {
  std::vector<void *> live;
  for (int i = 0; i < 40000; i++) live.push_back(hak_malloc(600));
  for (int i = 0; i < 300; i++) {
    for (unsigned c = 17; is_small(c); c++) {
      for (int k = 0; k < 6; k++) burst(c, 200);
    }
    ASSERT_LE(reserved(context(), true), hak_slab_bytes() * g_settings.cache_heap_percent / 200);
  }
  EXPECT_GT(reserved(context(), true), 256 * kKiB);
  for (void *p : live) hak_free(p);
}

TEST(Magazine, ABoundThatIsLoweredIsKeptAtTheNextMisses) {
  for (const char *knob : {"process_cache_bytes", "lab_thread_small_bytes", "lab_thread_cache_bytes"}) {
    char saved[32];
    ASSERT_EQ(hak_get(knob, saved, sizeof saved), 0);
    for (int i = 0; i < 10; i++) burst(20, 1000);
    EXPECT_GT(context()->all_bytes, 20 * kKiB);
    ASSERT_EQ(hak_set(knob, "4K"), 0);
    ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
    for (int i = 0; i < 10; i++) burst(20, 1000);
    EXPECT_LE(context()->all_bytes, 4 * kKiB) << knob;
    EXPECT_LE(hak_inside_budget(), 4 * kKiB) << knob;
    ASSERT_EQ(hak_set(knob, saved), 0);
  }
}

TEST(Magazine, AClassInUseGetsWhatAnIdleOneHad) {
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  for (unsigned c = 1; c <= 30; c++) {
    for (int i = 0; i < 10; i++) burst(c, 1000);
  }
  EXPECT_GT(context()->small_bytes, 200 * kKiB);
  for (int i = 0; i < 3000; i++) burst(32, 64);
  EXPECT_GE(context()->capacity[32], 31u);
  EXPECT_LE(context()->small_bytes, 256 * kKiB);
}

TEST(Magazine, WithoutABudgetEveryCallGoesToTheSlabs) {
  hak_trim(0);
  ASSERT_EQ(hak_set("process_cache_bytes", "0"), 0);
  const uint64_t ops = operations;
  for (int i = 0; i < 100; i++) burst(3, 1);
  EXPECT_EQ(operations, ops + 200);
  EXPECT_EQ(hak_inside_budget(), 0u);
  EXPECT_EQ(context()->all_bytes, 0u);
}

TEST(Magazine, WithoutMetadataEveryCallGoesToTheSlabs) {
  burst(3, 1);
  hak_trim(0);
  no_metadata = true;
  for (int i = 0; i < 100; i++) burst(kLastClass, 3); /* whose bitmap needs none */
  EXPECT_EQ(hak_inside_budget(), 0u) << "what was reserved was given up";
  no_metadata = false;
  burst(kLastClass, 3);
  EXPECT_GT(hak_inside_budget(), 0u);
}

TEST(Magazine, TrimGivesEverythingUp) {
  for (unsigned c = 1; c < HAK_CLASSES_USED; c++) burst(c, 20);
  EXPECT_EQ(hak_inside_budget(), reserved_by_all());
  hak_trim(0);
  EXPECT_EQ(hak_inside_budget(), 0u);
  EXPECT_EQ(reserved_by_all(), 0u);
  EXPECT_EQ(hak_slab_bytes(), 0u) << "no slab is kept or owned";
}

/* ---- all threads together ---- */

constexpr unsigned kThreads = 12;

/* Threads that fill their caches and pass blocks to their neighbours; `check` runs while all threads rest. */
template <typename Check>
void busy_threads(unsigned rounds, Check check) {
  Barrier barrier(kThreads + 1);
  std::vector<std::vector<void *>> passed(kThreads);
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < kThreads; me++) {
    threads.emplace_back([&, me] {
      std::mt19937 random(me);
      for (unsigned round = 0; round < rounds; round++) {
        for (int i = 0; i < 20; i++) {
          const unsigned c = 1 + random() % (HAK_CLASSES_USED - 1);
          burst(c, 1 + random() % (is_small(c) ? 600 : 40));
          for (int k = 0; k < 50; k++) passed[me].push_back(hak_malloc(g_class[c].bytes));
        }
        barrier.wait();
        barrier.wait();
        std::vector<void *> &theirs = passed[(me + 1) % kThreads];
        for (void *p : theirs) hak_free(p);
        theirs.clear();
        barrier.wait();
      }
    });
  }
  for (unsigned round = 0; round < rounds; round++) {
    barrier.wait();
    check();
    barrier.wait();
    barrier.wait();
  }
  for (auto &thread : threads) thread.join();
}

TEST(Magazine, AllThreadsStayWithinTheProcessBudget) {
  ASSERT_EQ(hak_set("process_cache_bytes", "2M"), 0);
  size_t most = 0;
  busy_threads(HAK_TSAN ? 5 : 25, [&] {
    const size_t now = reserved_by_all();
    most = std::max(most, now);
    EXPECT_LE(now, 2 * kMiB);
    EXPECT_EQ(now, hak_inside_budget());
  });
  EXPECT_GT(most, kMiB);
}

TEST(Magazine, TheDefaultBudgetHoldsToo) {
  busy_threads(HAK_TSAN ? 2 : 6, [&] {
    EXPECT_LE(reserved_by_all(), 64 * kMiB);
    EXPECT_EQ(reserved_by_all(), hak_inside_budget());
  });
}

TEST(Magazine, AnExitGivesEverythingBack) {
  busy_threads(2, [] {});
  EXPECT_EQ(hak_registry_count(), hak_context == &g_empty_context ? 0u : 1u);
  EXPECT_EQ(hak_inside_budget(), reserved_by_all());
  hak_trim(0);
  EXPECT_EQ(hak_inside_budget(), 0u);
  EXPECT_EQ(hak_slab_bytes(), 0u);
  EXPECT_EQ(hak_bytes_in_use(), 0u);
}

/* A block that a thread freed twice is found at its end at the latest. */
TEST(Magazine, ADoubleFreeIsFoundAtTheThreadsEnd) {
  if (HAK_TSAN) GTEST_SKIP() << "a death test";
  EXPECT_DEATH(std::thread([] {
                 void *p = hak_malloc(48), *q = hak_malloc(48);
                 hak_free(p);
                 hak_free(q);
                 hak_free(p);
               }).join(),
               "double free");
}

/* ---- slabs ---- */

TEST(Magazine, ThreadsThatNeedLittleShareASlab) {
  constexpr unsigned kThreads = 8;
  std::vector<char *> blocks(kThreads);
  std::vector<std::thread> threads;
  Barrier barrier(kThreads);
  for (char *&p : blocks) {
    threads.emplace_back([&] {
      p = static_cast<char *>(hak_malloc(64));
      barrier.wait();
    });
  }
  for (auto &thread : threads) thread.join();
  std::set<uint32_t> slabs;
  for (char *p : blocks) slabs.insert(hak_range_run_of(p));
  EXPECT_LE(slabs.size(), 2u) << "another thread may be between a fill and the release of the slab";
  std::vector<char *> many(2000), others(2000);
  for (auto *mine : {&many, &others}) {
    std::thread([&] {
      for (char *&p : *mine) p = static_cast<char *>(hak_malloc(64));
    }).join();
  }
  EXPECT_NE(hak_range_run_of(many.back()), hak_range_run_of(others.back())) << "much: each has a slab of its own";
}

}  // namespace

size_t __wrap_hak_slab_fill(unsigned c, uint32_t *current, void **out, size_t want) {
  operations++;
  filled_in = hak_load(&hak_context->visits);
  class_operations[c]++;
  return __real_hak_slab_fill(c, current, out, want);
}

size_t __wrap_hak_slab_put(unsigned c, void *const *blocks, size_t n, size_t steps, struct hak_fault *fault) {
  operations++;
  class_operations[c]++;
  return __real_hak_slab_put(c, blocks, n, steps, fault);
}

size_t __wrap_hak_depot_take(unsigned c, void **out, size_t want) {
  operations++;
  class_operations[c]++;
  depot_operations++;
  return __real_hak_depot_take(c, out, want);
}

size_t __wrap_hak_depot_put(unsigned c, void *const *blocks, size_t n) {
  operations++;
  class_operations[c]++;
  depot_operations++;
  return no_packs ? 0 : __real_hak_depot_put(c, blocks, n);
}

void *__wrap_hak_meta_get(size_t bytes) {
  void *p = no_metadata ? nullptr : __real_hak_meta_get(bytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 16, 0u) << "a piece came back at another address than it has";
  return p;
}
