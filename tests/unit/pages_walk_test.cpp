/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages_walk_test.cpp: blocks of pages in random order of calls.
 *
 * what      runs/pages.c, runs/stretch.c and the runs beside them over the fake kernel (fake_os.h), which refuses now
 *           and then. After each step: both predicates; each page of a block holds the block's mark; each clean page
 *           holds zeros; the sums are those of the units and pages; no step exceeded the hard limit.
 * owner     Each case runs in a separate process.
 * failure   A broken predicate, a page that was overwritten, or that holds data and counts as clean.
 * not here  Single rules: pages_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "retain/footprint.h"
#include "runs/pages.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"
}

namespace {

constexpr size_t kPage = HAK_PAGE_BYTES, kUnit = HAK_UNIT_BYTES, kUnitPages = HAK_UNIT_PAGES;
constexpr uint64_t kOrigin = 77;

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

/* Called while pages are purged; without the lock but for short stretches. */
std::function<void()> g_meanwhile;
void meanwhile(void *, size_t) {
  if (hak_inside_span_lock()->word == 0 && g_meanwhile) g_meanwhile();
}

/* A block of pages, or, if units != 0, a run of units. */
struct Block {
  char *p;
  size_t pages, units;
  char mark;
};

class Walk {
 public:
  explicit Walk(unsigned seed) : random_(seed) {}

  void step() {
    fake_os.now_ms += random_() % 3 ? 0 : random_() % 40;
    if (random_() % 128 == 0) shrinks_ = !shrinks_;
    (this->*pick_call())();
    fake_os_permit(FAKE_PURGE);
    fake_os_permit(FAKE_MAP_AT);
    fake_os_permit(FAKE_UNMAP);
  }

  void check() {
    ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
    ASSERT_STREQ(hak_inside_span_wrong(), nullptr);
    for (const Block &b : blocks_) check_block(b);
    check_units();
  }

  void put_all() {
    while (!blocks_.empty()) put_one();
  }

  /* As if a fork had lost a thread that was inside. */
  void lose_a_thread() {
    uint64_t dirty, clean;
    hak_inside_pages_damage();
    hak_inside_span_damage();
    hak_inside_vanish(hak_inside_span_lock());
    hak_runs_bytes(&dirty, &clean); /* the first call rebuilds */
  }

 private:
  using Call = void (Walk::*)();

  Call pick_call() {
    static constexpr Call calls[] = {&Walk::purge, &Walk::fill,   &Walk::put_batch, &Walk::resize, &Walk::resize,
                                     &Walk::limit, &Walk::adopt,  &Walk::tell,      &Walk::unmap,  &Walk::take_run,
                                     &Walk::wrong, &Walk::refused, &Walk::limit,    &Walk::fill,   &Walk::adopt};
    const unsigned n = random_() % 32;
    if (n < std::size(calls)) return calls[n];
    return n % 4 == 0 || shrinks_ != (n % 4 == 1) ? &Walk::put_one : &Walk::take;
  }

  /* ---- what must hold ---- */

  void check_block(const Block &b) {
    for (size_t i = 0; i < b.pages; i++) ASSERT_EQ(b.p[i * kPage], b.mark) << "page " << i << " was overwritten";
    if (b.units != 0) return;
    ASSERT_EQ(hak_pages_of(b.p), b.pages);
    ASSERT_EQ(hak_pages_block(b.p + (random_() % b.pages) * kPage + 5), b.p);
  }

  static void check_zero(uint32_t unit, size_t first, size_t end) {
    const char *p = static_cast<const char *>(hak_range_address(unit));
    for (size_t i = first; i < end; i++) ASSERT_EQ(p[i * kPage], 0) << "page " << i << " of unit " << unit;
  }

  /* Of the pages of a paged unit. Returns the pages in use. */
  static size_t check_pages(uint32_t unit) {
    const hak_paged *e = hak_range_paged(unit);
    size_t used = 0;
    for (size_t i = 0; i < kUnitPages; i++) {
      const bool free = e->free >> i & 1, dirty = e->dirty >> i & 1;
      if (free && !dirty) check_zero(unit, i, i + 1);
      used += !free;
    }
    return used;
  }

  void check_units() {
    size_t used = 0, wanted = 0;
    for (uint32_t u = 1; u < g_range.units;) {
      const hak_unit *e = hak_range_entry(u);
      const size_t units = e->kind == HAK_UNIT_HOLE ? 1 : e->length;
      if (e->kind == HAK_UNIT_CLEAN) check_zero(u, 0, units * kUnitPages);
      if (e->kind == HAK_UNIT_PAGED) used += check_pages(u);
      if (e->kind == HAK_UNIT_LARGE) used += units * kUnitPages;
      u += static_cast<uint32_t>(units);
    }
    for (const Block &b : blocks_) wanted += b.pages;
    ASSERT_EQ(used, wanted) << "pages in use";
    uint64_t dirty, clean;
    hak_runs_bytes(&dirty, &clean);
    ASSERT_EQ(g_footprint.span, used * kPage + dirty);
    ASSERT_EQ(g_footprint.dirty, dirty);
    ASSERT_EQ(g_range.mapped, used * kPage + dirty + clean);
  }

