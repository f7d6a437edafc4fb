/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_test.cpp: the choice of sampled blocks, and their records until the free.
 *
 * what      With one byte in one every block is sampled: then the table's live blocks are exactly the live blocks. With
 *           the usual gaps sums are right in the mean over many seeds (a seed per thread).
 * owner     Each case runs in a separate process.
 * not here  Files: tests/process/profile_test.py.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "entry/sampled.h"
#include "entry/thread.h"
#include "record/profile_ages.h"
#include "record/profile_samples.h"
#include "tables/counters.h"
#include "tables/site.h"
}

namespace {

struct Sums {
  double blocks = 0, bytes = 0, asked = 0, ever = 0;
};

void note(const struct hak_backtrace *stack, void *to) {
  Sums &sums = *static_cast<Sums *>(to);
  sums.blocks += stack->live.blocks;
  sums.bytes += stack->live.bytes;
  sums.asked += stack->live.asked;
  sums.ever += stack->taken.bytes;
}

Sums sampled() {
  Sums sums;
  hak_samples_lock();
  hak_samples_visit(note, &sums);
  hak_samples_unlock();
  return sums;
}

struct Block {
  void *p = nullptr;
  size_t asked = 0;
};

size_t some_size(std::mt19937_64 &random) {
  static const size_t most[] = {64, 1024, 32768, 65536, 262144, 1 << 20, 3 << 20};
  return 1 + random() % most[random() % 7];
}

Block some_block(std::mt19937_64 &random) {
  size_t n = some_size(random);
  switch (random() % 5) {
    case 0: return {hak_calloc(1, n), n};
    case 1: return {hak_aligned_alloc(size_t{16} << random() % 9, n), 0};
    case 2: return {hak_realloc(nullptr, n), n};
    default: return {hak_malloc(n), n};
  }
}

/* Random calls on blocks shared by all threads: a block is seldom freed by its allocating thread. */
class Heap {
 public:
  explicit Heap(size_t places) : blocks_(places), locks_(places) {}

  void work(uint64_t seed, int steps) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < steps; i++) step(random);
  }

  void end() {
    for (Block &b : blocks_) hak_free(b.p), b = {};
  }

  Sums live() const {
    Sums sums;
    for (const Block &b : blocks_) {
      sums.blocks += b.p != nullptr;
      sums.bytes += static_cast<double>(hak_usable_size(b.p));
    }
    return sums;
  }

 private:
  void step(std::mt19937_64 &random) {
    size_t at = random() % blocks_.size();
    std::lock_guard<std::mutex> hold(locks_[at]);
    Block &b = blocks_[at];
    if (b.p == nullptr) {
      b = some_block(random);
      ASSERT_NE(b.p, nullptr);
      memset(b.p, 1, std::min<size_t>(hak_usable_size(b.p), 100));
    } else if (random() % 2 == 0) {
      size_t n = random() % 2 ? some_size(random) : hak_usable_size(b.p) * (random() % 4 + 1) / 2 + 1;
      b = {hak_realloc(b.p, std::min<size_t>(n, 4 << 20)), n};
      ASSERT_NE(b.p, nullptr);
    } else {
      hak_free(b.p);
      b = {};
    }
  }

  std::vector<Block> blocks_;
  std::vector<std::mutex> locks_;
};

/* Blocks in all rows: allocated or freed, and live. */
struct Rows {
  double past = 0, live = 0;
};

Rows rows_of(enum hak_ages_kind kind) {
  Rows sum;
  char text[4000];
  for (unsigned next = 0; hak_ages_text(kind, &next, text, sizeof text);) {
    std::istringstream rest(std::string(text).substr(std::string(text).find(':') + 1));
    double bound, blocks, bytes, live, live_bytes;
    for (char end; rest >> bound >> blocks >> bytes >> live >> live_bytes >> end;) sum.past += blocks, sum.live += live;
  }
  return sum;
}

/* The table is read first: the read sums up live bytes. */
void expect_ages(const Heap &heap) {
  sampled();
  Rows sizes = rows_of(HAK_SIZES), ages = rows_of(HAK_AGES);
  EXPECT_EQ(sizes.live, heap.live().blocks);
  EXPECT_EQ(ages.live, heap.live().blocks);
  EXPECT_EQ(ages.past + ages.live, sizes.past) << "each block was freed once, or is live";
}

