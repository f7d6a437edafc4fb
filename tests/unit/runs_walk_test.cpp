/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_walk_test.cpp: runs of units against a model with an entry for every unit.
 *
 * what      All operations of runs in random order over the fake kernel (fake_os.h), which refuses now and then. The
 *           model knows the state of each unit and the time of becoming dirty, and computes the units that must be
 *           released.
 * owner     Each case runs in a separate process.
 * failure   A unit whose state differs from the model, a page released or kept against the rules, a wrong sum.
 * not here  Single rules: runs_test.cpp, runs_age_test.cpp.
 */
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "runs_calls.h"

extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "tables/counters.h"
#include "tables/settings.h"
}

namespace {

constexpr size_t kUnmapUnits = 16, kBatch = HAK_OS_EXTENTS;

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

enum Sort : uint8_t { kHole, kUsed, kDirty, kClean, kGone };

struct Unit {
  Sort sort;
  uint64_t since;
};

struct Stretch {
  size_t first, units;
};

/* Stretches that the kernel purged. */
std::vector<Stretch> g_purged;
void told(void *p, size_t bytes) { g_purged.push_back({hak_range_unit_of(p), bytes / kUnit}); }

class Model {
 public:
  Model() { fake_os.on_purge = told; }

  void step(std::mt19937 &random) {
    g_rent.now_ms += random() % 3 ? 0 : random() % 40;
    fake_os.now_ms = g_rent.now_ms;
    switch (random() % 32) {
      case 0: return purge(random() % 200, random);
      case 1: case 2: case 3: case 4: return age(random);
      case 5: return unmap(random() % 4 == 0);
      case 6: return limit(random);
      case 7: return sit_down(random);
      case 8: case 9: case 10: return extend(pick(random), 1 + random() % 8);
      case 11: case 12: case 13: return shorten(pick(random), random());
      case 14: case 15: case 16: case 17: case 18: case 19: case 20: case 21: return put(pick(random));
      default: break;
    }
    const size_t units = 1 + random() % (random() % 8 ? 12 : 90), align_log = random() % 6 ? 0 : random() % 5;
    take(units, size_t{1} << align_log, random() % 8 == 0);
  }

  void check() {
    size_t of[kGone + 1] = {};
    for (const Unit &u : unit_) of[u.sort]++;
    ASSERT_EQ(dirty_units(), of[kDirty]);
    ASSERT_EQ(clean_units(), of[kClean]);
    ASSERT_STREQ(hak_inside_span_wrong(), nullptr);
    ASSERT_EQ(g_range.mapped, (of[kUsed] + of[kDirty] + of[kClean]) * kUnit);
    ASSERT_EQ(g_footprint.span, (of[kUsed] + of[kDirty]) * kUnit);
    ASSERT_EQ(g_footprint.dirty, of[kDirty] * kUnit);
    check_ages();
    check_used();
    check_sums();
  }

  /* So that the range does not grow for ever. */
  void put_all() {
    while (!used_.empty()) put(used_.begin()->first);
  }

  /* After a repair the ages of runs are unknown. */
  void forget_ages() {
    for (Unit &u : unit_) u.since = hak_load(&g_rent.now_ms);
  }

 private:
  void check_ages() {
    uint64_t before = 0;
    for (const uint32_t u : queue()) {
      ASSERT_GE(unit_[u].since, before) << u << " stands behind a younger one";
      before = unit_[u].since;
    }
  }

  void check_used() {
    for (const auto &[first, units] : used_) {
      ASSERT_EQ(hak_range_entry(first)->length, units);
      ASSERT_EQ(hak_range_run_of(address(first + static_cast<uint32_t>(units) - 1)), first);
      ASSERT_EQ(address(first)[0], static_cast<char>(first)) << "someone wrote here";
    }
  }

  void check_sums() {
    ASSERT_EQ(hak_counter_value(HAK_COUNTER_release_added), added_);
    ASSERT_EQ(hak_counter_value(HAK_COUNTER_release_flushed), flushed_);
    ASSERT_EQ(hak_counter_value(HAK_COUNTER_release_bytes), flushed_units_ * kUnit);
  }

