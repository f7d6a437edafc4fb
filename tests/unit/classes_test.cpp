/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* classes_test.cpp: size classes.
 *
 * what      The tables of tables/classes.c: every request, every slot of every class, every alignment.
 * failure   A request in a wrong class, or a slot number that is off, fails the test.
 * not here  Capacities of magazines: magazine_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

extern "C" {
#include "tables/classes.h"
}

namespace {

/* The smallest class that holds n, found by a search of all classes. */
unsigned naive_class(size_t n, size_t align = 16) {
  for (unsigned c = 1; c < HAK_CLASSES_USED; c++) {
    if (g_class[c].bytes >= n && g_class[c].bytes % align == 0) return c;
  }
  return 0;
}

TEST(Classes, OfPagesAreEightPerDoubling) {
  for (size_t n = HAK_SLAB_MAX + 1; n <= HAK_RUN_MAX; n++) {
    const unsigned c = hak_run_class_of(n);
    ASSERT_TRUE(hak_is_run_class(c)) << n;
    ASSERT_GE(g_class[c].bytes, n);
    ASSERT_LE(g_class[c].bytes, n + (n - 1) / 8) << n;
    ASSERT_EQ(g_class[c].bytes % 4096, 0u) << n;
    ASSERT_TRUE(c == HAK_RUN_CLASS || g_class[c - 1].bytes < n) << n << " fits the class below";
    ASSERT_EQ(hak_run_class_of_pages(n / 4096) == c, n == g_class[c].bytes) << n;
  }
  for (unsigned c = 0; c < HAK_CLASSES; c++) {
    EXPECT_EQ(hak_is_slab_class(c), c != 0 && c < HAK_RUN_CLASS) << c;
    EXPECT_EQ(hak_is_run_class(c), c >= HAK_RUN_CLASS && c < HAK_CLASSES) << c;
  }
}

/* A block of the class, in whole pages of the kernel, and as whole units where these are longer than 4 KiB, has the
 * class: what is freed serves the next request. */
TEST(Classes, OfLongerPagesAreWholePages) {
  uint8_t usual[sizeof g_run_class];
  std::copy(std::begin(g_run_class), std::end(g_run_class), usual);
  for (size_t page : {size_t{4096}, size_t{16384}, size_t{65536}}) {
    std::copy(std::begin(usual), std::end(usual), g_run_class);
    hak_class_whole_pages(page);
    hak_class_whole_pages(page);
    for (size_t pages = HAK_SLAB_MAX / 4096 + 1; pages <= HAK_RUN_MAX / 4096; pages++) {
      const size_t n = pages * 4096, unit = page > 4096 ? HAK_UNIT_BYTES : 1;
      const unsigned c = hak_run_class_of(n);
      const size_t bytes = g_class[c].bytes, block = std::max((bytes + page - 1) / page * page, unit);
      ASSERT_EQ(hak_run_class_of(n - 4095), c) << n;
      ASSERT_TRUE(hak_is_run_class(c)) << n;
      ASSERT_GE(bytes, n);
      ASSERT_EQ(hak_run_class_of_pages(block / 4096), c) << n << " on pages of " << page;
      ASSERT_LT(bytes, std::max(n + n / 8 + page, unit + 1)) << n << " on pages of " << page;
    }
  }
  std::copy(std::begin(usual), std::end(usual), g_run_class);
}

TEST(Classes, EveryRequestGetsTheSmallestClassThatHoldsIt) {
  for (size_t n = 0; n <= HAK_SLAB_MAX; n++) ASSERT_EQ(hak_class_of(n), naive_class(n)) << n;
}

TEST(Classes, BothTablesAgreeWhereTheyMeet) {
  EXPECT_EQ(g_class[hak_small_class_of(HAK_SMALL_MAX)].bytes, 1024u);
  EXPECT_EQ(g_class[hak_mid_class_of(HAK_SMALL_MAX + 1)].bytes, 1152u);
}

TEST(Classes, AtMostAnEighthIsLost) {
  for (size_t n = 1; n <= HAK_SLAB_MAX; n++) {
    const size_t lost = g_class[hak_class_of(n)].bytes - n;
    ASSERT_LT(lost, n <= 128 ? 16 : n / 8.0) << n;
  }
}

TEST(Classes, RowsGrowAndKeepSixteenBytes) {
  EXPECT_EQ(g_class[HAK_NO_CLASS].bytes, 0u);
  EXPECT_EQ(g_class[HAK_CLASS_16].bytes, 16u);
  EXPECT_EQ(g_class[HAK_CLASSES_USED - 1].bytes, unsigned{HAK_SLAB_MAX});
  for (unsigned c = 1; c < HAK_CLASSES_USED; c++) {
    EXPECT_EQ(g_class[c].bytes % 16, 0u) << c;
    EXPECT_GT(g_class[c].bytes, g_class[c - 1].bytes) << c;
  }
}

TEST(Classes, NoneIsAddedYet) {
  EXPECT_EQ(hak_class_end(), unsigned{HAK_EXTRA_CLASS});
  for (unsigned c = HAK_EXTRA_CLASS; c < HAK_RUN_CLASS; c++) EXPECT_EQ(g_class[c].bytes, 0u);
}

TEST(Classes, TheRuleOfShapesIsThatOfTheRows) {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) {
    const hak_class shape = hak_class_shape(g_class[c].bytes);
    EXPECT_EQ(shape.units, g_class[c].units) << c;
    EXPECT_EQ(shape.slots, g_class[c].slots) << c;
    EXPECT_EQ(shape.reciprocal, g_class[c].reciprocal) << c;
    EXPECT_EQ(shape.inverse, g_class[c].inverse) << c;
    EXPECT_EQ(shape.below, g_class[c].below) << c;
  }
}

