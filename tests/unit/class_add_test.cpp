/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* class_add_test.cpp: size classes that are added while the process runs.
 *
 * what      hak_class_add of tables/classes.c, beside the smallest class that fits, found by a search of all classes.
 *           Each case runs in a separate process: an added class stays.
 * failure   A request in a class too small, or not the smallest, a class beyond the tables, or a row that a reader sees
 *           too early fails the test.
 * not here  The choice of classes: extra_class_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

extern "C" {
#include "tables/classes.h"
}

namespace {

/* Twins are left out: their sizes are the sizes of classes 1 to 3. */
std::vector<unsigned> all_classes() {
  std::vector<unsigned> all;
  for (unsigned c = 1; c < HAK_CLASSES_USED; c++) all.push_back(c);
  for (unsigned c = HAK_EXTRA_CLASS; c < hak_class_end(); c++) all.push_back(c);
  return all;
}

size_t smallest(size_t n) {
  size_t bytes = HAK_SLAB_MAX;
  for (const unsigned c : all_classes())
    if (g_class[c].bytes >= n) bytes = std::min<size_t>(bytes, g_class[c].bytes);
  return bytes;
}

void expect_smallest() {
  for (size_t n = 0; n <= HAK_SLAB_MAX; n++) {
    const unsigned c = hak_class_of(n);
    ASSERT_TRUE(hak_is_slab_class(c)) << n;
    ASSERT_EQ(g_class[c].bytes, smallest(n)) << n;
  }
}

/* Threads that made their tables before the addition, and threads that make tables now. */
void expect_same_tables(const uint8_t (*old)[HAK_SMALL_MAX / 16 + 1]) {
  for (unsigned color = 0; color < HAK_COLORS; color++) {
    uint8_t table[HAK_SMALL_MAX / 16 + 1], renewed[HAK_SMALL_MAX / 16 + 1];
    hak_class_table(table, color);
    std::copy(std::begin(old[color]), std::end(old[color]), renewed);
    hak_class_table_renew(renewed);
    ASSERT_TRUE(std::equal(std::begin(table), std::end(table), renewed)) << color;
    for (size_t n = 0; n <= HAK_SMALL_MAX; n++) ASSERT_EQ(g_class[table[(n + 15) / 16]].bytes, smallest(n)) << n;
  }
}

TEST(ClassAdd, EveryRequestGetsTheSmallestClassBeforeAndAfter) {
  uint8_t old[HAK_COLORS][HAK_SMALL_MAX / 16 + 1];
  for (unsigned color = 0; color < HAK_COLORS; color++) hak_class_table(old[color], color);
  expect_smallest();
  unsigned number = HAK_EXTRA_CLASS, version = 0;
  for (const size_t bytes : {5376u, 272u, 5248u, 1008u}) {
    EXPECT_EQ(hak_class_add(bytes), number++);
    EXPECT_EQ(g_class_version, ++version);
    expect_smallest();
    expect_same_tables(old);
  }
}

/* A class may be added below or above an added class. */
TEST(ClassAdd, AnyFourAnywhere) {
  std::mt19937 random(1);
  const std::vector<uint8_t> small(std::begin(g_small_class), std::end(g_small_class));
  const std::vector<uint8_t> mid(std::begin(g_mid_class), std::end(g_mid_class));
  for (int round = 0; round < 30; round++) {
    for (unsigned left = HAK_EXTRA_CLASSES; left != 0;) {
      const size_t narrow = 2048 + random() % 512, bytes = random() % 2 != 0 ? random() % 1024 : narrow + random() % 30000;
      left -= bytes <= HAK_SLAB_MAX && hak_class_add(bytes / hak_class_step(bytes) * hak_class_step(bytes)) != 0;
    }
    expect_smallest();
    std::copy(small.begin(), small.end(), g_small_class);
    std::copy(mid.begin(), mid.end(), g_mid_class);
    g_class_end = HAK_EXTRA_CLASS;
  }
}

TEST(ClassAdd, WhatCanBeNoClassIsNone) {
  for (const size_t bytes : {0u, 8u, 264u, 5136u, 32784u, 32896u, 65536u}) EXPECT_EQ(hak_class_add(bytes), 0u) << bytes;
  for (unsigned c = 1; c < HAK_CLASSES_USED; c++) EXPECT_EQ(hak_class_add(g_class[c].bytes), 0u) << c;
  for (const size_t bytes : {272u, 304u, 336u, 368u}) EXPECT_NE(hak_class_add(bytes), 0u);
  EXPECT_EQ(hak_class_add(400), 0u) << "a fifth";
  EXPECT_EQ(hak_class_end(), unsigned{HAK_RUN_CLASS});
  expect_smallest();
}

TEST(ClassAdd, AlignedRequestsAreServedByWhatIsAligned) {
  for (const size_t bytes : {272u, 656u, 5376u, 17792u}) ASSERT_NE(hak_class_add(bytes), 0u);
  for (size_t align = 16; align <= HAK_SLAB_MAX; align *= 2) {
    for (size_t n = 1; n <= HAK_SLAB_MAX; n += n < 2048 ? 1 : 61) {
      const unsigned c = hak_class_aligned(n, align);
      ASSERT_NE(c, 0u);
      ASSERT_EQ(g_class[c].bytes % align, 0u) << n << " at " << align;
      ASSERT_GE(g_class[c].bytes, n) << " at " << align;
    }
  }
  EXPECT_EQ(hak_class_aligned(260, 16), unsigned{HAK_EXTRA_CLASS});
  EXPECT_EQ(g_class[hak_class_aligned(260, 32)].bytes, 288u);
  EXPECT_EQ(g_class[hak_class_aligned(17000, 2048)].bytes, 18432u);
}

/* A class found for an aligned request may be looked up in an older table. */
TEST(ClassAdd, TheClassAboveIsAlignedAsWell) {
  for (size_t bytes = 16; bytes <= HAK_SLAB_MAX; bytes += hak_class_step(bytes)) {
    const size_t above = g_class[hak_class_of(bytes)].bytes;
    EXPECT_LE(bytes & -bytes, above & -above) << bytes;
  }
}

/* 544 is a multiple of 32; 560, which an older table has for the request, is not. */
TEST(ClassAdd, SoIsOneThatWasAddedBefore) {
  uint8_t older[HAK_SMALL_MAX / 16 + 1];
  ASSERT_NE(hak_class_add(560), 0u);
  hak_class_table(older, 0);
  ASSERT_NE(hak_class_add(544), 0u);
  for (size_t align = 16; align <= 64; align *= 2) {
    for (size_t n = 513; n <= 576; n++) {
      const size_t bytes = g_class[hak_class_aligned(n, align)].bytes;
      EXPECT_EQ(g_class[older[(bytes + 15) / 16]].bytes % align, 0u) << n << " at " << align;
    }
  }
}

TEST(ClassAdd, WhoReadsMeanwhileSeesWholeRows) {
  std::atomic<bool> stop{false};
  auto read = [&stop] {
    for (size_t n = 0; !stop; n = (n + 97) % HAK_SLAB_MAX) {
      const hak_class &k = g_class[hak_class_of(n)];
      if (k.bytes < n || k.slots != k.units * HAK_UNIT_BYTES / k.bytes || k.reciprocal == 0) return false;
    }
    return true;
  };
  bool good[2];
  std::thread a([&] { good[0] = read(); }), b([&] { good[1] = read(); });
  for (const size_t bytes : {5376u, 272u, 5248u, 1008u}) {
    hak_class_add(bytes);
    std::this_thread::yield();
  }
  stop = true;
  a.join();
  b.join();
  EXPECT_TRUE(good[0] && good[1]);
}

}  // namespace