  uint32_t pick(std::mt19937 &random) {
    if (used_.empty()) return HAK_NO_UNIT;
    auto at = used_.lower_bound(static_cast<uint32_t>(random() % unit_.size()));
    return at != used_.end() ? at->first : used_.begin()->first;
  }

  /* The range may have grown: fresh units are clean. */
  void follow_growth() { unit_.resize(g_range.units, {kClean, 0}); }

  std::vector<Stretch> stretches(Sort sort) const {
    std::vector<Stretch> found;
    for (size_t u = 1; u < unit_.size(); u++) {
      if (unit_[u].sort != sort) continue;
      if (unit_[u - 1].sort != sort) found.push_back({u, 0});
      found.back().units++;
    }
    return found;
  }

  /* True if a search by bins must find a free run of this sort. */
  bool surely_has(Sort sort, size_t units) const {
    const size_t enough = units < 16 ? units : units + units / 8 + 1;
    const auto found = stretches(sort);
    return std::any_of(found.begin(), found.end(), [&](const Stretch &s) { return s.units >= enough; });
  }

  size_t in_use() const {
    return static_cast<size_t>(std::count_if(unit_.begin(), unit_.end(), [](const Unit &u) {
      return u.sort == kUsed || u.sort == kDirty;
    }));
  }

  bool allowed(size_t units) const {
    return hak_setting(hard_limit) == 0 || (in_use() + units) * kUnit <= hak_setting(hard_limit);
  }

  void begin_use(size_t first, size_t units) {
    const Sort sort = unit_[first].sort;
    ASSERT_NE(sort, kUsed);
    ASSERT_NE(sort, kHole);
    for (size_t u = first; u < first + units; u++) {
      ASSERT_EQ(unit_[u].sort, sort);
      unit_[u].sort = kUsed;
    }
  }

  void take(size_t units, size_t align, bool rather_clean) {
    const size_t need = units + align - 1, before = g_range.units;
    const bool from_dirty = surely_has(kDirty, need), from_clean = surely_has(kClean, need), may_grow = allowed(units);
    const bool from_free = from_dirty || from_clean || surely_has(kGone, need);
    bool clean = rather_clean;
    const uint32_t u = hak_runs_get(units, align, HAK_UNIT_LARGE, 0, &clean, nullptr);
    follow_growth();
    const bool lost = find_strangers(units);
    follow_revival(u, units);
    if (u == HAK_NO_UNIT) {
      ASSERT_FALSE(from_dirty || may_grow) << "only the limit is a reason";
      return;
    }
    if (from_dirty && !rather_clean) {
      ASSERT_FALSE(clean);
    }
    if (from_clean && rather_clean && may_grow) {
      ASSERT_EQ(unit_[u].sort, kClean);
    }
    ASSERT_LE(clean, may_grow) << "above the hard limit";
    if (from_free && !lost) {
      ASSERT_EQ(g_range.units, before);
    }
    ASSERT_EQ(reinterpret_cast<uintptr_t>(address(u)) % (align * kUnit), 0u);
    ASSERT_EQ(clean, unit_[u].sort == kClean);
    begin_use(u, units);
    if (clean) check_zero(u, units);
    used_[u] = units;
    fill(u, units);
  }

  /* Mapping unmapped units again may map more units than the run needs: follows the unit table. */
  void follow_revival(uint32_t first, size_t units) {
    for (size_t u = first; first != HAK_NO_UNIT && u < first + units; u++) {
      if (unit_[u].sort == kGone) unit_[u].sort = kClean;
    }
    for (const uint32_t run : runs_of(HAK_UNIT_CLEAN)) {
      for (size_t u = run; u < run + hak_range_entry(run)->length; u++) {
        if (unit_[u].sort == kGone) unit_[u].sort = kClean;
      }
    }
  }

