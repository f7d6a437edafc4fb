/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* caches_test.cpp: learning about magazines and the depot, with the whole library below.
 *
 * what      learn/caches.c under known loads, reported by real magazines; the windows end by a clock of the test.
 * owner     Each case runs in a separate process.
 * failure   A class that does not get the capacity of its load, or keeps the capacity after the load, fails the test.
 * not here  The controller: ace_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <string_view>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "cache/capacity.h"
#include "entry/thread.h"
#include "learn/caches.h"
#include "os/clock.h"
#include "tables/classes.h"
#include "tables/settings.h"
}

namespace {

constexpr size_t kBytes = 1024;
constexpr uint64_t kMs = 1000000;

unsigned capacity() { return hak_thread_context()->capacity[hak_class_of(kBytes)]; }

/* `windows` times: bursts of `deep` blocks, then a window of 10 ms ends. */
void live(size_t deep, int windows) {
  ASSERT_EQ(hak_set("lab_learn_caches", "on"), 0);
  std::vector<void *> blocks(deep);
  for (int i = 0; i < windows; i++) {
    for (int n = 0; n < 4; n++) {
      for (void *&p : blocks) p = hak_malloc(kBytes);
      for (void *p : blocks) hak_free(p);
    }
    const hak_learner_window window = {static_cast<uint64_t>(i) * 10 * kMs, 10 * kMs, 256};
    hak_caches_learn(&window);
  }
}

TEST(Caches, SwingsDeeperThanUsualGetALargerMagazine) {
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  live(400, 100);
  EXPECT_EQ(hak_capacity_usual(hak_class_of(kBytes)), 127u);
  EXPECT_GE(capacity(), 255u);
  EXPECT_LE(hak_thread_context()->all_bytes, hak_setting(thread_cache_bytes));
}

TEST(Caches, SettingsBoundWhatIsLearnt) {
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  ASSERT_EQ(hak_set("lab_cache_heap_percent", "0"), 0);
  ASSERT_EQ(hak_set("lab_thread_cache_bytes", "128K"), 0);
  live(400, 100);
  EXPECT_LE(hak_thread_context()->all_bytes, size_t{128} << 10);
}

TEST(Caches, InShadowAllIsAsUsual) {
  ASSERT_EQ(hak_set("mode", "shadow"), 0);
  live(400, 100);
  EXPECT_EQ(hak_capacity_learnt(hak_class_of(kBytes)), 0u);
  EXPECT_LE(capacity(), 127u);
}

TEST(Caches, WhoStopsLearningHasWhatIsUsual) {
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  live(400, 100);
  ASSERT_GE(capacity(), 255u);
  ASSERT_EQ(hak_set("mode", "baseline"), 0);
  live(1500, 4);
  EXPECT_LE(capacity(), 127u);
}

uint64_t turned_ns;

int turned(clockid_t, timespec *out) {
  *out = {static_cast<time_t>(turned_ns / (1000 * kMs)), static_cast<long>(turned_ns % (1000 * kMs))};
  return 0;
}

uint64_t windows() {
  const char *name;
  uint64_t value;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++) {
    if (std::string_view(name) == "learn_windows") return value;
  }
  return 0;
}

/* Bursts, once a minute. */
void live_by_minutes() {
  std::vector<void *> blocks(400);
  for (int i = 0; i < 1000; i++) {
    for (void *&p : blocks) p = hak_malloc(kBytes);
    for (void *p : blocks) hak_free(p);
    turned_ns += 60 * 1000 * kMs;
  }
}

TEST(Caches, AClockThatIsSetBackEndsNoWindowLate) {
  turned_ns = uint64_t{1} << 60;
  g_clock.function = turned;
  ASSERT_EQ(hak_set("lab_learn_threshold", "on"), 0);
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  live_by_minutes();
  const uint64_t before = windows();
  ASSERT_GT(before, 0u);
  turned_ns -= uint64_t{1} << 59;
  live_by_minutes();
  EXPECT_GT(windows(), before);
  g_clock.function = nullptr;
}

}  // namespace