/* Colour 0 has the smallest classes, every further colour has as many classes for itself; all colours share the
 * rest. */
TEST(Classes, EveryColourHasItsOwnSmallestClasses) {
  std::set<unsigned> seen;
  for (unsigned color = 0; color < HAK_COLORS; color++) {
    uint8_t table[HAK_SMALL_MAX / 16 + 1];
    hak_class_table(table, color);
    for (size_t n = 0; n <= HAK_SMALL_MAX; n++) {
      const unsigned c = table[(n + 15) / 16], plain = hak_class_of(n);
      ASSERT_EQ(g_class[c].bytes, g_class[plain].bytes) << n;
      ASSERT_EQ(c == plain, color == 0 || plain > HAK_COLORED) << n;
      ASSERT_LT(c, unsigned{HAK_CLASSES_NUMBERED});
    }
    for (size_t i = 1; i <= HAK_COLORED; i++) EXPECT_TRUE(seen.insert(table[i]).second);
  }
}

TEST(Classes, SlabsHaveRoomForTheirSlots) {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) {
    const hak_class &k = g_class[c];
    const size_t bytes = k.units * HAK_UNIT_BYTES;
    EXPECT_EQ(k.slots, bytes / k.bytes) << c;
    EXPECT_LE(k.slots, 4096u) << "64 words of 64 bits";
    EXPECT_GE(k.slots, 7u) << c;
    EXPECT_LE(bytes - k.slots * size_t{k.bytes}, bytes / 8) << c << " wastes its slab's end";
  }
}

TEST(Classes, TheReciprocalIsExactForEverySlot) {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) {
    const hak_class &k = g_class[c];
    for (size_t offset = 0; offset < k.units * HAK_UNIT_BYTES; offset++) {
      ASSERT_EQ(offset * k.reciprocal >> HAK_RECIPROCAL_SHIFT, offset / k.bytes) << k.bytes << " at " << offset;
    }
  }
}

/* Offsets in front of the slab (as unsigned numbers) and behind it have no slot. */
TEST(Classes, OnlyTheStartOfASlotHasASlot) {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) {
    const hak_class &k = g_class[c];
    const unsigned twos = static_cast<unsigned>(__builtin_ctz(k.bytes));
    const int64_t end = static_cast<int64_t>(k.units * HAK_UNIT_BYTES);
    for (int64_t offset = -end; offset < 2 * end; offset++) {
      const uint64_t slot = hak_class_slot(k.inverse, twos, static_cast<uint64_t>(offset));
      const bool starts = offset >= 0 && offset % k.bytes == 0 && offset / k.bytes < k.slots;
      ASSERT_EQ(slot < k.slots, starts) << k.bytes << " at " << offset;
      ASSERT_TRUE(!starts || slot == static_cast<uint64_t>(offset / k.bytes));
    }
  }
}

TEST(Classes, AClassFitsWhatTheTableGivesIt) {
  for (size_t n = 0; n <= HAK_RUN_MAX + 1; n++) {
    for (unsigned c = 0; c < HAK_CLASSES; c++) {
      const bool serves = n != 0 && n <= HAK_SLAB_MAX && g_class[c].bytes == g_class[hak_class_of(n)].bytes;
      ASSERT_EQ(hak_class_fits(c, n), serves) << n << " in " << c;
    }
  }
}

TEST(Classes, AlignedRequestsGetTheSmallestClassAtMultiplesOfTheAlignment) {
  for (size_t align = 1; align <= 65536; align *= 2) {
    for (size_t n = 1; n <= HAK_SLAB_MAX + 1; n += n < 2048 ? 1 : 61) {
      const unsigned expected = naive_class(n, std::max<size_t>(align, 16));
      ASSERT_EQ(hak_class_aligned(n, align), expected) << n << " at " << align;
    }
  }
}

TEST(Classes, NoClassIsTooLargeOrTooAligned) {
  EXPECT_EQ(hak_class_aligned(HAK_SLAB_MAX + 1, 16), 0u);
  EXPECT_EQ(hak_class_aligned(1, HAK_SLAB_MAX * 2), 0u);
  EXPECT_EQ(hak_class_aligned(SIZE_MAX, 1), 0u);
  EXPECT_EQ(hak_class_aligned(1, SIZE_MAX / 2 + 1), 0u);
}

}  // namespace
