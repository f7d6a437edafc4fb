/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extra_class_test.cpp: a peak of sizes between two classes gets a class, whose blocks behave as all blocks.
 *
 * what      learn/extra_class.c with the whole library behind it. Each case runs in a separate process: an added class
 *           stays.
 * failure   A paying class that is not added, a class that is added without paying, and any wrong call on a block of an
 *           added class fails the test.
 * not here  The tables: class_add_test.cpp. The saving, from outside: tests/process/policy_test.py.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "hakmem/hakmem.h"
extern "C" {
#include "tables/classes.h"
#include "tables/range.h"
}

namespace {

constexpr size_t kPeak = 5136, kOwn = 5376, kUsual = 5632;

uint64_t decided() {
  uint64_t value;
  const char *name;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++)
    if (std::string(name) == "learn_classes") return value;
  return 0;
}

void set_mode(const char *mode) {
  ASSERT_EQ(hak_set("lab_learn_class", "on"), 0);
  ASSERT_EQ(hak_set("mode", mode), 0);
}

/* Allocates enough blocks for a class to pay, and frees every second block. */
template <typename Size>
void load(Size size, size_t blocks = 40000) {
  std::vector<void *> live;
  for (size_t i = 0; i < blocks; i++) {
    live.push_back(hak_malloc(size()));
    if (i % 2 != 0) {
      hak_free(live.back());
      live.pop_back();
    }
  }
  for (void *p : live) hak_free(p);
}

void load_peak() {
  load([] { return kPeak; });
}

unsigned class_at(const void *p) { return hak_range_class(p); }

/* ---- a class pays ---- */

TEST(ExtraClass, APeakGetsAClass) {
  set_mode("evolving");
  load_peak();
  EXPECT_EQ(decided(), 1u);
  ASSERT_EQ(hak_class_end(), unsigned{HAK_EXTRA_CLASS} + 1);
  EXPECT_EQ(g_class[HAK_EXTRA_CLASS].bytes, kOwn);
  void *p = hak_malloc(kPeak);
  EXPECT_EQ(class_at(p), unsigned{HAK_EXTRA_CLASS});
  EXPECT_EQ(hak_usable_size(p), kOwn);
  hak_free(p);
}

TEST(ExtraClass, ASmallPeakInEveryColour) {
  set_mode("evolving");
  std::atomic<bool> decided_now{false};
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < 6; i++) {
    threads.emplace_back([&] {
      void *first = hak_malloc(272); /* this thread has a table of classes */
      while (!decided_now) std::this_thread::yield();
      for (int k = 0; k < 2000; k++) hak_free(hak_malloc(1040 + k % 7 * 4096)); /* and takes slow paths */
      std::vector<void *> blocks;
      for (int k = 0; k < 2000; k++) blocks.push_back(hak_malloc(272));
      good += hak_usable_size(blocks.back()) == 272;
      for (void *p : blocks) hak_free(p);
      hak_free(first);
    });
  }
  load([] { return 272; }, 600000);
  decided_now = true;
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(decided(), 1u);
  EXPECT_EQ(g_class[HAK_EXTRA_CLASS].bytes, 272u);
  EXPECT_EQ(good, 6);
}

TEST(ExtraClass, InShadowItIsOnlyDecided) {
  set_mode("shadow");
  load_peak();
  load_peak();
  EXPECT_EQ(decided(), 1u);
  EXPECT_EQ(hak_class_end(), unsigned{HAK_EXTRA_CLASS});
  set_mode("evolving");
  load_peak();
  EXPECT_EQ(decided(), 1u);
  EXPECT_EQ(hak_class_end(), unsigned{HAK_EXTRA_CLASS} + 1) << "as was decided before";
}

TEST(ExtraClass, FourAtMost) {
  set_mode("evolving");
  for (const size_t size : {5136u, 2100u, 9300u, 12400u, 17000u, 25000u}) {
    load([size] { return size; }, 40000);
  }
  EXPECT_EQ(decided(), 4u);
  EXPECT_EQ(hak_class_end(), unsigned{HAK_RUN_CLASS});
}

/* ---- a class does not pay ---- */

void expect_none() {
  EXPECT_EQ(decided(), 0u);
  EXPECT_EQ(hak_class_end(), unsigned{HAK_EXTRA_CLASS});
}

