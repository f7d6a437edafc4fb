/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lock_test.cpp: the lock that knows its owner.
 *
 * what      os/lock.c with real threads and real forks. The linker puts this file's syscall in front of libc's, which
 *           removes the time limit of every wait: a lost wake-up then never comes, and the test does not end.
 * owner     Each test has a lock.
 * locks     As tested. orders: as tested.
 * failure   A short count, a wrong owner, or no end.
 * not here  The rebuild after a take-over: the tests of runs, slab, big and meta.
 */
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

extern "C" {
#include "os/fork.h"
#include "os/lock.h"
#include "os/os.h"

long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
}

namespace {

std::atomic<uint64_t> waits;
bool signal_meanwhile;

uint64_t word_of(hak_lock *lock) { return hak_load(&lock->word); }

/* Runs `body` in a forked child; returns the child's exit status, 0 if body returned true. */
template <typename Body>
int in_child(Body body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* As the process's start and this thread's first slow path do. */
void start_noticing() {
  static const bool once = (hak_fork_start(false), hak_fork_hook(), true);
  EXPECT_TRUE(once);
  hak_self.first_generation = 1 + g_fork.generation;
}

TEST(Lock, TakenAndDropped) {
  hak_lock lock = {0};
  EXPECT_FALSE(hak_lock_take(&lock));
  EXPECT_EQ(word_of(&lock), hak_self.number);
  hak_lock_drop(&lock);
  EXPECT_EQ(word_of(&lock), 0u);
}

TEST(Lock, NumbersNameThreads) {
  std::vector<uint64_t> numbers = {hak_lock_mine()};
  for (int n = 0; n < 50; n++) std::thread([&] { numbers.push_back(hak_lock_mine()); }).join();
  for (size_t i = 0; i < numbers.size(); i++) {
    EXPECT_EQ(numbers[i] % 2, 0u) << "the bit of the sleepers";
    EXPECT_GT(numbers[i], i == 0 ? 0 : numbers[i - 1]) << "none is given twice, though all have the same address";
  }
  EXPECT_EQ(hak_lock_mine(), numbers[0]);
}

TEST(Lock, TokensNameThreads) {
  uint64_t other = 0;
  std::thread([&] { other = hak_self_token(); }).join();
  EXPECT_NE(other, 0u);
  EXPECT_NE(other, hak_self_token());
  EXPECT_EQ(hak_self_token() & ~HAK_SELF_TOKEN_MASK, 0u);
}

TEST(Lock, OneHolderAtATime) {
  hak_lock lock = {0};
  uint64_t plain = 0; /* ThreadSanitizer checks this variable, and so does the sum */
  constexpr int kThreads = 6, kRounds = 20000;
  std::vector<std::thread> threads;
  for (int n = 0; n < kThreads; n++) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; i++) {
        EXPECT_FALSE(hak_lock_take(&lock));
        plain++;
        hak_lock_drop(&lock);
      }
    });
  }
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(plain, uint64_t{kThreads} * kRounds);
  EXPECT_EQ(word_of(&lock), 0u);
}

TEST(Lock, SleepersAreWokenOneAfterTheOther) {
  hak_lock lock = {0};
  for (int round = 0; round < 20; round++) {
    hak_lock_take(&lock);
    const uint64_t waited = waits;
    std::atomic<int> through{0};
    std::vector<std::thread> threads;
    for (int n = 0; n < 5; n++) {
      threads.emplace_back([&] {
        hak_lock_take(&lock);
        through++;
        hak_lock_drop(&lock);
      });
    }
    while (waits < waited + 5) std::this_thread::yield();
    EXPECT_EQ(through, 0);
    EXPECT_EQ(word_of(&lock) & HAK_LOCK_SLEEPERS, HAK_LOCK_SLEEPERS);
    hak_lock_drop(&lock);
    for (auto &thread : threads) thread.join();
    EXPECT_EQ(through, 5);
    EXPECT_EQ(word_of(&lock), 0u);
  }
}

