/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* entry_test.cpp: functions that concern all threads at once.
 *
 * what      The counting switch, the trigger's rule of the peak, contexts of threads that start and end, and a fork
 *           while another thread holds locks, through the public names and the internals of entry/. The linker puts
 *           this file's mmap in front of the kernel's, where a thread can be made to wait.
 * owner     Each case runs in a separate process.
 * locks     Those of the library, held by a thread on purpose.
 * failure   A call that was not counted, a peak that was raised, or a context that was lost fails the test.
 * not here  Whole programs: tests/process.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/depot.h"
#include "blocks/slab.h"
#include "cache/after_fork.h"
#include "cache/registry.h"
#include "entry/mallopt.h"
#include "entry/thread.h"
#include "os/fork.h"
#include "os/lock.h"
#include "os/os.h"
#include "reclaim/peak_limit.h"
#include "reclaim/trigger.h"
#include "tables/classes.h"
#include "tables/counters.h"
#include "tables/hold.h"
#include "tables/range.h"
#include "tables/settings.h"

long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
}

namespace {

using Context = struct hak_context;

constexpr size_t kMiB = size_t{1} << 20;

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

/* A thread that runs given functions, and is at rest in between. */
class Worker {
 public:
  Worker() : thread_([this] { work(); }) {}
  ~Worker() {
    run([] {});
    stop_ = true;
    turn_ = turn_ + 1;
    thread_.join();
  }

  /* Begins; `finish` waits for the end. */
  template <typename Job>
  void start(Job job) {
    job_ = job;
    turn_ = turn_ + 1;
  }
  void finish() {
    while (done_ != turn_) std::this_thread::yield();
  }
  template <typename Job>
  void run(Job job) {
    start(job);
    finish();
  }

 private:
  void work() {
    for (uint64_t next = 1;; next++) {
      while (turn_ != next) std::this_thread::yield();
      if (stop_) return;
      job_();
      done_ = next;
    }
  }

