/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* range_test.cpp: the address range and its tables.
 *
 * what      tables/range.c over the fake kernel (fake_os.h): growth in place, foreign mappings in the way, failures,
 *           and queries of any pointer.
 * owner     Each case runs in a separate process.
 * locks     none: one thread. hot path: hak_range_class.
 * failure   A fault, a gap, or a foreign page that was touched fails the test.
 * not here  Free runs: runs_test.cpp.
 */
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <random>

extern "C" {
#include "fake_os.h"
#include "os/os.h"
#include "tables/range.h"
}

namespace {

struct Grown {
  uint32_t first = 0;
  size_t count = 0;
};

Grown grow(size_t units) {
  Grown g;
  EXPECT_TRUE(hak_range_grow(units, &g.first, &g.count));
  return g;
}

char *address(size_t unit) { return static_cast<char *>(hak_range_address(static_cast<uint32_t>(unit))); }

/* Maps a foreign page at `where`. */
char *intrude_at(void *where) {
  void *p = mmap(where, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT_EQ(p, where);
  std::memset(p, 0x5a, 4096);
  return static_cast<char *>(p);
}

char *intrude(size_t unit) { return intrude_at(address(unit)); }

TEST(Range, IsEmptyBeforeItGrows) {
  int local;
  for (void *p : {static_cast<void *>(nullptr), static_cast<void *>(&local), reinterpret_cast<void *>(UINTPTR_MAX)}) {
    EXPECT_EQ(hak_range_class(p), 0u);
    EXPECT_EQ(hak_range_run_of(p), HAK_NO_UNIT);
  }
}

TEST(Range, GrowsInPlace) {
  Grown last = grow(1);
  EXPECT_EQ(last.first, 1u) << "unit 0 is a hole";
  for (int i = 0; i < 40; i++) {
    const Grown next = grow(1);
    EXPECT_EQ(next.first, last.first + last.count);
    EXPECT_EQ(g_range.units, next.first + next.count);
    last = next;
  }
  EXPECT_EQ(g_range.mapped, (g_range.units - 1) * HAK_UNIT_BYTES);
  EXPECT_EQ(g_range.base % HAK_UNIT_BYTES, 0u);
  EXPECT_EQ(hak_range_table_bytes() + g_range.mapped, fake_os.mapped_bytes);
  for (size_t u = 1; u < g_range.units; u += 7) {
    EXPECT_EQ(*address(u), 0);
    *address(u) = 1;
    EXPECT_EQ(hak_range_unit_of(address(u) + HAK_UNIT_BYTES - 1), u);
  }
}

TEST(Range, StepsDoubleAndHoldWhatWasAskedFor) {
  grow(1);
  EXPECT_EQ(grow(100).count, 100u);
  size_t steps = 0;
  for (; g_range.units < 16384; steps++) grow(1);
  EXPECT_LE(steps, 60u) << "a GiB";
}

TEST(Range, TablesAreReadyForEveryUnit) {
  grow(1);
  grow(5000);
  EXPECT_GE(g_range.map_mapped, g_range.units);
  EXPECT_GE(g_range.unit_mapped, g_range.units * sizeof(hak_unit));
  for (size_t u = 0; u < g_range.units; u++) {
    EXPECT_EQ(hak_range_entry(static_cast<uint32_t>(u))->kind, HAK_UNIT_HOLE);
    EXPECT_EQ(g_range.map[u], 0);
    EXPECT_EQ(hak_range_index(hak_range_entry(static_cast<uint32_t>(u))), u);
  }
}

/* Merging reads the entry behind the last unit, at each border of a table's mapping, too. */
TEST(Range, TablesAreReadyForTheUnitBehind) {
  for (int i = 0; i < 400; i++) {
    grow(1);
    ASSERT_GE(g_range.unit_mapped, (g_range.units + 1) * sizeof(struct hak_unit)) << g_range.units;
    ASSERT_GE(g_range.map_mapped, g_range.units + 1);
  }
}

/* The last unit's entry is the last of the table's mapping. */
TEST(Range, ATableThatIsFullIsReadyForTheUnitBehind) {
  grow(1);
  const size_t entries = g_range.unit_mapped / sizeof(struct hak_unit);
  grow(entries - g_range.units);
  ASSERT_EQ(g_range.units, entries);
  EXPECT_GT(g_range.unit_mapped, entries * sizeof(struct hak_unit));
}

TEST(Range, ForeignMappingsAreSkippedAndNeverTouched) {
  grow(1);
  const size_t end = g_range.units;
  char *foreign = intrude(end + 3);
  const Grown next = grow(8);
  EXPECT_GT(next.first, end + 3);
  EXPECT_EQ(g_range.units, next.first + next.count);
  for (int i = 0; i < 4096; i++) ASSERT_EQ(foreign[i], 0x5a);
  for (size_t u = end; u < next.first; u++) {
    EXPECT_EQ(hak_range_entry(static_cast<uint32_t>(u))->kind, HAK_UNIT_HOLE);
    EXPECT_EQ(hak_range_class(address(u)), 0u);
    EXPECT_EQ(hak_range_run_of(address(u)), HAK_NO_UNIT);
  }
  *address(next.first) = 1;
  EXPECT_EQ(grow(1).first, next.first + next.count) << "and on from there";
}

/* A foreign mapping behind the unit table is skipped, together with the units whose entries would lie there. */
TEST(Range, WhatStandsBehindTheUnitTableIsPassedBy) {
  grow(1);
  for (size_t round = 1; round <= 3; round++) {
    const size_t table_end = g_range.unit_mapped, mapped = g_range.mapped;
    char *foreign = intrude_at(reinterpret_cast<char *>(g_range.unit) + table_end);
    while (g_range.unit_mapped == table_end) grow(400);
    EXPECT_EQ(g_range_gaps.n, round);
    const size_t first = g_range_gaps.first[round - 1], end = g_range_gaps.end[round - 1];
    EXPECT_EQ(first * sizeof(hak_unit), table_end);
    for (const size_t u : {first, first + 5, end - 1}) {
      EXPECT_EQ(hak_range_pass(u), end);
      EXPECT_EQ(hak_range_class(address(u)), 0u);
      EXPECT_EQ(hak_range_run_of(address(u)), HAK_NO_UNIT);
    }
    EXPECT_EQ(hak_range_pass(first - 1), first - 1);
    EXPECT_EQ(hak_range_pass(end), end);
    for (size_t u = 1; (u = hak_range_pass(u)) < g_range.units; u++) {
      ASSERT_EQ(hak_range_entry(static_cast<uint32_t>(u))->kind, HAK_UNIT_HOLE) << u;
    }
    EXPECT_GT(g_range.mapped, mapped);
    EXPECT_EQ(hak_range_table_bytes() + g_range.mapped, fake_os.mapped_bytes);
    for (int i = 0; i < 4096; i++) ASSERT_EQ(foreign[i], 0x5a);
  }
}

TEST(Range, MuchOfOthersMemoryIsSkipped) {
  grow(1);
  const size_t bytes = size_t{1} << (HAK_TSAN ? 30 : 34), end = g_range.units; /* the sanitizer has but 32 GiB of room
                                                                                */
  void *p = mmap(address(end) + hak_os_page_bytes(), bytes, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(p, address(end) + hak_os_page_bytes());
  const Grown next = grow(8);
  EXPECT_GE(next.first, end + bytes / HAK_UNIT_BYTES);
  *address(next.first) = 1;
  EXPECT_LT(hak_range_table_bytes(), size_t{8} << 20) << "entries of what was skipped";
}

TEST(Range, AKernelThatAnswersElsewhereCountsAsTaken) {
  fake_os.stray = true;
  const Grown first = grow(1);
  const size_t end = g_range.units;
  EXPECT_EQ(first.first, 1u);
  char *foreign = intrude_at(address(end) + hak_os_page_bytes());
  const uint64_t before = fake_os.mapped_bytes, tables = hak_range_table_bytes();
  const Grown next = grow(4);
  EXPECT_GT(next.first, end);
  EXPECT_EQ(*foreign, 0x5a);
  EXPECT_EQ(fake_os.mapped_bytes - before, next.count * HAK_UNIT_BYTES + hak_range_table_bytes() - tables)
      << "what came from elsewhere went back";
}

/* ENOMEM is not "taken": fewer units are tried at the same place. */
TEST(Range, WhenALargeStepFailsWhatWasAskedForIsTried) {
  grow(1100);
  const size_t end = g_range.units, tables = hak_range_table_bytes();
  fake_os_refuse_once(FAKE_MAP_AT, 1);
  const Grown next = grow(1);
  EXPECT_EQ(hak_range_table_bytes(), tables) << "the refusal was the range's";
  EXPECT_EQ(next.first, end);
  EXPECT_EQ(next.count, 1u);
}

TEST(Range, TooMuchIsRefused) {
  uint32_t first;
  size_t count;
  EXPECT_FALSE(hak_range_grow(size_t{1} << 40, &first, &count));
  grow(1);
  EXPECT_FALSE(hak_range_grow(SIZE_MAX, &first, &count));
}

/* Every call of the first and the second growth fails once, alone and with all later calls. */
TEST(Range, FailuresLeaveNothingHalfBuilt) {
  for (uint64_t n = 1; n <= 12; n++) {
    for (const bool all : {false, true}) {
      g_range = {};
      fake_os_reset();
      (all ? fake_os.fail_from : fake_os.fail_only)[FAKE_MAP_AT] = n;
      Grown g;
      for (int i = 0; i < 3; i++) {
        const size_t units = g_range.units, mapped = g_range.mapped;
        if (hak_range_grow(1, &g.first, &g.count)) {
          std::memset(address(g.first), 1, g.count * HAK_UNIT_BYTES);
          continue;
        }
        EXPECT_LE(g_range.units, std::max<size_t>(units, 1));
        EXPECT_EQ(g_range.mapped, mapped);
      }
      fake_os_permit(FAKE_MAP_AT);
      g = grow(1);
      std::memset(address(g.first), 1, g.count * HAK_UNIT_BYTES);
      if (g_range.units < 1000) munmap(address(1), (g_range.units - 1) * HAK_UNIT_BYTES);
    }
  }
}

TEST(Range, AnyValueMayBeAskedAbout) {
  const Grown g = grow(16);
  hak_unit *e = hak_range_entry(g.first);
  *e = {};
  e->kind = HAK_UNIT_LARGE;
  e->head = g.first;
  e->length = 3;
  for (uint32_t i = 1; i < 3; i++) {
    hak_range_entry(g.first + i)->kind = HAK_UNIT_TAIL;
    hak_range_entry(g.first + i)->head = g.first;
  }
  EXPECT_EQ(hak_range_run_of(address(g.first)), g.first);
  EXPECT_EQ(hak_range_run_of(address(g.first + 3) - 1), g.first);
  EXPECT_EQ(hak_range_run_of(address(g.first + 3)), HAK_NO_UNIT);
  EXPECT_EQ(hak_range_run_of(address(0)), HAK_NO_UNIT);
  EXPECT_EQ(hak_range_run_of(address(1) - 1), HAK_NO_UNIT);
  EXPECT_EQ(hak_range_run_of(address(g_range.units)), HAK_NO_UNIT);
  EXPECT_EQ(hak_range_run_of(g_range.map), HAK_NO_UNIT);
  EXPECT_EQ(hak_range_run_of(g_range.unit), HAK_NO_UNIT);
  std::mt19937_64 random(5);
  for (int i = 0; i < 200000; i++) {
    const auto p = reinterpret_cast<void *>(random() >> random() % 40);
    const bool inside = p >= address(g.first) && p < address(g.first + 3);
    ASSERT_EQ(hak_range_run_of(p), inside ? g.first : HAK_NO_UNIT) << p;
    ASSERT_EQ(hak_range_class(p), 0u) << p;
  }
}

TEST(Range, ARunThatWasCutShortLeavesNoClaims) {
  const Grown g = grow(16);
  hak_unit *e = hak_range_entry(g.first);
  e->kind = HAK_UNIT_LARGE;
  e->head = g.first;
  e->length = 2;
  hak_range_entry(g.first + 2)->kind = HAK_UNIT_TAIL; /* a stale entry behind the block */
  hak_range_entry(g.first + 2)->head = g.first;
  EXPECT_EQ(hak_range_run_of(address(g.first + 2)), HAK_NO_UNIT);
}

TEST(Range, TheClassMapHoldsASlabsUnits) {
  const Grown g = grow(16);
  hak_range_set_class(g.first + 2, 3, 7);
  for (uint32_t u = 0; u < 8; u++) {
    const unsigned expected = u >= 2 && u < 5 ? 7 : 0;
    EXPECT_EQ(hak_range_class(address(g.first + u)), expected);
    EXPECT_EQ(hak_range_class(address(g.first + u + 1) - 1), expected);
  }
  hak_range_set_class(g.first + 2, 3, 0);
  EXPECT_EQ(hak_range_class(address(g.first + 3)), 0u);
}

}  // namespace