TEST(ExtraClass, NoneWhereNothingIsLearnt) {
  for (const char *mode : {"off", "baseline"}) {
    set_mode(mode);
    load_peak();
  }
  set_mode("evolving");
  ASSERT_EQ(hak_set("lab_learn_class", "off"), 0);
  load_peak();
  expect_none();
}

TEST(ExtraClass, NoneWithoutAPeak) {
  set_mode("evolving");
  std::mt19937 random(1);
  load([&] { return 1 + random() % 8192; }, 100000);
  load([] { return kUsual; });
  expect_none();
}

/* 4,480 of 4,608: 14 in a slab either way. */
TEST(ExtraClass, NoneWhereNoMoreBlocksGoIntoASlab) {
  set_mode("evolving");
  load([] { return 4470; });
  expect_none();
}

TEST(ExtraClass, NoneForFewBlocks) {
  set_mode("evolving");
  for (int i = 0; i < 4000; i++) load([] { return kPeak; }, 40);
  expect_none();
}

/* ---- blocks of an added class ---- */

class Block : public testing::Test {
 protected:
  Block() {
    old_ = hak_malloc(kPeak);
    c_ = hak_class_add(kOwn);
    p_ = static_cast<char *>(hak_malloc(kPeak));
  }
  char *p_;
  void *old_;
  unsigned c_;
};

TEST_F(Block, BothSizesLiveSideBySide) {
  EXPECT_EQ(class_at(p_), c_);
  EXPECT_EQ(hak_usable_size(old_), kUsual);
  EXPECT_EQ(hak_usable_size(p_), kOwn);
  hak_free(p_);
  EXPECT_EQ(hak_malloc(kOwn), p_);
  hak_free(old_);
  EXPECT_EQ(hak_malloc(kUsual), old_);
}

TEST_F(Block, ReallocStaysWhileItFits) {
  std::memset(p_, 7, kOwn);
  EXPECT_EQ(hak_realloc(p_, kOwn), p_);
  EXPECT_EQ(hak_realloc(p_, 5200), p_);
  EXPECT_EQ(hak_realloc(old_, kPeak), old_) << "in the class above it fits too";
  char *q = static_cast<char *>(hak_realloc(p_, kUsual));
  ASSERT_NE(q, p_);
  EXPECT_EQ(hak_usable_size(q), kUsual);
  for (size_t i = 0; i < 5200; i++) ASSERT_EQ(q[i], 7);
}

TEST_F(Block, AlignedOnesAreAligned) {
  for (size_t align = 16; align <= 4096; align *= 2) {
    void *q = hak_memalign(align, kPeak);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(q) % align, 0u) << align;
    EXPECT_GE(hak_usable_size(q), kPeak);
    hak_free(q);
  }
}

TEST_F(Block, StatisticsCountThem) {
  struct hak_stats before{}, after{};
  before.version = after.version = HAK_STATS_VERSION;
  before.size = after.size = sizeof(struct hak_stats);
  hak_get_stats(&before);
  std::vector<void *> blocks;
  for (int i = 0; i < 1000; i++) blocks.push_back(hak_malloc(kPeak));
  hak_get_stats(&after);
  EXPECT_EQ(after.in_use - before.in_use, 1000 * kOwn);
  EXPECT_GE(after.slab_bytes - before.slab_bytes, 980 * kOwn);
  for (void *p : blocks) hak_free(p);
  hak_trim(0);
  hak_get_stats(&after);
  EXPECT_LE(after.in_use, before.in_use);
}

using BlockDeathTest = Block;

TEST_F(BlockDeathTest, WrongFreesAreNamed) {
  EXPECT_DEATH((hak_free(p_), hak_free(p_)), "double free: pointer .*, class 5376 B");
  EXPECT_DEATH((hak_free(p_ + 16), hak_trim(0)), "interior|inside");
  std::vector<void *> blocks;
  for (int i = 0; i < 500; i++) blocks.push_back(hak_malloc(kPeak));
  EXPECT_DEATH(
      {
        for (void *p : blocks) hak_free(p);
        hak_trim(0);
        hak_free(blocks[250]);
        hak_trim(0);
      },
      "hakmem: ");
}

}  // namespace