  std::function<void()> job_;
  std::atomic<uint64_t> turn_{0}, done_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/* ---- counting ---- */

uint64_t counted(const char *prefix) {
  uint64_t sum = 0, value;
  const char *name;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++) {
    const std::string row = name;
    if (row.rfind(prefix, 0) == 0 && row != "free_local" && row != "free_remote") sum += value;
  }
  return sum;
}

/* 2 * n calls that a warm magazine serves, n of each. */
void pairs(unsigned n) {
  for (unsigned i = 0; i < n; i++) hak_free(hak_malloc(16 + i % 512));
}

TEST(Counting, OffCountsNothing) {
  pairs(10000);
  hak_free(hak_malloc(5 * kMiB));
  EXPECT_EQ(counted("alloc_"), 0u);
  EXPECT_EQ(counted("free_"), 0u);
}

TEST(Counting, TheSwitchReachesOtherThreads) {
  Worker a, b;
  a.run([] { pairs(1000); });
  b.run([] { pairs(1000); });
  EXPECT_EQ(counted("alloc_"), 0u);
  ASSERT_EQ(hak_set("count_calls", "on"), 0);
  a.run([] { pairs(100); });
  EXPECT_EQ(counted("alloc_"), 100u);
  EXPECT_EQ(counted("free_"), 100u);
  b.run([] { pairs(50); });
  pairs(7);
  EXPECT_EQ(counted("alloc_"), 157u);
  EXPECT_EQ(counted("free_"), 157u);
  ASSERT_EQ(hak_set("count_calls", "off"), 0);
  a.run([] { pairs(100); });
  pairs(100);
  EXPECT_EQ(counted("alloc_"), 157u);
  EXPECT_EQ(counted("free_"), 157u);
}

TEST(Counting, OffAgainTheFastPathIsBack) {
  Worker worker;
  worker.run([] { pairs(1000); });
  hak_set("count_calls", "on");
  worker.run([] { pairs(10); });
  hak_set("count_calls", "off");
  worker.run([] {
    pairs(1000);
    const Context *x = hak_thread_context();
    EXPECT_EQ(x->eyes, 0);
    for (unsigned c = 1; c < HAK_CLASSES; c++) {
      EXPECT_EQ(x->floor[c], x->slots[c]);
      EXPECT_EQ(x->ceiling[c], x->slots[c] == nullptr ? nullptr : x->slots[c] + x->capacity[c]);
    }
  });
}

TEST(Counting, ThreadsThatComeLaterAreCounted) {
  hak_set("count_calls", "on");
  std::thread([] { pairs(30); }).join();
  EXPECT_EQ(counted("alloc_"), 30u);
  EXPECT_EQ(counted("free_"), 30u);
}

/* The switch is set while a thread refills, flushes and grows; after both have seen the switch, no call is missed. */
TEST(Counting, NoCallIsMissedWheneverTheSwitchIsTurned) {
  Worker worker;
  std::vector<void *> blocks(700);
  const unsigned rounds = (HAK_TSAN ? 150 : 600) * scale();
  for (unsigned round = 0; round < rounds; round++) {
    std::atomic<bool> stop{false};
    worker.start([&] {
      for (unsigned size = 16; !stop; size = size % 4096 + 16) {
        for (void *&p : blocks) p = hak_malloc(size);
        for (void *p : blocks) hak_free(p);
      }
    });
    for (unsigned i = 0; i < round % 7; i++) {
      hak_set("count_calls", "on");
      hak_set("count_calls", "off");
    }
    hak_set("count_calls", "on");
    stop = true;
    worker.finish();
    const uint64_t allocs = counted("alloc_"), frees = counted("free_");
    worker.run([] { pairs(300); });
    ASSERT_EQ(counted("alloc_") - allocs, 300u) << "round " << round;
    ASSERT_EQ(counted("free_") - frees, 300u) << "round " << round;
    hak_set("count_calls", "off");
    worker.run([&] { pairs(100); });
  }
}

/* ---- the trigger ---- */

struct hak_stats stats() {
  struct hak_stats s = {};
  s.version = HAK_STATS_VERSION;
  s.size = sizeof s;
  EXPECT_EQ(hak_get_stats(&s), 0);
  return s;
}

/* As if no memory had been released for a long time. */
void forget_what_was_given() { g_peak.given_ms = 0; }

/* Bound: the needed bytes + 1 / HAK_PEAK_CREEP of these, for memory that would be released again and again. */
TEST(Caretaker, MemoryKeptFreeDoesNotRaiseThePeak) {
  std::mt19937 random(9);
  std::vector<void *> live;
  uint64_t needed = 0; /* bytes that no release can avoid */
  size_t kept_often = 0, dirty_often = 0;
  for (int i = 0; i < 4000; i++) {
    const size_t fewest = i / 500 % 2 ? 150 : 5; /* the heap breathes */
    if (live.size() < fewest || (random() % 100 < 50 && live.size() < 250)) {
      const size_t kinds[] = {1 + random() % 2000, 40000 + random() % 900000, kMiB + random() % (6 * kMiB)};
      forget_what_was_given();
      live.push_back(hak_malloc(kinds[random() % 3]));
    } else {
      std::swap(live[random() % live.size()], live.back());
      hak_free(live.back());
      live.pop_back();
    }
    const struct hak_stats before = stats();
    needed = std::max(needed, hak_footprint() - before.span_dirty - before.big_cached);
    forget_what_was_given();
    hak_peak_lower();
    const struct hak_stats s = stats();
    ASSERT_LE(hak_footprint(), needed + needed / HAK_PEAK_CREEP + HAK_PEAK_STEP) << "step " << i;
    kept_often += s.big_cached != 0;
    dirty_often += s.span_dirty != 0;
  }
  EXPECT_GT(kept_often, 1000u) << "and it does keep blocks";
  EXPECT_GT(dirty_often, 1000u) << "and runs";
  for (void *p : live) hak_free(p);
}

/* Releasing costs page faults later: if too much was released already, kept memory stays and the peak rises. */
TEST(Caretaker, WhatIsKeptStaysWhenTooMuchWasGivenBack) {
  hak_free(hak_malloc(4 * kMiB));
  g_peak.given_ms = hak_os_now_ms() + 1000000;
  g_peak.given_bytes = uint64_t{1} << 50;
  std::vector<void *> live;
  for (size_t bytes = 0; bytes < 5 * kMiB; bytes += 100000) live.push_back(hak_malloc(100000));
  EXPECT_EQ(stats().big_cached, 4 * kMiB);
  EXPECT_GE(g_peak.bytes + HAK_PEAK_STEP, g_range.mapped - stats().span_clean + stats().big_cached);
  for (void *p : live) hak_free(p);
}

/* What mallopt told to keep raises the peak rather than going. */
TEST(Caretaker, AFloorIsKeptAtANewPeak) {
  hak_free(hak_malloc(4 * kMiB));
  g_hold_floor = 4 * kMiB;
  std::vector<void *> live;
  for (size_t bytes = 0; bytes < 12 * kMiB; bytes += 100000) {
    forget_what_was_given();
    live.push_back(hak_malloc(100000));
  }
  EXPECT_EQ(stats().big_cached, 4 * kMiB);
  for (void *p : live) hak_free(p);
}

/* Of two threads that forbid mapped blocks at once, neither takes the other's value for the threshold of before. */
TEST(Mallopt, TheThresholdOfBeforeComesBack) {
  const uint64_t before = hak_setting(big_threshold);
  std::atomic<int> round{0}, done{0};
  auto forbids = [&round, &done] {
    for (int n = 1; n <= 20000; done++, n++) {
      while (round.load() < n) std::this_thread::yield();
      hak_mallopt_mmap_max(0);
    }
  };
  std::thread a(forbids), b(forbids);
  for (int n = 1; n <= 20000; n++) {
    round = n;
    while (done < 2 * n) std::this_thread::yield();
    hak_mallopt_mmap_max(65536);
    EXPECT_EQ(hak_setting(big_threshold), before) << n;
  }
  a.join(), b.join();
}

/* At price 0 free memory stays where it is, in the depot, too. */
TEST(Caretaker, WhatCostsNothingStaysWhenThreadsHaveEnded) {
  ASSERT_EQ(hak_set("price", "0"), 0);
  void *blocks[40];
  for (void *&p : blocks) p = hak_malloc(48);
  ASSERT_EQ(hak_depot_put(HAK_CLASS_48, blocks, 40), 40u);
  hak_trigger_release_rest();
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 40u);
}