  /* ---- calls ---- */

  size_t some_pages() {
    switch (random_() % 8) {
      case 0: return HAK_PAGES_LEAST;
      case 1: return HAK_PAGES_LEAST + random_() % (HAK_PAGES_MOST - HAK_PAGES_LEAST + 1);
      case 2: case 3: return HAK_PAGES_LEAST + random_() % 120;
      default: return HAK_PAGES_LEAST + random_() % 16;
    }
  }

  void keep(void *p, size_t pages, size_t units = 0) {
    if (p == nullptr) return;
    Block b = {static_cast<char *>(p), pages, units, static_cast<char>(1 + random_() % 127)};
    for (size_t i = 0; i < pages; i++) b.p[i * kPage] = b.mark;
    blocks_.push_back(b);
  }

  Block pick() {
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const Block b = blocks_.back();
    blocks_.pop_back();
    return b;
  }

  uint64_t some_origin() { return random_() % 4 ? 0 : kOrigin; }

  /* After a call that takes memory. A free may exceed the limit: units with one dirty page return as dirty. */
  static void check_limit(uint64_t span) {
    const uint64_t hard = hak_setting(hard_limit);
    if (hard != 0 && g_footprint.span > span) {
      ASSERT_LE(g_footprint.span, hard) << "the hard limit";
    }
  }

  void take() {
    const uint64_t span = g_footprint.span;
    const size_t pages = some_pages(), align = random_() % 4 ? 1 : size_t{1} << random_() % 5;
    const uint64_t origin = some_origin();
    bool zero = false;
    char *p = static_cast<char *>(hak_pages_get(pages, align, origin, &zero));
    check_limit(span);
    if (p == nullptr) return;
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % (align * kPage), 0u);
    ASSERT_EQ(hak_pages_origin(p), origin);
    for (size_t i = 0; zero && i < pages; i++) ASSERT_EQ(p[i * kPage], 0) << "said to be zero";
    keep(p, pages);
  }

  void fill() {
    void *out[16];
    const size_t pages = g_class[HAK_RUN_CLASS + random_() % HAK_RUN_CLASSES].bytes / kPage;
    g_footprint.spare = random_() % 2; /* some dirty memory may stay */
    const uint64_t span = g_footprint.span;
    const size_t n = hak_pages_fill(pages, out, 1 + random_() % 16);
    check_limit(span);
    for (size_t i = 0; i < n; i++) keep(out[i], pages);
  }

  void put_one() {
    if (blocks_.empty()) return;
    const Block b = pick();
    if (b.units != 0) {
      ASSERT_EQ(hak_runs_put(static_cast<uint32_t>(hak_range_unit_of(b.p))), b.units * kUnit);
      return;
    }
    uint64_t origin;
    const unsigned c = hak_pages_class(b.p);
    ASSERT_EQ(hak_pages_put(b.p, c, &origin), b.pages);
    ASSERT_EQ(hak_pages_put(b.p, c, &origin), 0u) << "freed twice";
  }

  /* Blocks of one class, and now and then a wrong pointer among them. */
  void put_batch() {
    std::vector<void *> batch;
    unsigned c = 0;
    for (size_t i = 0; i < blocks_.size() && batch.size() < 40;) {
      const unsigned own = blocks_[i].units != 0 ? 0 : hak_pages_class(blocks_[i].p);
      c = c == 0 ? own : c;
      if (c == 0 || own != c || random_() % 2) { i++; continue; }
      batch.push_back(blocks_[i].p);
      std::swap(blocks_[i], blocks_.back());
      blocks_.pop_back();
    }
    if (batch.empty()) return;
    const size_t pages = batch.size() * g_class[c].bytes / kPage;
    char *const bad = static_cast<char *>(batch.back()) + (random_() % 2 ? kPage : 16);
    const bool is_bad = random_() % 4 == 0;
    if (is_bad) batch.insert(batch.begin() + random_() % batch.size(), bad);
    hak_fault fault = {HAK_ERROR_none, nullptr};
    ASSERT_EQ(hak_pages_put_some(c, batch.data(), batch.size(), &fault), pages);
    ASSERT_EQ(fault.error, is_bad ? HAK_ERROR_interior : HAK_ERROR_none);
    ASSERT_EQ(fault.p, is_bad ? bad : nullptr);
  }

  void resize() {
    if (blocks_.empty()) return;
    Block b = pick();
    const size_t pages = random_() % 2 ? some_pages() : std::max<size_t>(b.pages + random_() % 8, 13) - 4;
    const uint64_t span = g_footprint.span;
    const bool ok = b.units == 0 && hak_pages_resize(b.p, pages);
    check_limit(pages > b.pages ? span : UINT64_MAX);
    ASSERT_TRUE(ok || b.units != 0 || pages > b.pages) << "a shorter block stays in place";
    for (size_t i = 0; ok && i < std::min(b.pages, pages); i++) ASSERT_EQ(b.p[i * kPage], b.mark);
    for (size_t i = b.pages; ok && i < pages; i++) b.p[i * kPage] = b.mark;
    if (ok) b.pages = pages;
    blocks_.push_back(b);
  }

