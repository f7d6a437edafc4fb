/* span_test.cpp: runs of units against a model that remembers every unit by itself.
 *
 * what      span/span.c and core/range.c over the fake kernel door.
 * owner     Each case runs in a process of its own.
 * locks     none: the test is alone. orders: none. hot path: none.
 * failure   An overlap, a run of the wrong sort, or a structure that does not agree with itself fails its test.
 * not here  The boxes that use runs.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <vector>

extern "C" {
#include "fake_os.h"
#include "inside.h"
#include "span/span.h"
}

namespace {

constexpr size_t kUnit = HAK_UNIT_BYTES;

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

char *address(uint32_t u) { return static_cast<char *>(hak_range_address(u)); }

/* Get with a false `clean` that the call must set. */
uint32_t get(size_t units, size_t align = 1, bool *clean = nullptr) {
  bool ignored;
  return hak_span_get(units, align, HAK_UNIT_LARGE, 0, clean != nullptr ? clean : &ignored);
}

uint64_t dirty_units() {
  uint64_t dirty, clean;
  hak_span_bytes(&dirty, &clean);
  return dirty / kUnit;
}

uint64_t clean_units() {
  uint64_t dirty, clean;
  hak_span_bytes(&dirty, &clean);
  return clean / kUnit;
}

TEST(Span, ARunIsMarkedAsWhatItIs) {
  bool clean = false;
  const uint32_t u = hak_span_get(3, 1, HAK_UNIT_SLAB, 9, &clean);
  ASSERT_NE(u, HAK_NO_UNIT);
  EXPECT_TRUE(clean);
  EXPECT_EQ(hak_range_entry(u)->kind, HAK_UNIT_SLAB);
  EXPECT_EQ(hak_range_entry(u)->size_class, 9);
  EXPECT_EQ(hak_range_entry(u)->length, 3u);
  EXPECT_EQ(hak_range_run_of(address(u) + 3 * kUnit - 1), u);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, DirtyComesBeforeClean) {
  const uint32_t a = get(5), b = get(5);
  ASSERT_GT(clean_units(), 0u);
  hak_span_put(a);
  bool clean = true;
  EXPECT_EQ(get(5, 1, &clean), a);
  EXPECT_FALSE(clean);
  get(5, 1, &clean);
  EXPECT_TRUE(clean);
  hak_span_put(b);
  EXPECT_EQ(get(2, 1, &clean), b);
  EXPECT_FALSE(clean);
}

TEST(Span, TheBestFittingBinComesFirst) {
  std::vector<uint32_t> runs;
  for (const size_t units : {9u, 3u, 6u}) {
    runs.push_back(get(units));
    get(1);
  }
  for (const uint32_t u : runs) hak_span_put(u);
  EXPECT_EQ(get(3), runs[1]);
  EXPECT_EQ(get(4), runs[2]);
  EXPECT_EQ(get(7), runs[0]);
}

TEST(Span, NeighboursMergeInEveryOrder) {
  for (int order = 0; order < 6; order++) {
    std::vector<int> turn = {0, 1, 2};
    for (int i = 0; i < order; i++) std::next_permutation(turn.begin(), turn.end());
    const uint32_t whole = get(12);
    hak_span_put(whole);
    const uint32_t part[] = {get(4), get(4), get(4)};
    ASSERT_EQ(part[0], whole);
    for (const int i : turn) hak_span_put(part[i]);
    EXPECT_EQ(dirty_units(), 12u);
    EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
    EXPECT_EQ(get(12), whole);
    hak_span_put(whole);
  }
}

TEST(Span, CleanAndDirtyDoNotMerge) {
  const uint32_t a = get(4);
  ASSERT_GT(clean_units(), 0u);
  hak_span_put(a);
  EXPECT_EQ(dirty_units(), 4u);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, RunsAreAligned) {
  for (size_t align = 1; align <= 64; align *= 2) {
    for (const size_t units : {1u, 3u, 20u}) {
      const uint32_t u = get(units, align);
      ASSERT_NE(u, HAK_NO_UNIT);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(address(u)) % (align * kUnit), 0u);
      EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
    }
  }
}