/* A request that failed with all memory released is remembered, for a second. */
TEST(Caretaker, WhatFailedAMomentAgoIsTriedAgainLater) {
  struct hak_rescue rescue;
  const size_t bytes = size_t{1} << 45;
  bool tries = true;
  for (int n = 0; tries && n < 100; n++) {
    tries = hak_trigger_rescue_begin(&rescue, bytes);
    if (tries) hak_trigger_rescue_end(&rescue, false);
  }
  EXPECT_FALSE(tries);
  usleep(1100000);
  ASSERT_TRUE(hak_trigger_rescue_begin(&rescue, bytes));
  hak_trigger_rescue_end(&rescue, false);
}

/* The next thread without memory need not wait for its turn. */
TEST(Caretaker, ARequestThatFailedGivesItsTurnBack) {
  ASSERT_EQ(hak_set("hard_limit", "4M"), 0);
  for (const size_t bytes : {size_t{64}, size_t{8000}, size_t{100000}, 5 * kMiB}) {
    errno = 0;
    while (hak_malloc(bytes) != nullptr) continue;
    EXPECT_EQ(errno, ENOMEM);
    ASSERT_TRUE(hak_trigger_take_turn()) << bytes;
    hak_trigger_drop_turn(true);
  }
}

TEST(Caretaker, TheFirstBigBlockIsKept) {
  void *p = hak_malloc(4 * kMiB);
  hak_free(p);
  EXPECT_EQ(hak_malloc(4 * kMiB), p);
}

