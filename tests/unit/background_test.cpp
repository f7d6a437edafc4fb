/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* background_test.cpp: the background thread's begin and end, at moments that threads rarely meet.
 *
 * what      The linker puts this file's functions in front of the kernel's calls and of the release of the rest: a
 *           thread waits there while another one goes on.
 * owner     Each case runs in a separate process.
 * failure   A thread that spins, or memory that stays.
 * not here  Whole programs: tests/process/helper_test.py.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "os/fork.h"
#include "os/thread.h"
#include "reclaim/background_thread.h"
#include "retain/footprint.h"
#include "cache/account.h"
#include "tables/settings.h"

long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
void __real_hak_trigger_release_rest(void);
void __wrap_hak_trigger_release_rest(void);
}

namespace {

constexpr size_t kMiB = size_t{1} << 20;

/* A second thread with magazines, as long as it lives. */
class Company {
 public:
  Company() : thread_([this] { stay(); }) {
    while (!is_there_) usleep(100);
  }
  ~Company() {
    may_end_ = true;
    thread_.join();
  }

 private:
  void stay() {
    hak_free(hak_malloc(100));
    is_there_ = true;
    while (!may_end_) usleep(100);
  }

  std::atomic<bool> is_there_{false}, may_end_{false};
  std::thread thread_;
};

class Background : public testing::Test {
 protected:
  void SetUp() override {
    if (HAK_ASAN || HAK_TSAN) GTEST_SKIP() << "a sanitizer's runtime cannot live in the background thread";
    hak_free(hak_malloc(100));
    hak_background_allow();
    hak_fork_remember_process();
    hak_os_find_filter();
  }

  Company company_;
};

/* True as soon as it is so; false after a minute. */
template <class Condition>
bool comes(Condition condition) {
  for (int n = 0; n < 60000 && !condition(); n++) usleep(1000);
  return condition();
}

/* ---- the begin ---- */

/* A starter that is suspended before marking the background thread as running: until that thread waits, or long
 * enough. */
std::atomic<bool> starter_is_slow, thread_has_begun, thread_waits;

void hold_starter() {
  for (int n = 0; n < 5000 && !(thread_has_begun && thread_waits); n++) usleep(1000);
}

/* Called in the background thread, too, which libc does not know. */
void see_thread(long number, long operation) {
  if (number == SYS_prctl) {
    hak_store(&g_settings.background_thread, 0); /* no work is left for the background thread */
    thread_has_begun = true;
  }
  if (number == SYS_futex && (operation & FUTEX_CMD_MASK) == FUTEX_WAIT) thread_waits = true;
}

TEST_F(Background, SleepsWhileItsStarterIsPutAside) {
  starter_is_slow = true;
  const bool started = hak_background_serves(HAK_BACKGROUND_WORTH);
  starter_is_slow = false;
  EXPECT_TRUE(started);
  EXPECT_TRUE(thread_has_begun);
  EXPECT_TRUE(thread_waits);
  hak_background_stop();
}

/* ---- the end ---- */

/* The background thread stands between its last look and its end. */
std::atomic<bool> end_is_slow, is_at_its_end;

void stand_at_the_end() {
  is_at_its_end = true;
  while (end_is_slow) usleep(1000);
}

void start_and_hold_at_the_end() {
  end_is_slow = true;
  ASSERT_TRUE(hak_background_serves(HAK_BACKGROUND_WORTH));
  ASSERT_TRUE(comes([] { return is_at_its_end.load(); }));
}

constexpr size_t kMuch = 8 * kMiB; /* what is kept of a longer block is a matter of its price */

void free_much() {
  void *p = std::memset(hak_malloc(kMuch), 1, kMuch);
  hak_free(p);
}

uint64_t kept() { return hak_load(&g_footprint.big_cached); }

TEST_F(Background, ReleasesWhatIsLeftToItAtItsEnd) {
  start_and_hold_at_the_end();
  free_much();
  EXPECT_GE(kept(), kMuch);
  EXPECT_TRUE(hak_background_serves(kept()));
  end_is_slow = false;
  EXPECT_TRUE(comes([] { return kept() < kMiB; })) << kept();
  hak_background_stop();
}

TEST_F(Background, IsStoppedAtItsEnd) {
  start_and_hold_at_the_end();
  free_much();
  EXPECT_TRUE(hak_background_serves(kept()));
  std::thread stopper([] { hak_background_stop(); });
  usleep(10000);
  end_is_slow = false;
  stopper.join();
  EXPECT_GE(kept(), kMuch);
}

}  // namespace

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  if (starter_is_slow) see_thread(number, b);
  if (starter_is_slow && number == SYS_rt_sigprocmask && c == 0) hold_starter();
  return __real_hak_kernel(number, a, b, c, d, e, f);
}

void __wrap_hak_trigger_release_rest(void) {
  __real_hak_trigger_release_rest();
  if (end_is_slow) stand_at_the_end();
}