TEST(Span, TooMuchIsNoUnit) {
  EXPECT_EQ(get(SIZE_MAX), HAK_NO_UNIT);
  EXPECT_EQ(get(1, size_t{1} << 63), HAK_NO_UNIT);
  EXPECT_EQ(get(size_t{1} << 30), HAK_NO_UNIT);
  fake_os_refuse(FAKE_MAP_AT);
  EXPECT_EQ(get(1), HAK_NO_UNIT);
  fake_os_permit(FAKE_MAP_AT);
  EXPECT_NE(get(1), HAK_NO_UNIT);
}

TEST(Span, WithoutMemoryWhatIsFreeIsUsedUp) {
  std::vector<uint32_t> runs = {get(1)};
  fake_os_refuse(FAKE_MAP_AT);
  for (uint32_t u; (u = get(1)) != HAK_NO_UNIT;) runs.push_back(u);
  EXPECT_EQ(runs.size(), g_range.units - 1);
  for (const uint32_t u : runs) hak_span_put(u);
  EXPECT_EQ(get(runs.size()), runs[0]) << "all merged again";
}

TEST(Span, ExtendTakesWhatLiesBehind) {
  const uint32_t a = get(4), b = get(4);
  EXPECT_FALSE(hak_span_extend(a, 1)) << "in use";
  hak_span_put(b);
  EXPECT_FALSE(hak_span_extend(a, 5)) << "only four of its sort";
  EXPECT_TRUE(hak_span_extend(a, 3));
  EXPECT_EQ(hak_range_entry(a)->length, 7u);
  EXPECT_EQ(hak_range_entry(a)->kind, HAK_UNIT_LARGE);
  EXPECT_EQ(hak_range_run_of(address(a + 6)), a);
  EXPECT_EQ(hak_range_run_of(address(a + 7)), HAK_NO_UNIT);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
  EXPECT_TRUE(hak_span_extend(a, 1));
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, ExtendStopsAtTheEndOfTheRange) {
  const uint32_t a = get(1);
  fake_os_refuse(FAKE_MAP_AT);
  const size_t left = g_range.units - a - 1;
  EXPECT_TRUE(hak_span_extend(a, left));
  EXPECT_FALSE(hak_span_extend(a, 1));
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

TEST(Span, ShortenGivesTheEndBack) {
  const uint32_t a = get(10), guard = get(1);
  hak_span_shorten(a, 10);
  EXPECT_EQ(dirty_units(), 0u);
  hak_span_shorten(a, 4);
  EXPECT_EQ(hak_range_entry(a)->length, 4u);
  EXPECT_EQ(dirty_units(), 6u);
  EXPECT_EQ(hak_range_run_of(address(a + 4)), HAK_NO_UNIT);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
  EXPECT_EQ(get(6), a + 4);
  hak_span_put(guard);
}

TEST(Span, PurgeMakesDirtyClean) {
  const uint32_t a = get(6), guard = get(1);
  std::memset(address(a), 1, 6 * kUnit);
  hak_span_put(a);
  EXPECT_EQ(hak_span_purge(6 * kUnit), 0u) << "this much may stay";
  EXPECT_EQ(hak_span_purge(0), 6 * kUnit);
  EXPECT_EQ(dirty_units(), 0u);
  EXPECT_EQ(fake_os.last_purged, address(a));
  EXPECT_EQ(fake_os.last_purged_bytes, 6 * kUnit);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
  bool clean = false;
  const uint32_t again = get(6, 1, &clean);
  EXPECT_EQ(again, a);
  EXPECT_TRUE(clean);
  for (size_t i = 0; i < 6 * kUnit; i += 4096) EXPECT_EQ(address(a)[i], 0);
  hak_span_put(guard);
}

TEST(Span, PurgeStopsAtWhatMayStay) {
  std::vector<uint32_t> runs;
  for (int i = 0; i < 8; i++) {
    runs.push_back(get(2));
    get(1);
  }
  for (const uint32_t u : runs) hak_span_put(u);
  EXPECT_EQ(hak_span_purge(5 * kUnit), 12 * kUnit);
  EXPECT_EQ(dirty_units(), 4u);
}

TEST(Span, ARefusedPurgeEndsAndLeavesTheRunDirty) {
  const uint32_t a = get(6);
  get(1);
  std::memset(address(a), 1, kUnit);
  hak_span_put(a);
  fake_os_refuse(FAKE_PURGE);
  EXPECT_EQ(hak_span_purge(0), 0u);
  EXPECT_EQ(dirty_units(), 6u);
  bool clean = true;
  EXPECT_EQ(get(6, 1, &clean), a);
  EXPECT_FALSE(clean) << "pages that were not given back are not zero";
}

TEST(SpanDeathTest, ATableThatSomeoneWroteOverIsTold) {
  const uint32_t a = get(3), wall = get(1), b = get(3);
  get(1);
  hak_span_put(a);
  hak_span_put(b); /* both in one bin */
  hak_range_entry(a)->previous = wall;
  EXPECT_EXIT(get(3), testing::KilledBySignal(SIGABRT), "^hakmem: metadata was overwritten: pointer 0x");
  hak_range_entry(a)->previous = b;
  hak_range_entry(b)->next = UINT32_MAX;
  EXPECT_EXIT(get(3), testing::KilledBySignal(SIGABRT), "^hakmem: metadata was overwritten: pointer 0x");
}

/* ---- the model ---- */

enum Sort : uint8_t { kUsed, kDirty, kClean };

class Model {
 public:
  void step(std::mt19937 &random) {
    switch (random() % 16) {
      case 0: return purge(random() % 200);
      case 1: case 2: return extend(pick(random), 1 + random() % 8);
      case 3: case 4: return shorten(pick(random), random());
      case 5: case 6: case 7: case 8: case 9: return put(pick(random));
      default: return take(1 + random() % (random() % 8 ? 12 : 90), size_t{1} << (random() % 6 ? 0 : random() % 5));
    }
  }

  void check() {
    size_t dirty = 0, clean = 0;
    for (const Sort s : sort_) dirty += s == kDirty, clean += s == kClean;
    ASSERT_EQ(dirty_units(), dirty);
    ASSERT_EQ(clean_units(), clean);
    ASSERT_STREQ(hak_inside_span_wrong(), nullptr);
    for (const auto &[first, units] : used_) {
      ASSERT_EQ(hak_range_entry(first)->length, units);
      ASSERT_EQ(hak_range_run_of(address(first + static_cast<uint32_t>(units) - 1)), first);
      ASSERT_EQ(address(first)[0], static_cast<char>(first)) << "someone wrote here";
    }
  }

 private:
  uint32_t pick(std::mt19937 &random) {
    if (used_.empty()) return HAK_NO_UNIT;
    auto at = used_.lower_bound(static_cast<uint32_t>(random() % sort_.size()));
    return at != used_.end() ? at->first : used_.begin()->first;
  }

  /* The range may have grown: fresh units are clean. */
  void follow_growth() { sort_.resize(g_range.units, kClean); }

  /* Is there a free run of this sort that a search by bins cannot miss? */
  bool surely_has(Sort sort, size_t units) const {
    const size_t enough = units < 16 ? units : units + units / 8 + 1;
    size_t length = 0;
    for (const Sort s : sort_) {
      length = s == sort ? length + 1 : 0;
      if (length >= enough) return true;
    }
    return false;
  }

  void mark(uint32_t first, size_t units, Sort sort) {
    for (size_t i = 0; i < units; i++) {
      ASSERT_NE(sort_[first + i] == kUsed, sort == kUsed) << "unit " << first + i;
      sort_[first + i] = sort;
    }
  }

  void take(size_t units, size_t align) {
    const size_t need = units + align - 1, before = g_range.units;
    const bool from_dirty = surely_has(kDirty, need), from_free = from_dirty || surely_has(kClean, need);
    bool clean = false;
    const uint32_t u = get(units, align, &clean);
    ASSERT_NE(u, HAK_NO_UNIT);
    if (from_dirty) {
      ASSERT_FALSE(clean);
    }
    if (from_free) {
      ASSERT_EQ(g_range.units, before);
    }
    follow_growth();
    ASSERT_EQ(reinterpret_cast<uintptr_t>(address(u)) % (align * kUnit), 0u);
    for (size_t i = 0; i < units; i++) ASSERT_EQ(sort_[u + i], clean ? kClean : kDirty);
    if (clean) check_zero(u, units);
    mark(u, units, kUsed);
    used_[u] = units;
    fill(u, units);
  }

  void check_zero(uint32_t u, size_t units) {
    for (size_t i = 0; i < units; i++) {
      ASSERT_EQ(address(u)[i * kUnit], 0);
      ASSERT_EQ(address(u)[(i + 1) * kUnit - 1], 0);
    }
  }

  void fill(uint32_t u, size_t units) {
    for (size_t i = 0; i < units; i++) {
      address(u)[i * kUnit] = static_cast<char>(u);
      address(u)[(i + 1) * kUnit - 1] = 1;
    }
  }

  void put(uint32_t u) {
    if (u == HAK_NO_UNIT) return;
    hak_span_put(u);
    mark(u, used_[u], kDirty);
    used_.erase(u);
  }

  void extend(uint32_t u, size_t more) {
    if (u == HAK_NO_UNIT) return;
    const size_t after = u + used_[u];
    size_t run = 0; /* of one sort, behind the block */
    while (after + run < sort_.size() && sort_[after + run] == sort_[after] && sort_[after] != kUsed) run++;
    ASSERT_EQ(hak_span_extend(u, more), run >= more);
    if (run < more) return;
    mark(static_cast<uint32_t>(after), more, kUsed);
    used_[u] += more;
    fill(u, used_[u]);
  }

  void shorten(uint32_t u, size_t random) {
    if (u == HAK_NO_UNIT) return;
    const size_t units = 1 + random % used_[u];
    hak_span_shorten(u, units);
    mark(u + static_cast<uint32_t>(units), used_[u] - units, kDirty);
    used_[u] = units;
  }

  void purge(size_t keep) {
    const size_t before = dirty_units();
    const size_t purged = hak_span_purge(keep * kUnit) / kUnit;
    ASSERT_EQ(dirty_units(), before - purged);
    ASSERT_LE(dirty_units(), keep);
    for (uint32_t u = 1; u < sort_.size();) {
      const hak_unit *e = hak_range_entry(u);
      if (e->kind == HAK_UNIT_CLEAN) std::fill_n(sort_.begin() + u, e->length, kClean);
      u += e->length;
    }
  }

  std::vector<Sort> sort_ = {kUsed};
  std::map<uint32_t, size_t> used_;
};

TEST(Span, RandomOperationsAgreeWithTheModel) {
  for (unsigned seed = 0; seed < 4 * scale(); seed++) {
    std::mt19937 random(seed);
    static Model model;
    for (int i = 0; i < 1500; i++) {
      model.step(random);
      model.check();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
  }
}

TEST(Span, AVanishedHolderCostsNothing) {
  std::mt19937 random(8);
  Model model;
  for (int round = 0; round < 30; round++) {
    for (int i = 0; i < 40; i++) model.step(random);
    hak_inside_span_damage();
    hak_inside_vanish(hak_inside_span_lock());
    model.check(); /* the first question rebuilds, and the model sees no difference */
    if (testing::Test::HasFatalFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