  /* Runs of units take and give memory beside the pages. */
  void take_run() {
    bool clean = random_() % 2;
    const size_t units = 1 + random_() % 20;
    const uint64_t span = g_footprint.span;
    const uint32_t u = hak_runs_get(units, 1, HAK_UNIT_LARGE, 0, &clean, nullptr);
    check_limit(span);
    if (u == HAK_NO_UNIT) return;
    if (clean) check_zero(u, 0, units * kUnitPages);
    for (size_t i = 0; i < units; i++) scribble(hak_range_entry(u + static_cast<uint32_t>(i)));
    keep(hak_range_address(u), units * kUnitPages, units);
  }

  /* As the facts of a slab. */
  void scribble(hak_unit *e) {
    std::memset(reinterpret_cast<char *>(e) + offsetof(hak_unit, next), static_cast<int>(random_()),
                sizeof *e - offsetof(hak_unit, next));
  }

  /* A run of units becomes a block of pages. */
  void adopt() {
    const auto run = std::find_if(blocks_.begin(), blocks_.end(), [](const Block &b) { return b.units != 0; });
    if (run == blocks_.end()) return;
    const auto unit = static_cast<uint32_t>(hak_range_unit_of(run->p));
    const size_t pages = HAK_PAGES_LEAST + random_() % (std::min(run->pages, size_t{128}) - HAK_HALF_PAGES);
    if (random_() % 2) hak_runs_shorten(unit, (pages + kUnitPages - 1) / kUnitPages);
    hak_pages_adopt(unit, pages, some_origin());
    run->units = 0;
    run->pages = pages;
  }

  void tell() {
    if (blocks_.empty()) return;
    const Block &b = blocks_[random_() % blocks_.size()];
    if (b.units == 0) hak_pages_set_origin(b.p, some_origin());
  }

  /* Another thread takes and frees blocks meanwhile. */
  void purge() {
    if (random_() % 4 == 0) fake_os_refuse(FAKE_PURGE);
    if (random_() % 4 == 0) fake_os_refuse_once(FAKE_PURGE, 1 + random_() % 8);
    g_meanwhile = [this] {
      static constexpr Call calls[] = {&Walk::take, &Walk::put_one, &Walk::put_batch, &Walk::fill, &Walk::resize};
      for (unsigned n = random_() % 4; n != 0; n--) (this->*calls[random_() % std::size(calls)])();
    };
    if (random_() % 2) hak_runs_age(0);
    else hak_runs_purge((random_() % 8) << 18);
    g_meanwhile = nullptr;
  }

  void unmap() {
    if (random_() % 4 == 0) fake_os_refuse(FAKE_UNMAP);
    if (random_() % 8 == 0) hak_runs_unmap();
    else if (random_() % 2) hak_runs_unmap_excess();
    else hak_pages_return_all();
  }

  void limit() {
    hak_store(&g_settings.hard_limit, random_() % 2 ? 0 : g_footprint.span + random_() % 60 * kPage);
  }

  void refused() {
    fake_os_refuse(FAKE_MAP_AT);
    take();
  }

  /* Pointers into a block, and to a block of another class. */
  void wrong() {
    if (blocks_.empty()) return;
    const Block b = blocks_[random_() % blocks_.size()];
    if (b.units != 0) return;
    uint64_t origin;
    const unsigned c = hak_pages_class(b.p);
    ASSERT_EQ(hak_pages_put(b.p + kPage, c, &origin), 0u);
    ASSERT_EQ(hak_pages_put(b.p + 8, c, &origin), 0u);
    ASSERT_EQ(hak_pages_put(b.p, c == HAK_RUN_CLASS ? c + 1 : HAK_RUN_CLASS, &origin), 0u);
    ASSERT_EQ(hak_pages_judge(c, b.p), HAK_ERROR_none);
    ASSERT_EQ(hak_pages_judge(HAK_RUN_CLASS, b.p + (b.pages - 1) * kPage), HAK_ERROR_interior);
  }

  std::mt19937 random_;
  std::vector<Block> blocks_;
  bool shrinks_ = false;
};

TEST(PagesWalk, AnyOrderOfCallsKeepsTheTablesRight) {
  fake_os_reset();
  fake_os.on_purge = meanwhile;
  for (unsigned seed = 1; seed <= 6; seed++) {
    Walk walk(seed);
    for (unsigned i = 0; i < 1500 * scale(); i++) {
      walk.step();
      if (!HasFatalFailure()) walk.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
      if (i % 500 == 499) walk.lose_a_thread();
    }
    hak_store(&g_settings.hard_limit, 0);
    walk.put_all();
    hak_runs_purge(0);
    hak_runs_unmap_excess();
    walk.check();
    ASSERT_EQ(g_footprint.span, 0u);
  }
}

}  // namespace