TEST(Lock, WaitingLeavesErrno) {
  hak_lock lock = {0};
  hak_lock_take(&lock);
  const uint64_t waited = waits;
  int seen = 0;
  std::thread thread([&] {
    errno = 77;
    hak_lock_take(&lock);
    hak_lock_drop(&lock);
    seen = errno;
  });
  while (waits == waited) std::this_thread::yield();
  hak_lock_drop(&lock);
  thread.join();
  EXPECT_EQ(seen, 77);
}

TEST(LockDeathTest, MeetingOneselfIsFatal) {
  hak_lock lock = {0};
  hak_lock_take(&lock);
  EXPECT_EXIT(hak_lock_take(&lock), testing::KilledBySignal(SIGABRT),
              "hakmem: malloc or free called again inside itself");
  hak_lock_drop(&lock);
}

/* A thread that holds `lock` until stop(). */
class Holder {
 public:
  explicit Holder(hak_lock *lock) : thread_([this, lock] { hold(lock); }) {
    while (!holds_) std::this_thread::yield();
  }
  ~Holder() {
    stop_ = true;
    thread_.join();
  }

 private:
  void hold(hak_lock *lock) {
    EXPECT_FALSE(hak_lock_take(lock));
    holds_ = true;
    while (!stop_) std::this_thread::yield();
    hak_lock_drop(lock);
  }

  std::atomic<bool> holds_{false}, stop_{false};
  std::thread thread_;
};

TEST(Lock, AVanishedOwnerIsTakenOver) {
  start_noticing();
  hak_lock lock = {0};
  Holder holder(&lock);
  EXPECT_EQ(in_child([&] {
              const bool vanished = hak_lock_take(&lock);
              hak_lock_drop(&lock);
              const bool again = hak_lock_take(&lock);
              hak_lock_drop(&lock);
              return vanished && !again;
            }),
            0);
}

