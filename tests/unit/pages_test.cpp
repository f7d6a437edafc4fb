/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages_test.cpp: blocks of pages and stretches of free pages.
 *
 * what      runs/pages.c and runs/stretch.c over the fake kernel (fake_os.h), which refuses now and then; after each
 *           step the predicate of pages_wrong.c. Blocks hold a mark, and what is said to be zero is.
 * owner     Each case runs in a separate process.
 * failure   A broken predicate, a block that was overwritten, memory that stays.
 * not here  Sizes, sites and classes of requests: large_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#define _Noreturn [[noreturn]]
extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "runs/pages.h"
#include "runs/runs.h"
#include "tables/classes.h"
#include "tables/range.h"
}

namespace {

constexpr size_t kPage = HAK_PAGE_BYTES, kUnit = HAK_UNIT_BYTES, kUnitPages = HAK_UNIT_PAGES;

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

char *get(size_t pages, size_t align = 1, uint64_t origin = 0, bool *zero = nullptr) {
  bool ignored;
  return static_cast<char *>(hak_pages_get(pages, align, origin, zero != nullptr ? zero : &ignored));
}

/* By its own class, as a free does. */
size_t put(void *p) {
  uint64_t origin;
  return hak_pages_put(p, hak_pages_class(p), &origin);
}

size_t dirty_bytes() {
  uint64_t dirty, clean;
  hak_runs_bytes(&dirty, &clean);
  return dirty;
}

struct Block {
  char *p;
  size_t pages;
};

class Walk {
 public:
  explicit Walk(unsigned seed) : random_(seed) {}

  void step() {
    fake_os.now_ms += random_() % 3 ? 0 : random_() % 40;
    switch (random_() % 16) {
      case 0: return purge();
      case 1: return fill();
      case 2: return put_batch();
      case 3: case 4: return resize();
      case 5: return limit();
      case 6: return units();
      case 7: case 8: case 9: case 10: return put_one();
      default: return take();
    }
  }

  void check() {
    ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
    for (const Block &b : blocks_) {
      ASSERT_EQ(hak_pages_of(b.p), b.pages);
      ASSERT_EQ(b.p[0], mark(b)) << "someone wrote here";
      ASSERT_EQ(b.p[b.pages * kPage - 1], mark(b)) << "someone wrote here";
      ASSERT_EQ(hak_pages_block(b.p + (b.pages - 1) * kPage + 5), b.p);
    }
  }

  void put_all() {
    fake_os_reset();
    while (!blocks_.empty()) put_one();
  }

 private:
  static char mark(const Block &b) { return static_cast<char>(hak_range_unit_of(b.p) * 7 + b.pages); }
  size_t some_pages() { return 9 + random_() % (random_() % 4 ? 56 : 120); }

  void keep(void *p, size_t pages) {
    if (p == nullptr) return;
    Block b = {static_cast<char *>(p), pages};
    b.p[0] = b.p[pages * kPage - 1] = mark(b);
    blocks_.push_back(b);
  }

  void take() {
    const size_t pages = some_pages(), align = random_() % 4 ? 1 : size_t{1} << random_() % 5;
    bool zero = false;
    char *p = get(pages, align, random_() % 4 ? 0 : 77, &zero);
    if (p == nullptr) return;
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % (align * kPage), 0u);
    for (size_t i = 0; zero && i < pages * kPage; i += 509) ASSERT_EQ(p[i], 0) << "said to be zero";
    keep(p, pages);
  }

  void fill() {
    void *out[16];
    const size_t pages = g_class[HAK_RUN_CLASS + random_() % HAK_RUN_CLASSES].bytes / kPage;
    const size_t n = hak_pages_fill(pages, out, 1 + random_() % 16);
    for (size_t i = 0; i < n; i++) keep(out[i], pages);
  }

  Block pick() {
    std::swap(blocks_[random_() % blocks_.size()], blocks_.back());
    const Block b = blocks_.back();
    blocks_.pop_back();
    return b;
  }

  void put_one() {
    if (blocks_.empty()) return;
    const Block b = pick();
    ASSERT_EQ(put(b.p), b.pages);
    ASSERT_EQ(put(b.p), 0u) << "freed twice";
  }

  void put_batch() {
    std::vector<void *> batch;
    unsigned c = 0;
    for (size_t i = 0; i < blocks_.size();) {
      const unsigned own = hak_pages_class(blocks_[i].p);
      c = c == 0 ? own : c;
      if (c == 0 || own != c || random_() % 2) { i++; continue; }
      batch.push_back(blocks_[i].p);
      std::swap(blocks_[i], blocks_.back());
      blocks_.pop_back();
    }
    hak_fault fault = {HAK_ERROR_none, nullptr};
    const size_t pages = hak_pages_put_some(c, batch.data(), batch.size(), &fault);
    ASSERT_EQ(fault.error, HAK_ERROR_none);
    ASSERT_EQ(pages, batch.empty() ? 0 : batch.size() * g_class[c].bytes / kPage);
  }

