/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_window_test.cpp: changes of a slab while a sweep's kernel call for its pages runs.
 *
 * what      blocks/slab_purge.c over the fake kernel (fake_os.h), which calls back in the middle of a purge, with no
 *           lock held.
 *
 *               sweep: take slots out -> [ advice: on_purge acts as another thread might ] -> put slots back
 *
 * owner     Each case runs in a separate process.
 * locks     none: one thread plays both.
 * failure   A run that is purged although the run was put back, or lists that do not agree with the bitmaps.
 * not here  The choice of pages: slab_test.cpp.
 */
#include <gtest/gtest.h>

#include <functional>
#include <utility>
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
#include "tables/classes.h"
#include "tables/range.h"
}

namespace {

/* 5 KiB: twelve slots end at the last page of a unit. Slot 0 covers a page, slot 1 none. */
constexpr unsigned kClass = HAK_CLASS_5120;
constexpr size_t kSlots = 12;

std::function<void()> meanwhile;
size_t purges, purges_of_nothing;

void on_purge(void *p, size_t) {
  purges++;
  if (meanwhile != nullptr) std::exchange(meanwhile, nullptr)();
  purges_of_nothing += hak_range_class(p) != kClass;
}

class SlabWindow : public testing::Test {
 protected:
  void SetUp() override {
    fake_span_start();
    fake_span.dirty = true;
    fake_os.on_purge = on_purge;
    ASSERT_EQ(g_class[kClass].slots, kSlots);
    fill(kSlots);
    hak_slab_release(kClass, &current_);
  }
  void TearDown() override {
    EXPECT_STREQ(hak_inside_slab_wrong(kClass), nullptr);
    EXPECT_EQ(purges_of_nothing, 0u);
  }

  void fill(size_t want) {
    void *out[kSlots];
    const size_t n = hak_slab_fill(kClass, &current_, out, want);
    for (size_t i = n; i-- > 0;) blocks_.push_back(out[i]);
  }

  void put(size_t i) {
    hak_fault fault = {HAK_ERROR_none, nullptr};
    hak_slab_put(kClass, &blocks_[i], 1, 1, &fault);
    EXPECT_EQ(fault.error, HAK_ERROR_none);
    blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
  }

  void put_all() {
    while (!blocks_.empty()) put(0);
  }

  static void sweep() {
    hak_sweep all = {};
    all.units = UINT32_MAX;
    hak_slab_sweep(&all);
  }

  uint32_t current_ = HAK_NO_UNIT;
  std::vector<void *> blocks_;
};

TEST_F(SlabWindow, ASlabWhoseEndAloneIsEmptyIsNotGivenBackUnderASweep) {
  put(1);
  meanwhile = [this] {
    put_all();
    hak_slab_trim();
  };
  sweep();
}

TEST_F(SlabWindow, ASlabWhoseEndAloneIsEmptyMayFillUp) {
  put(1);
  meanwhile = [this] {
    fill(1);
    hak_slab_release(kClass, &current_);
  };
  sweep();
}

TEST_F(SlabWindow, ASlabOfWhichPagesAreOnTheWayStaysOpen) {
  if (hak_os_page_bytes() == HAK_UNIT_BYTES) GTEST_SKIP() << "a slab that is one page has no part to give back";
  put(0);
  meanwhile = [this] {
    put_all();
    hak_slab_trim();
    EXPECT_EQ(fake_span.runs_out, 1u);
  };
  sweep();
  EXPECT_EQ(purges, 2u) << "slot 0's page and the last one";
  hak_slab_trim();
  EXPECT_EQ(fake_span.runs_out, 0u);
}

TEST_F(SlabWindow, TheRestOfASlabMayFillUpMeanwhile) {
  put(5);
  put(0);
  meanwhile = [this] {
    fill(1);
    hak_slab_release(kClass, &current_);
    EXPECT_EQ(blocks_.size(), kSlots - 1);
  };
  sweep();
}

/* Two sweeps meet where there are no slots: the page counts as empty once. */
TEST_F(SlabWindow, TheEndIsEmptyOnceForTwoSweeps) {
  put(0);
  meanwhile = [this] {
    put(7); /* slot 8, on a page without further slots */
    sweep();
  };
  sweep();
  const uint64_t pages = static_cast<uint64_t>(__builtin_popcountll(hak_range_entry(1)->empty));
  EXPECT_EQ(g_footprint.empty, pages * hak_os_page_bytes());
}

}  // namespace
