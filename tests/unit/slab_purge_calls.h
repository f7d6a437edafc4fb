/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_purge_calls.h: shared parts of the tests of empty pages inside slabs.
 *
 * what      A fixture over the fake runs (fake_runs.h) and the fake kernel (fake_os.h) that records the purged pages
 *           and the pages that a slab reports empty, and runs a function during the kernel call.
 * owner     g_gone and g_meanwhile: the test.
 * locks     The function runs without any lock.
 * failure   Every test ends with a check of all classes and of the sum of empty pages.
 * not here  Tests.
 */
#ifndef HAK_TEST_SLAB_HOLES_CALLS_H
#define HAK_TEST_SLAB_HOLES_CALLS_H

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/slab.h"
#include "fake_os.h"
#include "fake_runs.h"
#include "internal.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "tables/classes.h"
#include "tables/counters.h"
#include "tables/range.h"
}

using Blocks = std::vector<void *>;
using Pages = std::set<uintptr_t>;

inline uintptr_t number(const void *p) { return reinterpret_cast<uintptr_t>(p); }

inline void check_classes() {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) ASSERT_STREQ(hak_inside_slab_wrong(c), nullptr) << c;
}

/* The purged pages, and the function for the first such moment: the state is valid before and after. */
inline Pages g_gone;
inline std::function<void()> g_meanwhile;

inline void told(void *p, size_t bytes) {
  for (uintptr_t at = number(p); at < number(p) + bytes; at += hak_os_page_bytes()) {
    EXPECT_TRUE(g_gone.insert(at).second) << "twice in one sweep";
  }
  if (!g_meanwhile) return;
  const auto once = std::exchange(g_meanwhile, nullptr);
  check_classes();
  once();
  check_classes();
}

class Holes : public testing::Test {
 protected:
  void SetUp() override {
    fake_span_start();
    if (page() == HAK_UNIT_BYTES) GTEST_SKIP() << "a slab that is one page has no part to give back";
    fake_os.on_purge = told;
    at(1000);
  }
  void TearDown() override {
    EXPECT_STREQ(fake_span.wrong, nullptr);
    check_sums();
  }

  static void at(uint64_t ms) { hak_store(&g_rent.now_ms, ms); }
  static uintptr_t page() { return hak_os_page_bytes(); }

  static void pages_of(unsigned c, void *block, Pages *out) {
    const uintptr_t last = number(block) + g_class[c].bytes - 1;
    for (uintptr_t at = number(block) / page() * page(); at <= last; at += page()) out->insert(at);
  }
  static Pages pages_of(unsigned c, const Blocks &blocks) {
    Pages out;
    for (void *p : blocks) pages_of(c, p, &out);
    return out;
  }

  /* Lowest address first. */
  Blocks fill(unsigned c, size_t want) {
    Blocks out(want);
    for (size_t n = 0, got; n < want; n += got) { /* a fill may stop where free slots are scattered */
      got = hak_slab_fill(c, &current_, &out[n], want - n);
      EXPECT_NE(got, 0u);
      if (got == 0) break;
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  static void put(unsigned c, const Blocks &blocks) {
    hak_fault fault = {HAK_ERROR_none, nullptr};
    hak_slab_put(c, blocks.data(), blocks.size(), HAK_SLAB_ALL, &fault);
    EXPECT_EQ(fault.error, HAK_ERROR_none);
  }

  void release(unsigned c) { hak_slab_release(c, &current_); }

  /* All the way through; bytes. */
  static size_t sweep(uint32_t idle_ticks = 0) {
    hak_sweep sweep = {.at = 0, .units = UINT32_MAX, .idle_ticks = idle_ticks};
    size_t sum = 0;
    g_gone.clear();
    do sum += hak_slab_sweep(&sweep);
    while (sweep.at != 0);
    return sum;
  }

  static std::vector<uint32_t> slabs() {
    std::vector<uint32_t> found;
    for (uint32_t u = 1; u < g_range.units; u++) {
      const hak_unit *s = hak_range_entry(u);
      if (s->kind == HAK_UNIT_SLAB && s->words != nullptr) found.push_back(u);
    }
    return found;
  }

  static Pages all_pages(uint32_t u) {
    Pages out;
    const uintptr_t first = number(hak_range_address(u)), end = first + hak_range_entry(u)->length * HAK_UNIT_BYTES;
    for (uintptr_t at = first; at < end; at += page()) out.insert(at);
    return out;
  }

  /* The pages that the slab says are empty. */
  static Pages said_empty(uint32_t u) {
    Pages out;
    const uintptr_t first = number(hak_range_address(u));
    for (uint64_t bits = hak_range_entry(u)->empty; bits != 0; bits &= bits - 1) {
      out.insert(first + static_cast<unsigned>(__builtin_ctzll(bits)) * page());
    }
    return out;
  }

  static void check_sums() {
    size_t empty = 0;
    for (const uint32_t u : slabs()) empty += said_empty(u).size();
    ASSERT_EQ(g_footprint.empty, empty * page());
    check_classes();
  }

  static uint64_t out(unsigned c) {
    uint64_t units;
    return hak_slab_handed_out(c, &units);
  }

  /* A slab of `blocks`, of which all but the first n are free. */
  Blocks fill_and_keep(unsigned c, size_t n) {
    Blocks blocks = fill(c, g_class[c].slots);
    put(c, Blocks(blocks.begin() + static_cast<long>(n), blocks.end()));
    blocks.resize(n);
    return blocks;
  }

  /* n slabs with the middle block kept, a hole before it and a hole behind; returns the kept blocks. */
  Blocks two_holes_each(unsigned c, size_t n) {
    const size_t slots = g_class[c].slots;
    Blocks kept, others = fill(c, n * slots);
    for (size_t i = n; i-- > 0;) {
      const auto middle = others.begin() + static_cast<long>(i * slots + slots / 2);
      kept.push_back(*middle);
      others.erase(middle);
    }
    put(c, others);
    return kept;
  }

  uint32_t current_ = HAK_NO_UNIT;
};

inline Pages minus(const Pages &a, const Pages &b) {
  Pages out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(out, out.end()));
  return out;
}

#endif
