/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* routes_test.cpp: the route of each call, by the counters. Runs with libhakmem.so preloaded and HAKMEM_COUNT_CALLS=on.
 *
 * what      A walk along a magazine's boundary, local pairs, large and big blocks in steady state, and that every
 *           call is counted once.
 * owner     Tests free all blocks. Each case runs in a separate process.
 * failure   Names the counters that moved and should not have.
 * not here  Time: no test asserts a time. System calls as strace shows them: process_test.py.
 */
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#include "hakmem/hakmem.h"
#pragma GCC diagnostic pop

namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;

void *hidden(void *p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}
void *take(size_t n) { return hidden(malloc(n)); }
void pair_of(size_t n) { free(take(n)); }

uint64_t counter(const std::string &wanted) {
  const char *name = nullptr;
  uint64_t value = 0;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++)
    if (wanted == name) return value;
  ADD_FAILURE() << "no counter " << wanted;
  return 0;
}

uint64_t sum_of(std::initializer_list<const char *> names) {
  uint64_t sum = 0;
  for (const char *name : names) sum += counter(name);
  return sum;
}

uint64_t beyond_the_magazine() { return sum_of({"alloc_depot", "alloc_slab", "free_depot", "free_slab"}); }
uint64_t kernel_calls() {
  return sum_of({"kernel_map", "kernel_unmap", "kernel_advise", "kernel_remap", "kernel_futex"});
}
uint64_t all_allocations() {
  return sum_of({"alloc_magazine", "alloc_depot", "alloc_slab", "alloc_large", "alloc_big", "alloc_in_place",
                 "alloc_failed"});
}
uint64_t all_frees() {
  return sum_of({"free_magazine", "free_depot", "free_slab", "free_large", "free_big", "free_null"});
}

/* A stack of blocks of one size; room is allocated before, so that pushing a block allocates nothing else. */
class Stack {
 public:
  explicit Stack(size_t n) : n_(n) { held_.reserve(40000); /* in a run that no magazine takes */ }
  ~Stack() { shrink(held_.size()); }
  void grow(size_t count) {
    for (size_t i = 0; i < count; i++) held_.push_back(take(n_));
  }
  void shrink(size_t count) {
    for (size_t i = 0; i < count; i++) {
      free(held_.back());
      held_.pop_back();
    }
  }

 private:
  size_t n_;
  std::vector<void *> held_;
};

void warm_up(Stack &stack, size_t deep) {
  for (int i = 0; i < 10; i++) {
    stack.grow(deep);
    stack.shrink(deep);
  }
}

/* Calls between two calls that leave the magazine, on a straight walk: the shortest such distance, once warm. */
size_t refill_distance(Stack &stack, size_t deep) {
  size_t shortest = deep;
  size_t last = 0;
  bool seen = false;
  for (size_t i = 0; i < deep; i++) {
    const uint64_t before = beyond_the_magazine();
    stack.grow(1);
    if (beyond_the_magazine() == before) continue;
    if (seen) shortest = std::min(shortest, i - last);
    seen = true;
    last = i;
  }
  stack.shrink(deep);
  return shortest;
}

size_t depth_for(size_t n) { return std::min<size_t>(4000, 16 * kMiB / n); }

class Boundary : public ::testing::TestWithParam<size_t> {};

/* At every depth: a few blocks back and forth, 32 times. Wherever the boundary lies, the cost is at most the cost of
 * two crossings. */
TEST_P(Boundary, ShortStepsBackAndForthDoNotThrash) {
  const size_t deep = depth_for(GetParam());
  Stack stack(GetParam());
  warm_up(stack, deep);
  for (size_t depth = 0; depth + 4 < std::min<size_t>(deep, 600); depth++) {
    stack.grow(1);
    for (size_t width = 1; width <= 3; width++) {
      const uint64_t before = beyond_the_magazine();
      for (int i = 0; i < 32; i++) {
        stack.grow(width);
        stack.shrink(width);
      }
      ASSERT_LE(beyond_the_magazine() - before, 2U) << "at depth " << depth << ", width " << width;
    }
  }
}