  void resize() {
    if (blocks_.empty()) return;
    Block b = pick();
    const size_t pages = some_pages();
    if (hak_pages_resize(b.p, pages)) b.pages = pages;
    keep(b.p, b.pages);
  }

  void purge() {
    if (random_() % 4 == 0) fake_os_refuse(FAKE_PURGE);
    if (random_() % 2) hak_runs_age();
    else hak_runs_purge((random_() % 8) << 20);
    fake_os_reset();
    if (random_() % 4 == 0) hak_runs_unmap_excess();
  }

  void limit() {
    fake_os_refuse(FAKE_MAP_AT);
    take();
    fake_os_reset();
  }

  /* Runs of units take and give memory beside the pages. */
  void units() {
    bool clean = false;
    if (!runs_.empty() && random_() % 2) {
      hak_runs_put(runs_.back());
      return runs_.pop_back();
    }
    const size_t units = 1 + random_() % 20;
    const uint32_t u = hak_runs_get(units, 1, HAK_UNIT_LARGE, 0, &clean);
    if (u == HAK_NO_UNIT) return;
    std::memset(hak_range_address(u), 1, units * kUnit);
    runs_.push_back(u);
  }

  std::mt19937 random_;
  std::vector<Block> blocks_;
  std::vector<uint32_t> runs_;
};

TEST(Pages, AnyOrderOfCallsKeepsTheTablesRight) {
  for (unsigned seed = 1; seed <= 6; seed++) {
    Walk walk(seed);
    for (unsigned i = 0; i < 1500 * scale(); i++) {
      walk.step();
      walk.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
      if (i % 500 == 499) hak_inside_pages_damage();
    }
    walk.put_all();
    hak_runs_purge(0);
    hak_runs_unmap_excess();
    ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
  }
}

TEST(Pages, BlocksLieSideBySide) {
  char *p = get(17), *q = get(9), *r = get(30);
  EXPECT_EQ(q, p + 17 * kPage);
  EXPECT_EQ(r, q + 9 * kPage);
  EXPECT_EQ(put(q), 9u);
  EXPECT_EQ(get(9), q) << "the stretch that fits best";
}

TEST(Pages, APurgeReturnsWholeUnits) {
  std::vector<char *> blocks;
  for (int i = 0; i < 100; i++) blocks.push_back(get(40));
  for (char *p : blocks) std::memset(p, 1, 40 * kPage), put(p);
  EXPECT_GE(dirty_bytes(), 100 * 40 * kPage);
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), 0u);
  for (char *p : blocks) EXPECT_EQ(p[7], 0);
  hak_runs_unmap_excess();
  EXPECT_LE(g_range.mapped, (2 << 20) + kUnit * 34);
}

/* Between blocks that stay, stretches shorter than a block go as well. */
TEST(Pages, APurgeTakesShortStretches) {
  std::vector<char *> blocks;
  for (int i = 0; i < 200; i++) blocks.push_back(get(i % 2 ? 9 : 14));
  for (int i = 0; i < 200; i += 2) std::memset(blocks[i], 1, 14 * kPage), put(blocks[i]);
  for (int i = 0; i < 200; i += 2) EXPECT_NE(get(9), nullptr);
  EXPECT_GE(dirty_bytes(), 100 * 5 * kPage);
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), 0u);
  ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
}

TEST(Pages, WhatCannotBePurgedStaysDirty) {
  char *p = get(200), *wall = get(20);
  std::memset(p, 1, 200 * kPage);
  put(p);
  const size_t before = dirty_bytes();
  fake_os_refuse(FAKE_PURGE);
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), before);
  ASSERT_STREQ(hak_inside_pages_wrong(), nullptr);
  fake_os_reset();
  hak_runs_purge(0);
  EXPECT_EQ(dirty_bytes(), 0u);
  EXPECT_NE(put(wall), 0u);
}

TEST(Pages, FreeMemoryOfPagesServesUnits) {
  std::vector<char *> blocks;
  for (int i = 0; i < 200; i++) blocks.push_back(get(40));
  for (char *p : blocks) put(p);
  const size_t mapped = g_range.mapped;
  bool clean = false;
  for (int i = 0; i < 40; i++) EXPECT_NE(hak_runs_get(10, 1, HAK_UNIT_LARGE, 0, &clean), HAK_NO_UNIT);
  EXPECT_EQ(g_range.mapped, mapped);
}

}  // namespace