void expect_all(const Heap &heap) {
  Sums is = sampled(), live = heap.live();
  EXPECT_NEAR(is.blocks, live.blocks, 1e-3);
  EXPECT_NEAR(is.bytes, live.bytes, 1e-3 * live.bytes);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_samples_lost), 0u);
}

TEST(Profile, EachBlockIsFollowedToItsEnd) {
  ASSERT_EQ(hak_profile_start(1), 0);
  size_t before = hak_bytes_in_use();
  Heap heap(200);
  for (uint64_t round = 1; round <= 20; round++) {
    heap.work(round, 500);
    expect_all(heap);
    expect_ages(heap);
    EXPECT_EQ(static_cast<double>(hak_bytes_in_use() - before), heap.live().bytes);
  }
  heap.end();
  EXPECT_NEAR(sampled().blocks, 0, 1e-3);
  EXPECT_EQ(hak_bytes_in_use(), before);
}

/* Runs of pages carry the number of their site, and the table of sites has room for HAK_SITES. */
TEST(Profile, BlocksOfMoreSitesThanTheTableHasAreFollowedToo) {
  ASSERT_EQ(hak_profile_start(1), 0);
  enum { SITES = HAK_SITES + 2000, BYTES = HAK_SLAB_MAX + 100 };
  std::vector<void *> blocks;
  for (uintptr_t n = 1; n <= SITES; n++) {
    hak_pace.frame = __builtin_frame_address(0);
    blocks.push_back(hak_sampled_malloc(BYTES, reinterpret_cast<const void *>(4096 * n)));
    ASSERT_NE(blocks.back(), nullptr);
  }
  EXPECT_GT(hak_counter_value(HAK_COUNTER_sites_lost), 0u) << "the table was full";
  EXPECT_NEAR(sampled().blocks, SITES, 1e-3);
  EXPECT_NEAR(sampled().asked, double{SITES} * BYTES, 1);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_samples_lost), 0u);
  EXPECT_LE(hak_site_end(), unsigned{HAK_SITES});
  for (void *p : blocks) hak_free(p);
  EXPECT_NEAR(sampled().blocks, 0, 1e-3);
  EXPECT_EQ(g_site[HAK_SITE_REST].count, g_site[HAK_SITE_REST].freed);
}

TEST(Profile, EachBlockIsFollowedToItsEndInManyThreads) {
  ASSERT_EQ(hak_profile_start(1), 0);
  Heap heap(300);
  for (uint64_t round = 1; round <= 5; round++) {
    std::vector<std::thread> threads;
    for (uint64_t n = 1; n <= 6; n++) threads.emplace_back([&heap, round, n] { heap.work(round * 100 + n, 500); });
    for (auto &thread : threads) thread.join();
    expect_all(heap);
  }
  heap.end();
  EXPECT_NEAR(sampled().blocks, 0, 1e-3);
}

TEST(Profile, WhatWasSampledBeforeTheStopIsFollowed) {
  ASSERT_EQ(hak_profile_start(1), 0);
  Heap heap(200);
  heap.work(1, 1000);
  hak_profile_stop();
  double blocks = sampled().blocks;
  std::vector<void *> more;
  for (int i = 0; i < 1000; i++) more.push_back(hak_malloc(100));
  EXPECT_EQ(sampled().blocks, blocks);
  for (void *p : more) hak_free(p);
  heap.end();
  EXPECT_NEAR(sampled().blocks, 0, 1e-3);
}

TEST(Profile, OffAgainTheFastPathIsBack) {
  std::thread idle([] { hak_free(hak_malloc(100)); });
  idle.join();
  hak_free(hak_malloc(100));
  ASSERT_EQ(hak_profile_start(0), 0);
  hak_free(hak_malloc(100));
  unsigned c = hak_context_class(hak_context, 100);
  EXPECT_GT(hak_context->floor[c], hak_context->top[c]);
  EXPECT_NE(hak_context->ceiling[c], nullptr) << "free need not be seen";
  hak_profile_stop();
  hak_free(hak_malloc(100));
  EXPECT_EQ(hak_context->floor[c], hak_context->slots[c]);
  EXPECT_EQ(hak_context->ceiling[c], hak_context->slots[c] + hak_context->capacity[c]);
}

