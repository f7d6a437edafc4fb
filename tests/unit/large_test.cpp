/* large_test.cpp: blocks that are runs of units.
 *
 * what      box/large.c with the real span over the fake kernel door.
 * owner     Each case runs in a process of its own.
 * locks     none: the test is alone. orders: none. hot path: none.
 * failure   A block of the wrong length or place, or a wrong sum of live bytes, fails its test.
 * not here  Which runs span prefers: span_test.cpp.
 */
#include <gtest/gtest.h>

#include <cstring>

extern "C" {
#include "box/large.h"
#include "core/range.h"
#include "fake_os.h"
#include "span/span.h"
}

namespace {

constexpr size_t kUnit = HAK_UNIT_BYTES;

uint32_t unit_of(const void *p) { return static_cast<uint32_t>(hak_range_unit_of(p)); }

char *alloc(size_t n, size_t align = 1, bool *zero = nullptr) {
  bool ignored;
  return static_cast<char *>(hak_large_alloc(n, align, zero != nullptr ? zero : &ignored));
}

TEST(Large, HoldsWhatWasAskedFor) {
  for (const size_t n : {size_t{1}, kUnit - 1, kUnit, kUnit + 1, 5 * kUnit, 9 * kUnit + 100}) {
    char *p = alloc(n);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(hak_large_bytes(unit_of(p)), hak_round_up(n, kUnit));
    EXPECT_EQ(hak_range_entry(unit_of(p))->kind, HAK_UNIT_LARGE);
    EXPECT_EQ(hak_range_class(p), 0u);
    std::memset(p, 1, hak_large_bytes(unit_of(p)));
  }
}

TEST(Large, IsAligned) {
  for (size_t align = 16; align <= size_t{4} << 20; align *= 2) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(alloc(1, align)) % align, 0u) << align;
  }
}

TEST(Large, ZeroIsSaidOfFreshUnitsOnly) {
  bool zero = false;
  char *p = alloc(3 * kUnit, 1, &zero);
  EXPECT_TRUE(zero);
  std::memset(p, 1, 3 * kUnit);
  hak_large_free(unit_of(p));
  zero = true;
  EXPECT_EQ(alloc(3 * kUnit, 1, &zero), p);
  EXPECT_FALSE(zero);
  hak_large_free(unit_of(p));
  hak_span_purge(0);
  EXPECT_EQ(alloc(3 * kUnit, 1, &zero), p);
  EXPECT_TRUE(zero);
  EXPECT_EQ(p[2 * kUnit], 0);
}

TEST(Large, LiveBytesFollow) {
  EXPECT_EQ(hak_large_live(), 0u);
  char *p = alloc(kUnit + 1), *q = alloc(10);
  EXPECT_EQ(hak_large_live(), 3 * kUnit);
  hak_large_free(unit_of(q));
  EXPECT_EQ(hak_large_live(), 2 * kUnit);
  hak_span_purge(0);
  EXPECT_TRUE(hak_large_resize(unit_of(p), 7 * kUnit));
  EXPECT_EQ(hak_large_live(), 7 * kUnit);
  EXPECT_TRUE(hak_large_resize(unit_of(p), 10));
  EXPECT_EQ(hak_large_live(), kUnit);
  fake_os_refuse(FAKE_MAP_AT);
  EXPECT_EQ(alloc(size_t{1} << 40), nullptr);
  EXPECT_EQ(hak_large_live(), kUnit);
  hak_large_free(unit_of(p));
  EXPECT_EQ(hak_large_live(), 0u);
}

TEST(Large, GrowsWhereItLiesIfThereIsRoom) {
  char *p = alloc(2 * kUnit), *wall = alloc(kUnit);
  std::memset(p, 3, 2 * kUnit);
  EXPECT_FALSE(hak_large_resize(unit_of(p), 2 * kUnit + 1));
  EXPECT_EQ(hak_large_bytes(unit_of(p)), 2 * kUnit);
  EXPECT_EQ(hak_large_live(), 3 * kUnit);
  hak_large_free(unit_of(wall));
  EXPECT_TRUE(hak_large_resize(unit_of(p), 2 * kUnit + 1));
  EXPECT_EQ(hak_large_bytes(unit_of(p)), 3 * kUnit);
  for (size_t i = 0; i < 2 * kUnit; i++) ASSERT_EQ(p[i], 3);
  std::memset(p, 4, 3 * kUnit);
}

TEST(Large, ShrinksWhereItLiesAndTheRestIsFree) {
  char *p = alloc(8 * kUnit), *wall = alloc(kUnit);
  EXPECT_TRUE(hak_large_resize(unit_of(p), 8 * kUnit - 5)) << "as many units";
  EXPECT_TRUE(hak_large_resize(unit_of(p), 2 * kUnit));
  EXPECT_EQ(hak_large_bytes(unit_of(p)), 2 * kUnit);
  EXPECT_EQ(hak_range_run_of(p + 2 * kUnit), HAK_NO_UNIT);
  EXPECT_EQ(alloc(6 * kUnit), p + 2 * kUnit);
  hak_large_free(unit_of(wall));
}

}  // namespace
