/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_window_test.cpp: a rebuild of bins and queue while a run is detached.
 *
 * what      runs/runs_purge.c over the fake kernel (fake_os.h), which calls back in the middle of a purge: there the
 *           lock is left behind by a thread that vanished.
 * owner     Each case runs in a separate process.
 * failure   A rebuild that takes a part of the detached run for a free run; a child that counts lost bytes as free for
 *           ever.
 * not here  Rebuilds of whole tables: runs_walk_test.cpp.
 */
#include <gtest/gtest.h>

#include "runs_calls.h"

extern "C" {
#include "fake_os.h"
#include "internal.h"
}

namespace {

uint64_t dirty_meanwhile;

void rebuild_meanwhile(void *, size_t) {
  fake_os.on_purge = nullptr;
  hak_inside_vanish(hak_inside_span_lock());
  dirty_meanwhile = dirty_units();
}

/* b's run once ended where c's began; a block was cut out across c's place, so that c's old length reaches into the
 * block.
 *
 *     b . . . . . . . . c . . . . . . | block | . .        b's run is detached: c must not look like a run's beginning
 */
TEST(SpanWindow, NothingOfADetachedRunIsFoundByARebuild) {
  const uint32_t at = get(1);
  const size_t odd = (32 - at % 32) % 32;
  if (odd != 0) get(odd);
  const uint32_t b = get(20), c = get(60), end = get(1);
  ASSERT_EQ(b % 32, 1u);
  ASSERT_EQ(c, b + 20);
  ASSERT_EQ(end, c + 60);
  hak_runs_put(c);
  hak_runs_put(b);
  const uint32_t block = get(10, 32);
  ASSERT_EQ(block, b + 31);
  fake_os.on_purge = rebuild_meanwhile;
  hak_runs_purge(39 * kUnit);
  EXPECT_EQ(dirty_meanwhile, 39u);
  EXPECT_EQ(dirty_units(), 39u);
  EXPECT_EQ(hak_range_entry(block)->length, 10u);
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

uint64_t live_in_child;

void be_a_child_meanwhile(void *, size_t) {
  fake_os.on_purge = nullptr;
  hak_runs_forget_detached();
  live_in_child = hak_inside_span_live();
}

/* The thread that was about to put the run back does not exist: the run leaks, and counts neither as free nor as
 * resident, as it would use up a limit of the child's for ever. */
TEST(SpanWindow, AChildForgetsWhatOthersDetached) {
  const uint32_t a = get(100);
  get(1);
  const uint64_t live = hak_inside_span_live();
  hak_runs_put(a);
  fake_os.on_purge = be_a_child_meanwhile;
  hak_runs_purge(0);
  EXPECT_EQ(live_in_child, live - 100 * kUnit);
  EXPECT_EQ(hak_inside_span_live(), live - 100 * kUnit) << "it came back after all";
  EXPECT_STREQ(hak_inside_span_wrong(), nullptr);
}

}  // namespace