/* A thread that draws guarded blocks looks at the settings after as many bytes as the densest sampling skips. */
TEST(Profile, AThreadThatDrawsGuardedBlocksSamplesAtOnce) {
  enum { TAKEN = 60 << 10, BYTES = 200 };
  ASSERT_EQ(hak_set("guard_bytes", "64G"), 0);
  for (int i = 0; i < 2000; i++) hak_free(hak_malloc(BYTES));
  ASSERT_EQ(hak_profile_start(0), 0);
  for (size_t taken = 0; taken < TAKEN; taken += BYTES) ASSERT_NE(hak_malloc(BYTES), nullptr);
  EXPECT_GT(sampled().bytes, TAKEN / 4);
}

TEST(Profile, AChildHasItsParentsSamples) {
  ASSERT_EQ(hak_profile_start(1), 0);
  Heap heap(100);
  heap.work(1, 1000);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    heap.work(2, 1000);
    expect_all(heap);
    heap.end();
    _exit(testing::Test::HasFailure() || std::abs(sampled().blocks) > 1e-3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  expect_all(heap);
  heap.end();
}

/* One thread for each seed allocates 8 MiB of blocks of all sizes, and frees as much again: estimates the live
 * bytes. */
double estimate(size_t *exact, double *ever) {
  double live = 0;
  std::thread([&] {
    std::mt19937_64 random(1);
    std::vector<void *> kept;
    double taken = sampled().ever;
    size_t before = hak_bytes_in_use(), ever_bytes = 0;
    for (size_t bytes = 0; bytes < 8 << 20;) {
      size_t n = 1 + random() % (random() % 50 == 0 ? 200000 : 2000);
      void *p = hak_malloc(n), *q = hak_malloc(n);
      bytes += hak_usable_size(p);
      ever_bytes += 2 * hak_usable_size(p);
      kept.push_back(p);
      hak_free(q);
    }
    *exact = hak_bytes_in_use() - before;
    live = sampled().bytes;
    *ever = (sampled().ever - taken) / static_cast<double>(ever_bytes);
    for (void *p : kept) hak_free(p);
  }).join();
  return live;
}

TEST(Profile, SumsAreRightInTheMeanOverManySeeds) {
  constexpr int kSeeds = 40;
  ASSERT_EQ(hak_profile_start(16 << 10), 0);
  double mean = 0, mean_ever = 0, within = 0;
  for (int seed = 0; seed < kSeeds; seed++) {
    size_t exact;
    double ever, ratio = estimate(&exact, &ever) / static_cast<double>(exact);
    mean += ratio / kSeeds;
    mean_ever += ever / kSeeds;
    within += std::abs(ratio - 1) < 0.05 * 3.29 ? 1 : 0;
    EXPECT_NEAR(sampled().blocks, 0, 1e-3);
  }
  /* About 450 samples each, so an estimate is off by 5 % in the root mean square, and the mean of 40 by 0.8 %. */
  EXPECT_NEAR(mean, 1, 0.03);
  EXPECT_NEAR(mean_ever, 1, 0.03);
  EXPECT_GE(within, kSeeds - 1);
}

TEST(Profile, WithinFivePercentOfWhatIsInUse) {
  ASSERT_EQ(hak_profile_start(2 << 10), 0);
  size_t exact;
  double ever, live = estimate(&exact, &ever);
  EXPECT_NEAR(live / static_cast<double>(exact), 1, 0.05);
}

TEST(Profile, WrongFreesOfSampledBlocksAreCaught) {
  ASSERT_EQ(hak_profile_start(1), 0);
  char *p = static_cast<char *>(hak_malloc(100));
  void *keep = hak_malloc(100);
  EXPECT_DEATH(hak_free(p + 16), "inside a block");
  EXPECT_DEATH(hak_usable_size(p + 16), "inside a block");
  EXPECT_DEATH((hak_free(p), hak_free(p)), "double free");
  hak_free(p);
  hak_free(keep);
}

}  // namespace