TEST(Lock, AVanishedOwnerIsTakenOverAfterAForkThatRunsNoHandlers) {
  start_noticing();
  hak_lock lock = {0};
  Holder holder(&lock);
  const pid_t pid = _Fork();
  if (pid == 0) _exit(hak_lock_take(&lock) ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Lock, TheSurvivorsOwnLockStaysItsOwn) {
  start_noticing();
  hak_lock lock = {0};
  hak_lock_take(&lock);
  EXPECT_EQ(in_child([&] {
              const bool mine = word_of(&lock) == hak_self.number;
              hak_lock_drop(&lock);
              const bool taken_over = hak_lock_take(&lock);
              hak_lock_drop(&lock);
              return mine && !taken_over;
            }),
            0);
  EXPECT_EXIT(hak_lock_take(&lock), testing::KilledBySignal(SIGABRT), "called again inside itself");
  hak_lock_drop(&lock);
}

/* As 65,536 forks in a chain: the low half of the generation equals its value when the lock was taken. */
TEST(Lock, AVanishedOwnerIsTakenOverAfterHoweverManyForks) {
  start_noticing();
  hak_lock lock = {0};
  Holder holder(&lock);
  EXPECT_EQ(in_child([&] {
              alarm(20); /* a thread that does not see the dead owner waits for ever */
              for (int n = 1; n < 65536; n++) {
                hak_store(g_fork.alive, uint8_t{0});
                hak_fork_notice();
              }
              return hak_lock_take(&lock);
            }),
            0);
}

/* A thread starts at the address of a thread that an earlier fork lost, and forks itself. */
TEST(Lock, AnOlderHolderWithTheSurvivorsAddressIsTakenOver) {
  start_noticing();
  hak_lock lock = {0};
  Holder holder(&lock);
  EXPECT_EQ(in_child([&] {
              hak_self.number = 0;
              hak_self.first_generation = 1 + g_fork.generation;
              return in_child([&] { return hak_lock_take(&lock) && hak_self.number >= g_fork.least; }) == 0;
            }),
            0);
}

/* The numbers of the child's threads differ from the number in every lock of the parent. */
TEST(Lock, AThreadOfAForksChildIsNotTakenForOneOfItsParents) {
  start_noticing();
  EXPECT_EQ(in_child([] {
              hak_lock lock = {0};
              bool taken_over = true;
              Holder *own = new Holder(&lock);
              std::thread waiter([&] {
                taken_over = hak_lock_take(&lock);
                hak_lock_drop(&lock);
              });
              usleep(20000);
              delete own;
              waiter.join();
              return !taken_over;
            }),
            0);
}

TEST(Lock, TheParentSeesNoTakeOver) {
  start_noticing();
  hak_lock lock = {0};
  EXPECT_EQ(in_child([] { return true; }), 0);
  Holder *holder = new Holder(&lock);
  bool taken_over = true;
  const uint64_t waited = waits;
  std::thread waiter([&] {
    taken_over = hak_lock_take(&lock);
    hak_lock_drop(&lock);
  });
  while (waits == waited) std::this_thread::yield();
  delete holder;
  waiter.join();
  EXPECT_FALSE(taken_over);
}

/* ---- noticing ---- */

TEST(Fork, IsNoticedByFork) {
  start_noticing();
  const uint64_t before = g_fork.generation;
  EXPECT_FALSE(hak_fork_happened());
  EXPECT_EQ(in_child([&] {
              return !hak_fork_happened() && g_fork.generation == before + 1 && g_fork.survivor == hak_self_token();
            }),
            0);
  EXPECT_EQ(g_fork.generation, before);
}

TEST(Fork, IsNoticedOnTheWipedPage) {
  start_noticing();
  const uint64_t before = g_fork.generation;
  const pid_t pid = _Fork();
  if (pid == 0) {
    if (!hak_fork_happened() || g_fork.generation != before) _exit(1);
    hak_fork_notice();
    hak_fork_notice();
    _exit(!hak_fork_happened() && g_fork.generation == before + 1 ? 0 : 2);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

void notice_too(int) {
  if (hak_fork_happened()) hak_fork_notice();
}

/* The signal arrives in the middle of the kernel call. */
TEST(Fork, ASignalWhileItIsNoticedWaitsForNobody) {
  start_noticing();
  signal(SIGUSR1, notice_too);
  const uint64_t before = g_fork.generation;
  const pid_t pid = _Fork();
  if (pid == 0) {
    alarm(10);
    signal_meanwhile = true;
    hak_fork_notice();
    _exit(g_fork.generation == before + 1 ? 0 : 1);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Fork, GrandchildrenCountOn) {
  start_noticing();
  const uint64_t before = g_fork.generation;
  EXPECT_EQ(in_child([&] { return in_child([&] { return g_fork.generation == before + 2; }) == 0; }), 0);
}

TEST(Fork, TheFirstThreadToLookDoesTheStep) {
  start_noticing();
  for (int round = 0; round < 50; round++) {
    const uint64_t before = g_fork.generation;
    hak_store(g_fork.alive, uint8_t{0});
    std::vector<std::thread> threads;
    std::atomic<int> right{0};
    for (int n = 0; n < 4; n++) {
      threads.emplace_back([&] {
        hak_fork_notice();
        right += hak_load(&g_fork.generation) == before + 1;
      });
    }
    for (auto &thread : threads) thread.join();
    ASSERT_EQ(right, 4);
  }
}

/* A lock's wait loses its time limit of 1 s: a thread that is not woken sleeps for ever. A rest is nothing but its
 * limit. */
long without_limit(long limit) {
  return limit == 0 || reinterpret_cast<const timespec *>(limit)->tv_sec != 0 ? 0 : limit;
}

}  // namespace

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  const bool waits_here = number == SYS_futex && (b & 1) == 0;
  if (waits_here) waits++;
  if (number == SYS_getpid && signal_meanwhile) raise(SIGUSR1);
  return __real_hak_kernel(number, a, b, c, waits_here ? without_limit(d) : d, e, f);
}