TEST(Caretaker, WhatIsKeptMakesRoomForTheRange) {
  hak_free(hak_malloc(4 * kMiB));
  EXPECT_EQ(stats().big_cached, 4 * kMiB);
  std::vector<void *> live;
  for (size_t bytes = 0; bytes < 5 * kMiB; bytes += 100000) live.push_back(hak_malloc(100000));
  EXPECT_LE(stats().big_cached, 2 * kMiB) << "but for the share by which the peak rises";
  for (void *p : live) hak_free(p);
}

/* ---- contexts ---- */

size_t contexts() {
  size_t n = 0;
  for (Context *x = hak_registry_first(); x != nullptr; x = x->next) n++;
  return n;
}

TEST(Threads, ContextsAreUsedAgain) {
  pairs(1);
  for (int i = 0; i < 100; i++) std::thread([] { pairs(10); }).join();
  EXPECT_EQ(contexts(), 2u);
  EXPECT_EQ(hak_registry_count(), 1u);
  for (int round = 0; round < 5; round++) {
    std::vector<std::unique_ptr<Worker>> workers;
    for (int i = 0; i < 10; i++) workers.push_back(std::make_unique<Worker>());
    for (auto &worker : workers) worker->run([] { pairs(10); });
    EXPECT_EQ(hak_registry_count(), 11u);
  }
  EXPECT_EQ(contexts(), 11u);
  EXPECT_EQ(hak_registry_count(), 1u);
}

TEST(Threads, AThreadThatOnlyFreesFarBlocksStillEnds) {
  void *p = hak_malloc(100), *q = hak_malloc(100000), *r = hak_malloc(3 * kMiB);
  std::thread([=] {
    hak_free(p);
    hak_free(q);
    hak_free(r);
  }).join();
  EXPECT_EQ(hak_bytes_in_use(), 0u);
  EXPECT_EQ(hak_registry_count(), 1u);
}

TEST(Threads, AfterItsExitHookAThreadWorksWithoutAContext) {
  static pthread_key_t key;
  static std::atomic<int> calls;
  static std::atomic<size_t> with_context;
  ASSERT_EQ(pthread_key_create(&key, [](void *p) {
              hak_free(p);
              for (int i = 0; i < 50; i++) pairs(5);
              with_context += hak_self.exiting && hak_context != &g_empty_context;
              if (++calls % 4 != 0) pthread_setspecific(key, hak_malloc(48)); /* again, after all later hooks */
            }),
            0);
  for (int i = 0; i < 20; i++) std::thread([] { pthread_setspecific(key, hak_malloc(48)); }).join();
  EXPECT_EQ(calls, 80);
  EXPECT_EQ(with_context, 0u);
  EXPECT_EQ(hak_bytes_in_use(), 0u);
  EXPECT_LE(contexts(), 2u);
}

TEST(Threads, BlocksOutliveTheirThread) {
  std::vector<unsigned char *> blocks;
  std::thread([&] {
    for (size_t n = 1; n < 3000; n++) {
      blocks.push_back(static_cast<unsigned char *>(hak_malloc(n)));
      std::fill_n(blocks.back(), n, static_cast<unsigned char>(n));
    }
  }).join();
  pairs(20000);
  for (size_t n = 1; n < 3000; n++) {
    EXPECT_EQ(blocks[n - 1][n - 1], static_cast<unsigned char>(n));
    hak_free(blocks[n - 1]);
  }
  EXPECT_EQ(hak_bytes_in_use(), 0u);
}

/* A block below a cache line, freed by a thread of another colour, is not handed out there: the rest of the line
 * belongs to the first thread. */