/* Zigzags of any width: at most one depot or slab operation per half capacity. */
TEST_P(Boundary, ZigzagsCostOneOperationPerHalfCapacity) {
  const size_t deep = depth_for(GetParam());
  Stack stack(GetParam());
  warm_up(stack, deep);
  const size_t half = std::max<size_t>(1, refill_distance(stack, deep) / 2);
  for (size_t width : {half / 2 + 1, half, half + 1, 2 * half, 2 * half + 1, 3 * half}) {
    for (size_t start = 0; start < 4 * half && start + width < deep; start += half / 3 + 1) {
      stack.grow(start);
      const uint64_t before = beyond_the_magazine();
      for (int i = 0; i < 20; i++) {
        stack.grow(width);
        stack.shrink(width);
      }
      const uint64_t calls = 40 * width;
      ASSERT_LE(beyond_the_magazine() - before, calls / half + 2) << "from " << start << ", width " << width
                                                                  << ", half a capacity " << half;
      stack.shrink(start);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Boundary, ::testing::Values(16, 64, 200, 1000, 1024, 1025, 4000, 16000, 32768),
                         [](const auto &instance) { return "bytes" + std::to_string(instance.param); });

/* Tiny to mid pool: a local pair uses only the magazine. */
TEST(LocalPairs, StayInTheMagazine) {
  for (size_t n = 1; n <= 32 * kKiB; n += n / 4 + 1) {
    for (int i = 0; i < 10; i++) pair_of(n);
    const uint64_t beyond = beyond_the_magazine();
    const uint64_t kernel = kernel_calls();
    const uint64_t served = counter("alloc_magazine");
    const uint64_t taken = counter("free_magazine");
    for (int i = 0; i < 1000; i++) pair_of(n);
    ASSERT_EQ(beyond_the_magazine(), beyond) << n;
    ASSERT_EQ(kernel_calls(), kernel) << n;
    ASSERT_EQ(counter("alloc_magazine") - served, 1000U) << n;
    ASSERT_EQ(counter("free_magazine") - taken, 1000U) << n;
  }
}

/* So do 100 blocks at a time, first in first out. */
TEST(LocalPairs, AHundredDeepStayInTheMagazine) {
  std::vector<void *> held(100);
  for (size_t n : {16, 100, 500}) {
    uint64_t beyond = 0;
    for (int round = 0; round < 200; round++) {
      if (round == 100) beyond = beyond_the_magazine();
      for (void *&p : held) p = take(n);
      for (void *p : held) free(p);
    }
    EXPECT_EQ(beyond_the_magazine(), beyond) << n;
  }
}

TEST(LargeBlocks, SteadyStateMakesNoKernelCall) {
  for (size_t n : {33 * kKiB, 64 * kKiB, 256 * kKiB, 700 * kKiB, kMiB - 1}) {
    for (int i = 0; i < 10; i++) pair_of(n);
    const uint64_t kernel = kernel_calls();
    const uint64_t served = counter("alloc_large");
    for (int i = 0; i < 10000; i++) {
      char *p = static_cast<char *>(take(n));
      p[0] = p[n - 1] = 1;
      free(p);
    }
    EXPECT_EQ(kernel_calls(), kernel) << n;
    EXPECT_EQ(counter("alloc_large") - served, 10000U) << n;
  }
}

/* A working set of sixteen, replaced at random. */
TEST(LargeBlocks, AWorkingSetMakesNoKernelCall) {
  std::vector<void *> held(16, nullptr);
  uint32_t state = 1;
  uint64_t kernel = 0;
  for (int i = 0; i < 4000; i++) {
    if (i == 2000) kernel = kernel_calls();
    state = state * 1664525 + 1013904223;
    void *&slot = held[(state >> 8) % 16];
    free(slot);
    slot = take(256 * kKiB);
  }
  EXPECT_EQ(kernel_calls(), kernel);
  for (void *p : held) free(p);
}

long faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/* The first of ten blocks is new, nine are hits, and the pages are faulted in once. */
TEST(BigBlocks, TenPairsAreNineHits) {
  const uint64_t hits = counter("big_hits");
  const long before = faults();
  for (int i = 0; i < 10; i++) {
    void *p = take(2 * kMiB);
    memset(p, 1, 2 * kMiB);
    free(p);
  }
  EXPECT_EQ(counter("big_hits") - hits, 9U);
  EXPECT_LE(faults() - before, 512 + 64);
}

struct hak_stats stats_now() {
  struct hak_stats stats {};
  stats.version = HAK_STATS_VERSION;
  stats.size = sizeof stats;
  EXPECT_EQ(hak_get_stats(&stats), 0);
  return stats;
}

void free_many_big(size_t n, size_t count) {
  std::vector<void *> held;
  for (size_t i = 0; i < count; i++) held.push_back(take(n));
  for (void *p : held) free(p);
}

TEST(BigBlocks, TheCacheKeepsItsLimits) {
  free_many_big(2 * kMiB, 40);
  EXPECT_GT(stats_now().big_cached, 0U);
  EXPECT_LE(stats_now().big_cached, 32 * kMiB);
  ASSERT_EQ(hak_set("big_cache_bytes", "6M"), 0);
  free_many_big(2 * kMiB, 10);
  EXPECT_LE(stats_now().big_cached, 6 * kMiB);
  ASSERT_EQ(hak_set("big_cache_bytes", "0"), 0);
  free_many_big(2 * kMiB, 1);
  EXPECT_EQ(stats_now().big_cached, 0U);
}

/* A cached block that was shrunk, or is of another size class, must not serve a larger request. */
TEST(BigBlocks, AHitIsLargeEnough) {
  for (int round = 0; round < 200; round++) {
    const size_t n = kMiB + (static_cast<size_t>(round) * 7919 % 64) * 128 * kKiB;
    char *p = static_cast<char *>(take(n));
    memset(p, round, n);
    ASSERT_GE(malloc_usable_size(p), n);
    free(p);
  }
}

/* realloc to zero bytes is one call, though it frees. */
TEST(Counting, EveryCallIsCountedOnce) {
  const uint64_t calls = all_allocations() + all_frees();
  void *p = take(100);
  void *q = hidden(calloc(10, 100));
  p = hidden(realloc(p, 105));
  p = hidden(realloc(p, 100000));
  p = hidden(realloc(p, 5000000));
  p = hidden(realloc(p, 9000000));
  void *r = hidden(aligned_alloc(4096, 10000));
  void *s = hidden(malloc(SIZE_MAX));
  q = hidden(realloc(q, 0));
  free(p);
  free(r);
  free(s);
  EXPECT_EQ(all_allocations() + all_frees() - calls, 12U);
}

TEST(Counting, TenThousandCallsOfAllSizes) {
  std::vector<void *> held(1000, nullptr);
  const uint64_t allocations = all_allocations();
  const uint64_t frees = all_frees();
  uint32_t state = 7;
  for (int i = 0; i < 10000; i++) {
    state = state * 1664525 + 1013904223;
    void *&slot = held[(state >> 8) % 1000];
    free(slot);
    slot = take(i % 100 == 0 ? (state >> 8) % 3000000 : (state >> 8) % 5000);
  }
  const uint64_t freed = all_frees() - frees;
  EXPECT_EQ(all_allocations() - allocations, 10000U);
  EXPECT_EQ(freed, 10000U);
  for (void *p : held) free(p);
}

/* Slab frees are classified by the thread that last filled from the slab. */
TEST(Counting, AnotherThreadsFreesAreRemote) {
  std::vector<void *> held(40000);
  for (void *&p : held) p = take(64);
  const uint64_t remote = counter("free_remote");
  std::thread([&held] {
    for (void *p : held) free(p);
  }).join();
  EXPECT_GT(counter("free_remote"), remote);
}

TEST(Counting, OffCountsNothing) {
  ASSERT_EQ(hak_set("count_calls", "off"), 0);
  for (int i = 0; i < 100; i++) pair_of(100);
  const uint64_t allocations = all_allocations();
  for (int i = 0; i < 1000; i++) pair_of(100);
  EXPECT_EQ(all_allocations(), allocations);
  ASSERT_EQ(hak_set("count_calls", "on"), 0);
  for (int i = 0; i < 1000; i++) pair_of(100);
  EXPECT_GE(all_allocations(), allocations + 999);
}

void churn(size_t rounds) {
  for (size_t round = 0; round < rounds; round++)
    for (size_t n = 16; n <= 32 * kKiB; n += n / 8 < 16 ? 16 : n / 8) {
      Stack stack(n);
      stack.grow(std::min<size_t>(3000, 4 * kMiB / n));
    }
}

void touch_classes_up_to(size_t largest) {
  for (int round = 0; round < 3; round++)
    for (size_t n = 16; n <= largest; n += n < 128 ? 16 : n / 8) {
      Stack stack(n);
      stack.grow(1000);
    }
}

/* The bounds that hold whatever the heap's size. */
TEST(Caches, OneThreadStaysWithinItsBudget) {
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  touch_classes_up_to(kKiB);
  EXPECT_GT(stats_now().cached, 0U);
  EXPECT_LE(stats_now().cached, 256 * kKiB);
  touch_classes_up_to(32 * kKiB);
  EXPECT_LE(stats_now().cached, kMiB);
}

TEST(Caches, OneThreadStaysWithinTheProcessBudget) {
  ASSERT_EQ(hak_set("process_cache_bytes", "2M"), 0);
  churn(2);
  EXPECT_LE(stats_now().cached, 2 * kMiB);
}

TEST(Caches, AllThreadsTogetherStayWithinTheProcessBudget) {
  ASSERT_EQ(hak_set("process_cache_bytes", "8M"), 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) threads.emplace_back(churn, 2);
  for (std::thread &thread : threads) thread.join();
  churn(1);
  EXPECT_LE(stats_now().cached, 8 * kMiB);
}

}  // namespace