  /* Units lost to foreign mappings become holes, `units` units at each try. True if units were lost. */
  bool find_strangers(size_t units) {
    size_t lost = 0, strangers = 0;
    for (const uint32_t u : runs_of(HAK_UNIT_HOLE)) {
      if (unit_[u].sort == kHole) continue;
      EXPECT_EQ(unit_[u].sort, kGone);
      unit_[u].sort = kHole;
      lost++;
      strangers += strangers_.erase(u);
    }
    EXPECT_EQ(lost % units, 0u);
    EXPECT_GE(strangers, lost / units);
    return lost != 0;
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

  /* Units that are dirty now take the age of the larger part. */
  void free_units(size_t first, size_t units) {
    size_t from = first, to = first + units;
    while (unit_[from - 1].sort == kDirty) from--;
    while (to < unit_.size() && unit_[to].sort == kDirty) to++;
    const size_t front = first - from, back = to - first - units;
    uint64_t since = hak_load(&g_rent.now_ms);
    if (front >= back && front >= units) since = unit_[from].since;
    else if (back >= units) since = unit_[to - 1].since;
    for (size_t u = from; u < to; u++) unit_[u] = {kDirty, since};
  }

  void put(uint32_t u) {
    if (u == HAK_NO_UNIT) return;
    const bool is_clean = u % 5 == 0; /* as the block layer that purged the unit */
    if (is_clean) put_clean(u);
    else EXPECT_EQ(hak_runs_put(u), used_[u] * HAK_UNIT_BYTES);
    if (!is_clean) free_units(u, used_[u]);
    added_++;
    used_.erase(u);
  }

  void put_clean(uint32_t u) {
    ASSERT_EQ(madvise(address(u), used_[u] * kUnit, MADV_DONTNEED), 0);
    for (size_t i = 0; i < used_[u]; i++) unit_[u + i].sort = kClean;
    hak_runs_put_clean(u);
  }

  void extend(uint32_t u, size_t more) {
    if (u == HAK_NO_UNIT) return;
    const size_t after = u + used_[u];
    size_t run = 0; /* units of one sort, behind the block */
    while (after + run < unit_.size() && unit_[after + run].sort == unit_[after].sort) run++;
    const Sort sort = run != 0 ? unit_[after].sort : kHole;
    const bool may = run >= more && (sort == kDirty || (sort == kClean && allowed(more)));
    ASSERT_EQ(hak_runs_extend(u, more), may);
    if (!may) return;
    begin_use(after, more);
    used_[u] += more;
    fill(u, used_[u]);
  }

  void shorten(uint32_t u, size_t random) {
    if (u == HAK_NO_UNIT) return;
    const size_t units = 1 + random % used_[u], rest = used_[u] - units;
    hak_runs_shorten(u, units);
    if (rest != 0) free_units(u + units, rest);
    used_[u] = units;
  }

  /* ---- going back ---- */

  /* The units of one batch, oldest first. */
  std::vector<Stretch> batch(uint64_t keep) const {
    uint64_t dirty = dirty_units() * kUnit;
    std::vector<Stretch> out;
    for (const uint32_t u : queue()) {
      const Stretch run = {u, hak_range_entry(u)->length};
      if (out.size() == kBatch || dirty <= keep) break;
      const size_t needed = (dirty - keep + kUnit - 1) / kUnit;
      const size_t units = std::min<size_t>(run.units, needed); /* from the run's end */
      out.push_back({static_cast<uint32_t>(run.first + run.units - units), units});
      dirty -= units * kUnit;
    }
    return out;
  }

  /* The kernel refuses every call from one of the next few on, or none. */
  static size_t refuse_from(std::mt19937 &random) {
    const size_t which = random() % 4 ? SIZE_MAX : random() % 4;
    if (which != SIZE_MAX) fake_os.fail_from[FAKE_PURGE] = fake_os.calls[FAKE_PURGE] + which + 1;
    return which;
  }

  /* Applies the purges of `expected` before call `refused` to the model; returns the purged bytes. */
  size_t went(const std::vector<Stretch> &expected, size_t refused, size_t *next) {
    size_t units = 0;
    for (size_t i = 0; i < expected.size(); i++) {
      const bool ok = i < refused;
      for (size_t u = 0; u < expected[i].units; u++) unit_[expected[i].first + u] = {kClean, hak_load(&g_rent.now_ms)};
      if (!ok) free_units(expected[i].first, expected[i].units);
      if (!ok) continue;
      EXPECT_LT(*next, g_purged.size());
      EXPECT_EQ(g_purged[*next].first, expected[i].first);
      EXPECT_EQ(g_purged[(*next)++].units, expected[i].units);
      units += expected[i].units;
      flushed_++;
    }
    flushed_units_ += units;
    return units * kUnit;
  }

  void age(std::mt19937 &random) {
    const uint64_t keep = hak_inside_runs_keep_limit();
    const auto expected = batch(dirty_units() * kUnit > keep ? keep - keep / 4 : keep);
    const size_t refused = refuse_from(random);
    size_t next = 0;
    g_purged.clear();
    const size_t gone = hak_runs_age(0);
    fake_os_permit(FAKE_PURGE);
    ASSERT_EQ(gone, went(expected, refused, &next));
    ASSERT_EQ(next, g_purged.size());
  }

  /* At most one batch of runs is dirty here, so that one batch suffices. No call is refused: a refused call would be
   * repeated. */
  void purge(uint64_t keep_units, std::mt19937 &random) {
    const auto expected = batch(keep_units * kUnit);
    if (expected.size() == kBatch) return age(random);
    size_t next = 0;
    g_purged.clear();
    const size_t gone = hak_runs_purge(keep_units * kUnit);
    ASSERT_EQ(gone, went(expected, SIZE_MAX, &next));
    ASSERT_EQ(next, g_purged.size());
  }

  void unmap(bool refuse) {
    size_t units = 0;
    if (refuse) fake_os_refuse(FAKE_UNMAP);
    for (const Stretch &run : stretches(kClean)) {
      if (refuse || run.units < kUnmapUnits) continue;
      units += run.units;
      for (size_t u = 0; u < run.units; u++) unit_[run.first + u].sort = kGone;
    }
    ASSERT_EQ(hak_runs_unmap(), units * kUnit);
    fake_os_permit(FAKE_UNMAP);
  }

  void limit(std::mt19937 &random) {
    hak_store(&g_settings.hard_limit, random() % 3 ? 0 : (in_use() + random() % 20) * kUnit);
  }

  /* Maps a foreign mapping at an unmapped unit. */
  void sit_down(std::mt19937 &random) {
    const auto gone = stretches(kGone);
    if (gone.empty() || random() % 4 != 0) return;
    const Stretch &run = gone[random() % gone.size()];
    const auto u = static_cast<uint32_t>(run.first + random() % run.units);
    void *p = mmap(address(u), kUnit, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    ASSERT_EQ(p != MAP_FAILED, strangers_.insert(u).second);
  }

  std::vector<Unit> unit_ = {{kHole, 0}};
  std::map<uint32_t, size_t> used_;
  std::set<uint32_t> strangers_;
  uint64_t added_ = 0, flushed_ = 0, flushed_units_ = 0;
};

TEST(SpanWalk, RandomOperationsAgreeWithTheModel) {
  static Model model;
  for (unsigned seed = 0; seed < 4 * scale(); seed++) {
    std::mt19937 random(seed);
    model.put_all();
    for (int i = 0; i < 1500; i++) {
      model.step(random);
      model.check();
      if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
  }
}

TEST(SpanWalk, AVanishedHolderCostsNothingButAges) {
  std::mt19937 random(8);
  Model model;
  for (int round = 0; round < 30; round++) {
    for (int i = 0; i < 40; i++) model.step(random);
    model.forget_ages();
    hak_inside_span_damage();
    hak_inside_vanish(hak_inside_span_lock());
    model.check(); /* the first question rebuilds */
    if (testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

}  // namespace