TEST(Threads, ColoursDoNotShareLines) {
  std::vector<std::unique_ptr<Worker>> workers;
  std::map<uintptr_t, size_t> owner; /* of each line */
  std::vector<std::vector<void *>> blocks(HAK_COLORS);
  auto fill = [&](size_t i) {
    for (size_t k = 0; k < 2000; k++) blocks[i].push_back(hak_malloc(1 + k % 48));
  };
  auto free_half = [&](std::vector<void *> &theirs) {
    for (size_t k = 0; k < theirs.size(); k += 2) hak_free(theirs[k]);
    for (size_t k = 0; k < theirs.size(); k++) theirs[k / 2] = theirs[k / 2 * 2 + 1];
    theirs.resize(theirs.size() / 2);
  };
  for (size_t i = 0; i < HAK_COLORS; i++) workers.push_back(std::make_unique<Worker>());
  for (int round = 0; round < 4; round++) {
    for (size_t i = 0; i < HAK_COLORS; i++) workers[i]->run([&] { fill(i); });
    for (size_t i = 0; i < HAK_COLORS; i++) {
      for (void *p : blocks[i]) ASSERT_EQ(owner.emplace(reinterpret_cast<uintptr_t>(p) / 64, i).first->second, i);
    }
    for (size_t i = 0; i < HAK_COLORS; i++) workers[i]->run([&] { free_half(blocks[(i + 1) % HAK_COLORS]); });
  }
  for (const auto &some : blocks) {
    for (void *p : some) hak_free(p);
  }
  EXPECT_EQ(hak_bytes_in_use(), 0u);
}

/* ---- fork ---- */

/* Runs `body` in a forked child; true if body returned true there. */
template <typename Body>
bool in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

TEST(Forked, TheMagazinesOfThreadsThatAreGoneComeBack) {
  Worker worker;
  std::vector<void *> live;
  worker.run([&] {
    pairs(3000);
    for (int i = 0; i < 500; i++) live.push_back(hak_malloc(200));
  });
  const size_t in_use = hak_bytes_in_use(), repairs = hak_counter_value(HAK_COUNTER_fork_repairs);
  EXPECT_EQ(hak_registry_count(), 2u);
  EXPECT_TRUE(in_child([&] {
    if (hak_bytes_in_use() != in_use || hak_registry_count() != 1) return false;
    uint64_t units, out = 0;
    for (unsigned c = 1; c < HAK_CLASSES; c++) out += hak_slab_handed_out(c, &units) * g_class[c].bytes;
    const uint64_t cached = stats().cached;
    for (void *p : live) hak_free(p);
    return out - cached == in_use && hak_bytes_in_use() == 0 &&
           hak_counter_value(HAK_COUNTER_fork_repairs) == repairs + 1;
  }));
  EXPECT_EQ(hak_bytes_in_use(), in_use) << "the parent is as it was";
  for (void *p : live) hak_free(p);
}

/* More than one step buries. */
TEST(Forked, AllThreadsThatAreGoneAreBuried) {
  constexpr unsigned kMany = 20;
  std::vector<std::unique_ptr<Worker>> workers;
  pairs(100);
  for (unsigned i = 0; i < kMany; i++) workers.push_back(std::make_unique<Worker>());
  for (auto &worker : workers) worker->run([] { pairs(100); });
  EXPECT_EQ(hak_registry_count(), kMany + 1);
  EXPECT_TRUE(in_child([] {
    hak_after_fork_some();
    hak_after_fork_all();
    return hak_registry_count() == 1;
  }));
}

std::atomic<bool> hold_in_mmap, is_held;
thread_local bool may_be_held;

