/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* run_magazine_test.cpp: magazines of short runs.
 *
 * what      cache/magazine.c with the whole library below it. The linker puts this file's functions in front of the
 *           functions of blocks/large.c, to count calls.
 * owner     Each case runs in a separate process.
 * failure   A run in a magazine that should not be there, or a run handed out twice, fails the test.
 * not here  Slabs' classes: magazine_test.cpp. Wrong frees: tests/wrongfree.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <sys/auxv.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/depot.h"
#include "blocks/large.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "entry/thread.h"
#include "retain/footprint.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"

size_t __real_hak_large_fill(unsigned c, void **out, size_t want);
size_t __wrap_hak_large_fill(unsigned c, void **out, size_t want);
void __real_hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);
void __wrap_hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault);
void *__real_hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero);
void *__wrap_hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero);
size_t __real_hak_large_free(uint32_t unit, const void *p);
size_t __wrap_hak_large_free(uint32_t unit, const void *p);
}

namespace {

constexpr size_t kKiB = 1024, kUnit = HAK_UNIT_BYTES;

std::atomic<uint64_t> fills, put_backs, clean_wishes;

unsigned capacity(unsigned c) { return hak_thread_context()->capacity[c]; }

hak_stats stats() {
  hak_stats s = {};
  s.version = HAK_STATS_VERSION;
  s.size = sizeof s;
  EXPECT_EQ(hak_get_stats(&s), 0);
  return s;
}

/* Lengths and classes are told for pages of 4 KiB: longer ones make several sizes one class. */
bool pages_are_longer() { return getauxval(AT_PAGESZ) > 4096; }

/* Allocates and then frees n runs of this size. */
void burst(size_t bytes, size_t n) {
  std::vector<void *> blocks(n);
  for (void *&p : blocks) p = hak_malloc(bytes);
  for (void *p : blocks) hak_free(p);
}

void bursts(size_t bytes, size_t n, int times) {
  for (int i = 0; i < times; i++) burst(bytes, n);
}

TEST(RunMagazine, OfPairsFewReachTheBox) {
  if (pages_are_longer()) GTEST_SKIP();
  for (const size_t n : {32 * kKiB + 1, kUnit, kUnit + 1, 3 * kUnit, 3 * kUnit + 1, 4 * kUnit}) {
    const unsigned c = hak_run_class_of(n);
    bursts(n, 1, 12);
    EXPECT_EQ(capacity(c), 1u) << n;
    const uint64_t before = fills + put_backs;
    bursts(n, 1, 1000);
    EXPECT_EQ(fills + put_backs, before) << n;
    EXPECT_EQ(hak_magazine_blocks(hak_thread_context(), c), 1u);
  }
  EXPECT_EQ(stats().cached, 36 * kKiB + kUnit + 72 * kKiB + 3 * kUnit + 208 * kKiB + 4 * kUnit);
}

/* Two sizes in turn are served; in a mixture of many, whole pages cost less memory than classes. */
TEST(RunMagazine, AMixtureOfManySizesGetsNone) {
  if (pages_are_longer()) GTEST_SKIP();
  std::mt19937 random(1);
  std::vector<void *> slots(64);
  for (int i = 0; i < 20000; i++) {
    void *&p = slots[random() % slots.size()];
    hak_free(p);
    p = hak_malloc(66000 + random() % 64000);
  }
  size_t open = 0;
  for (unsigned c = HAK_RUN_CLASS; c < HAK_CLASSES; c++) open += capacity(c) != 0;
  EXPECT_LE(open, 1u);
  for (void *p : slots) hak_free(p);
  for (int i = 0; i < 100; i++) {
    void *p = hak_malloc(66000), *q = hak_malloc(130000);
    hak_free(p);
    hak_free(q);
  }
  EXPECT_EQ(capacity(hak_run_class_of(66000)), 1u);
  EXPECT_EQ(capacity(hak_run_class_of(130000)), 1u);
}

TEST(RunMagazine, OneThatIsNeverTakenAgainIsNotKept) {
  for (unsigned c = HAK_RUN_CLASS; c < HAK_CLASSES; c++) {
    hak_free(hak_malloc(g_class[c].bytes));
    EXPECT_EQ(capacity(c), 0u);
  }
  EXPECT_EQ(stats().cached, 0u);
}

TEST(RunMagazine, FewBurstsGetNothing) {
  for (const size_t deep : {4, 20}) bursts(100000, deep, 1);
  EXPECT_EQ(capacity(hak_run_class_of(100000)), 0u);
  EXPECT_EQ(stats().cached, 0u);
}

/* 200 blocks of 104 KiB that stay anyway: the thread holds its share of the 20 MiB, and few slow paths are left. */
TEST(RunMagazine, BurstsOfRunsThatStayAreServed) {
  bursts(100000, 200, 100);
  EXPECT_GE(capacity(hak_run_class_of(100000)), 15u);
  EXPECT_LE(stats().cached, 200 * 104 * kKiB / 2);
  const uint64_t before = fills + put_backs;
  bursts(100000, 200, 10);
  EXPECT_LE(fills + put_backs, before + 2 * 200 * 10 / 4);
}

TEST(RunMagazine, WhatLiesThereAnywayCountsWhereNoShareIsAllowed) {
  ASSERT_EQ(hak_set("price", "lean"), 0);
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  bursts(100000, 200, 100);
  EXPECT_LE(stats().cached, hak_setting(thread_cache_bytes));
}

TEST(RunMagazine, GrowsWhereItSwings) {
  const unsigned c = hak_run_class_of(kUnit);
  bursts(kUnit, 2, 100);
  EXPECT_EQ(capacity(c), 3u);
  const uint64_t before = fills + put_backs;
  bursts(kUnit, 3, 1000);
  EXPECT_LE(fills + put_backs, before + 4);
}

TEST(RunMagazine, StaysBelowItsBounds) {
  std::mt19937 random(1);
  std::vector<void *> slots(64);
  for (int i = 0; i < 200000; i++) {
    void *&p = slots[random() % slots.size()];
    hak_free(p);
    p = hak_malloc(i % 8 == 0 ? 100000 : i % 2 == 0 ? 150000 : 40000);
  }
  size_t all = 0;
  for (unsigned c = HAK_RUN_CLASS; c < HAK_CLASSES; c++) {
    all += capacity(c) * size_t{g_class[c].bytes};
  }
  EXPECT_GT(all, 0u);
  EXPECT_LE(all, hak_setting(thread_cache_bytes) + g_footprint.spare / 2);
  for (void *p : slots) hak_free(p);
  hak_trim(0);
  EXPECT_EQ(stats().cached, 0u);
  EXPECT_EQ(stats().large_live, 0u);
}

TEST(RunMagazine, WithoutABudgetEveryCallGoesToTheBox) {
  ASSERT_EQ(hak_set("lab_thread_cache_bytes", "0"), 0);
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  bursts(100000, 1, 1000);
  EXPECT_EQ(fills, 1000u);
  EXPECT_EQ(put_backs, 1000u);
}

TEST(RunMagazine, WhatLiesInItIsNotInUse) {
  if (pages_are_longer()) GTEST_SKIP();
  void *p = hak_malloc(100000);
  bursts(100000, 1, 20);
  const hak_stats s = stats();
  EXPECT_EQ(s.large_live, (100 + 104) * kKiB);
  EXPECT_EQ(s.cached, 104 * kKiB);
  EXPECT_EQ(s.in_use, 100 * kKiB);
  hak_free(p);
  hak_trim(0);
  EXPECT_EQ(stats().large_live, 0u);
  EXPECT_EQ(stats().in_use, 0u);
}

TEST(RunMagazine, TheLengthSaysWhichOneTakesIt) {
  for (const size_t units : {1, 2, 3, 4}) bursts(units * kUnit, 1, 12);
  hak_trim(0);
  void *p = hak_malloc(kUnit);
  for (const size_t units : {2, 4, 5, 3, 1}) {
    void *q = hak_realloc(p, units * kUnit);
    ASSERT_NE(q, nullptr);
    EXPECT_GE(hak_usable_size(q), units * kUnit);
    EXPECT_LE(hak_usable_size(q), units * kUnit / 8 * 9) << "room for further growth";
    p = q;
  }
  for (const size_t units : {1, 2, 3, 4}) bursts(units * kUnit, 1, 12);
  hak_free(p);
  void *again = hak_malloc(kUnit);
  EXPECT_EQ(hak_usable_size(again), kUnit);
  hak_free(again);
}

TEST(RunMagazine, ServesCallocAndMemalign) {
  bursts(150000, 1, 20);
  void *dirty = hak_malloc(150000);
  std::memset(dirty, 1, 150000);
  hak_free(dirty);
  char *p = static_cast<char *>(hak_calloc(3, 50000));
  EXPECT_EQ(p, dirty);
  for (size_t i = 0; i < 150000; i++) ASSERT_EQ(p[i], 0) << i;
  hak_free(p);
  void *aligned = hak_memalign(4096, 150000);
  EXPECT_EQ(aligned, dirty);
  hak_free(aligned);
  aligned = hak_memalign(kUnit, 150000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % kUnit, 0u);
  hak_free(aligned);
}

TEST(RunMagazine, ACallocThatFindsNoneAsksForCleanMemory) {
  bursts(150000, 1, 20);
  void *p = hak_malloc(150000);
  const uint64_t before = clean_wishes;
  void *q = hak_calloc(1, 150000);
  EXPECT_EQ(clean_wishes, before + 1);
  hak_free(p);
  hak_free(q);
}

/* NULL is looked up while a second thread's first run decides the place of the range. */
TEST(RunMagazine, NothingMayBeFreedWhileTheFirstRunIsMade) {
  constexpr int kThreads = 4;
  std::atomic<int> ready{0};
  auto work = [&](bool takes) {
    for (ready++; ready < kThreads;) std::this_thread::yield();
    void *p = takes ? hak_malloc(100000) : nullptr;
    for (int i = 0; i < 1000; i++) hak_free(nullptr);
    hak_free(p);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) threads.emplace_back(work, i % 2 == 0);
  for (auto &thread : threads) thread.join();
}

/* Threads exchange runs of all lengths. */
TEST(RunMagazine, NoneIsHandedOutTwice) {
  constexpr size_t kSlots = 32, kThreads = 4;
  std::mutex mutex[kSlots];
  struct {
    unsigned char *p;
    size_t bytes;
    unsigned char mark;
  } slot[kSlots] = {};
  auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 20000; i++) {
      const size_t k = random() % kSlots, n = 20000 + random() % 300000;
      const std::lock_guard<std::mutex> lock(mutex[k]);
      auto &s = slot[k];
      if (s.p != nullptr) {
        ASSERT_EQ(s.p[0], s.mark);
        ASSERT_EQ(s.p[s.bytes - 1], s.mark);
      }
      if (i % 7 == 0 && s.p != nullptr) {
        s.p = static_cast<unsigned char *>(hak_realloc(s.p, n));
      } else {
        hak_free(s.p);
        s.p = static_cast<unsigned char *>(i % 5 == 0 ? hak_memalign(kUnit << i % 3, n) : hak_malloc(n));
      }
      s.bytes = n;
      s.mark = static_cast<unsigned char>(random());
      s.p[0] = s.p[n - 1] = s.mark;
      if (i % 1000 == 0) hak_trim(0);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; i++) threads.emplace_back(work, i);
  for (std::thread &thread : threads) thread.join();
  for (auto &s : slot) hak_free(s.p);
  hak_trim(0);
  EXPECT_EQ(stats().large_live, 0u);
}

}  // namespace

size_t __wrap_hak_large_fill(unsigned c, void **out, size_t want) {
  fills++;
  return __real_hak_large_fill(c, out, want);
}

void __wrap_hak_large_put(unsigned c, void *const *blocks, size_t n, struct hak_fault *fault) {
  put_backs++;
  __real_hak_large_put(c, blocks, n, fault);
}

void *__wrap_hak_large_alloc(size_t n, size_t align, unsigned site, bool *zero) {
  fills++;
  clean_wishes += *zero;
  return __real_hak_large_alloc(n, align, site, zero);
}

size_t __wrap_hak_large_free(uint32_t unit, const void *p) {
  put_backs++;
  return __real_hak_large_free(unit, p);
}