/* A thread stands in the kernel with the lock of runs, and the lock of a class, and does not exist in the child. */
void expect_repair() {
  for (const size_t size : {size_t{48}, size_t{300}, size_t{9000}, size_t{200000}}) {
    pairs(100);
    std::set<void *> live;
    for (int i = 0; i < 300; i++) live.insert(hak_malloc(size));
    Worker worker;
    std::vector<void *> theirs;
    hold_in_mmap = true;
    worker.start([&] {
      may_be_held = true;
      while (!is_held) theirs.push_back(hak_malloc(size));
    });
    while (!is_held) std::this_thread::yield();
    EXPECT_TRUE(in_child([&] {
      std::set<void *> seen = live;
      seen.insert(theirs.begin(), theirs.end());
      for (int i = 0; i < 2000; i++) {
        void *p = hak_malloc(i % 2 ? size : 1 + static_cast<size_t>(i) * 37);
        if (p == nullptr || !seen.insert(p).second) return false;
        *static_cast<char *>(p) = 1;
      }
      for (void *p : seen) hak_free(p);
      hak_trim(0);
      return hak_bytes_in_use() <= kMiB; /* blocks in flight of the interrupted refill are lost */
    })) << size;
    hold_in_mmap = false;
    worker.finish();
    is_held = false;
    for (void *p : theirs) EXPECT_TRUE(live.insert(p).second);
    for (void *p : live) hak_free(p);
  }
}

TEST(Forked, LocksOfThreadsThatAreGoneAreRepaired) { expect_repair(); }

/* ---- at the hard limit ---- */

/* The class of the blocks that swing would have a magazine, but for the limit of all caches. */
TEST(Limit, ARunWithoutAMagazineIsRefusedAsAnyOther) {
  constexpr size_t kRun = 100000;
  ASSERT_EQ(hak_set("process_cache_bytes", "4K"), 0);
  for (int i = 0; i < 80; i++) hak_free(hak_malloc(kRun));
  ASSERT_EQ(hak_set_limit(0, 3 * kMiB), 0);
  std::vector<void *> blocks;
  for (const size_t n : {size_t{300000}, size_t{40000}})
    for (void *p; (p = hak_malloc(n)) != nullptr;) blocks.push_back(p);
  EXPECT_EQ(hak_malloc(kRun), nullptr);
  for (void *p : blocks) hak_free(p);
}

/* ---- foreign mappings behind the unit table ---- */

/* A page that may not be touched, where the table would go on. */
void stand_behind_the_table() {
  char *end = reinterpret_cast<char *>(g_range.unit) + g_range.unit_mapped;
  ASSERT_EQ(mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0), end);
}

size_t bytes_behind(uint32_t unit) { return (g_range.units - unit) * HAK_UNIT_BYTES; }

TEST(Gap, TheHeapGoesOnBehindIt) {
  std::vector<void *> live;
  live.push_back(hak_malloc(10));
  stand_behind_the_table();
  while (g_range_gaps.n == 0 || bytes_behind(g_range_gaps.end[0]) < 100 * kMiB) {
    for (const size_t n : {48, 300, 9000, 70000, 400000}) {
      live.push_back(hak_malloc(n));
      ASSERT_NE(live.back(), nullptr) << g_range.units;
      *static_cast<char *>(live.back()) = 1;
    }
  }
  void *inside = hak_range_address(g_range_gaps.first[0] + 1);
  EXPECT_FALSE(hak_owns(inside));
  EXPECT_DEATH(hak_free(inside), "hakmem: ");
  struct hak_utilization use = {};
  use.version = HAK_UTILIZATION_VERSION;
  use.size = sizeof use;
  EXPECT_EQ(hak_page_utilization(live[1], &use), 0);
  for (size_t i = 0; i < live.size(); i += 2) hak_free(live[i]);
  EXPECT_TRUE(hak_trim(0));
  for (size_t i = 1; i < live.size(); i += 2) hak_free(live[i]);
  hak_trim(0);
  EXPECT_LE(hak_bytes_in_use(), kMiB);
}

TEST(Gap, LocksOfThreadsThatAreGoneAreRepairedBehindIt) {
  hak_free(hak_malloc(10));
  stand_behind_the_table();
  std::vector<void *> before;
  while (g_range_gaps.n == 0) before.push_back(hak_malloc(400000));
  for (void *p : before) hak_free(p);
  expect_repair();
}

}  // namespace

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_mmap && may_be_held && hold_in_mmap) {
    is_held = true;
    while (hold_in_mmap) std::this_thread::yield();
  }
  return __real_hak_kernel(number, a, b, c, d, e, f);
}
