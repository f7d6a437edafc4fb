/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* os_test.cpp: the kernel layer.
 *
 * what      os/os.c and os/thread.c on the real kernel: results of each call; a failed call changes nothing; errno
 *           stays. The linker puts this file's mmap in front of libc's, which can behave like a kernel without
 *           MAP_FIXED_NOREPLACE.
 * owner     Tests unmap all mappings.
 * failure   A wrong answer fails the test.
 * not here  Locks: lock_test.cpp. Files: counters_test.cpp.
 */
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "os/costs.h"
#include "os/die.h"
#include "os/os.h"
#include "os/self.h"
#include "os/thread.h"

long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
}

namespace {

/* A sanitizer's runtime cannot run in a thread that libc did not start. */
constexpr bool kSanitized = HAK_ASAN || HAK_TSAN;

constexpr int kFixedNoReplace = 0x100000;
bool old_kernel, slow_maps;
bool no_kernel_memory; /* mremap loses its target, and mmap is refused */
int interrupted, short_writes; /* so many writes are answered by EINTR, and so many later ones take 5 bytes only */

constexpr int kErrno = 77;

class Os : public testing::Test {
 protected:
  const size_t page_ = hak_os_page_bytes();

  void SetUp() override { errno = kErrno; }
  void TearDown() override {
    old_kernel = false;
    EXPECT_EQ(errno, kErrno);
  }
};

bool all_zero(const void *p, size_t bytes) {
  const char *text = static_cast<const char *>(p);
  return text[0] == 0 && std::memcmp(text, text + 1, bytes - 1) == 0;
}

/* True if the page is mapped. */
bool is_mapped(void *page, size_t bytes) {
  const int saved = errno;
  const bool mapped = msync(page, bytes, MS_ASYNC) == 0;
  errno = saved;
  return mapped;
}

size_t mapped_pages() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  errno = kErrno;
  return pages;
}

TEST_F(Os, PageIsTheKernels) { EXPECT_EQ(page_, static_cast<size_t>(sysconf(_SC_PAGESIZE))); }

TEST_F(Os, WhatTheKernelsWorkCostsIsMeasuredAndLeavesNothing) {
  struct hak_os_costs costs = {};
  constexpr int kTimes = 100;
  int told = 0, moved = 0;
  const size_t mapped = mapped_pages();
  for (int n = 0; n < kTimes; n++) {
    if (!hak_os_measure(&costs)) continue;
    told++;
    for (const uint64_t ns : {costs.call_ns, costs.page_ns}) EXPECT_GE(ns, 1u);
    moved += costs.move_ns != 0;
  }
  EXPECT_LT(mapped_pages(), mapped + 8 * kTimes) << "of 16 or 32 each";
  EXPECT_GE(told, kTimes * 9 / 10) << "a trial may be interrupted";
  EXPECT_GE(moved, kSanitized ? 0 : kTimes / 2) << "its mmap takes longer than a move";
}

TEST_F(Os, WhereMappingWasInterruptedMovingIsNotTold) {
  struct hak_os_costs costs = {};
  int told = 0;
  slow_maps = true;
  for (int n = 0; n < 20; n++) told += hak_os_measure(&costs) && costs.move_ns != 0;
  slow_maps = false;
  EXPECT_LE(told, 5) << "but for moves that were interrupted for longer";
}

TEST_F(Os, WhereAllIsLockedNoCostCanBeTold) {
  struct hak_os_costs costs = {};
  if (kSanitized) GTEST_SKIP() << "a sanitizer lets nothing be locked";
  if (mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "not allowed to lock memory";
  int told = 0;
  for (int n = 0; n < 100; n++) told += hak_os_measure(&costs);
  munlockall();
  EXPECT_LE(told, 10) << "but for trials that were interrupted";
}

TEST_F(Os, MapGivesZeroMemory) {
  char *p = static_cast<char *>(hak_os_map(3 * page_));
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(all_zero(p, 3 * page_));
  std::memset(p, 1, 3 * page_);
  EXPECT_TRUE(hak_os_unmap(p, 3 * page_));
  EXPECT_FALSE(is_mapped(p, page_));
}

TEST_F(Os, MapOfTooMuchIsNull) { EXPECT_EQ(hak_os_map(size_t{1} << 62), nullptr); }

/* Results of map_at. */
enum Answer { kMapped, kTaken, kNoMemory };

Answer map_at(void *where, size_t bytes) {
  bool taken = false;
  if (hak_os_map_at(where, bytes, &taken)) return kMapped;
  return taken ? kTaken : kNoMemory;
}

TEST_F(Os, MapAtDisturbsNothing) {
  char *p = static_cast<char *>(hak_os_map(4 * page_));
  std::memset(p, 5, 4 * page_);
  EXPECT_EQ(map_at(p + page_, page_), kTaken);
  EXPECT_EQ(map_at(p + 2 * page_, 3 * page_), kTaken) << "the first part is";
  EXPECT_EQ(p[page_], 5);
  EXPECT_EQ(p[3 * page_], 5);
  hak_os_unmap(p + page_, page_);
  EXPECT_EQ(map_at(p + page_, page_), kMapped);
  EXPECT_TRUE(all_zero(p + page_, page_));
  EXPECT_EQ(p[0], 5);
  hak_os_unmap(p, 4 * page_);
}

TEST_F(Os, MapAtTellsTakenFromTooMuch) {
  EXPECT_EQ(map_at(reinterpret_cast<void *>(uintptr_t{1} << 40), size_t{1} << 62), kNoMemory);
}

TEST_F(Os, MapAtOfAnOldKernelAnswersElsewhereAndLeavesNothing) {
  char *p = static_cast<char *>(hak_os_map(2 * page_));
  p[0] = 5;
  old_kernel = true;
  /* The kernel's place for the next mapping, and again after an unmap. */
  void *next = hak_os_map(page_);
  hak_os_unmap(next, page_);
  EXPECT_EQ(map_at(p, page_), kTaken);
  EXPECT_EQ(p[0], 5);
  void *again = hak_os_map(page_);
  EXPECT_EQ(again, next) << "what came from elsewhere was not unmapped";
  hak_os_unmap(again, page_);
  hak_os_unmap(p + page_, page_);
  EXPECT_EQ(map_at(p + page_, page_), kMapped) << "a free place is given by hint as well";
  hak_os_unmap(p, 2 * page_);
}

TEST_F(Os, UnmapRefusedLeavesTheMemory) {
  char *p = static_cast<char *>(hak_os_map(page_));
  p[0] = 7;
  EXPECT_FALSE(hak_os_unmap(p + 1, page_));
  EXPECT_EQ(p[0], 7);
  EXPECT_TRUE(hak_os_unmap(p, page_));
}

TEST_F(Os, PurgedPagesReadAsZero) {
  char *p = static_cast<char *>(hak_os_map(4 * page_));
  std::memset(p, 9, 4 * page_);
  EXPECT_TRUE(hak_os_purge(p + page_, 2 * page_));
  EXPECT_TRUE(all_zero(p + page_, 2 * page_));
  EXPECT_EQ(p[page_ - 1], 9);
  EXPECT_EQ(p[3 * page_], 9);
  EXPECT_FALSE(hak_os_purge(p + 1, page_));
  hak_os_unmap(p, 4 * page_);
}

/* The kernel's flags of the mapping that p lies in, as letters: "rd wr dd nh ". */
std::string flags_of(const void *p) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  const int saved = errno;
  std::ifstream file("/proc/self/smaps");
  std::string flags;
  bool inside = false;
  for (std::string line; flags.empty() && std::getline(file, line);) {
    unsigned long first, end;
    if (std::sscanf(line.c_str(), "%lx-%lx", &first, &end) == 2) inside = first <= at && at < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) flags = line.substr(8) + " ";
  }
  errno = saved;
  return flags;
}

bool has_flag(const void *p, const char *flag) { return flags_of(p).find(flag) != std::string::npos; }

TEST_F(Os, WhatACoreDumpLeavesOut) {
  char *p = static_cast<char *>(hak_os_map(3 * page_));
  ASSERT_FALSE(has_flag(p, " dd "));
  EXPECT_TRUE(hak_os_advise_dump(p + page_, page_, false));
  EXPECT_TRUE(has_flag(p + page_, " dd "));
  EXPECT_FALSE(has_flag(p, " dd ") || has_flag(p + 2 * page_, " dd "));
  EXPECT_TRUE(hak_os_advise_dump(p + page_, page_, true));
  EXPECT_FALSE(has_flag(p + page_, " dd "));
  hak_os_unmap(p, 3 * page_);
  EXPECT_FALSE(hak_os_advise_dump(p, page_, false)) << "there is nothing";
}

TEST_F(Os, WhereHugePagesMayBe) {
  char *p = static_cast<char *>(hak_os_map(2 * page_));
  bool ok = hak_os_advise_huge(p, page_, true);
  EXPECT_EQ(has_flag(p, " hg "), ok) << "a kernel without them refuses";
  EXPECT_FALSE(has_flag(p + page_, " hg "));
  ok = hak_os_advise_huge(p, page_, false);
  EXPECT_EQ(has_flag(p, " nh "), ok);
  EXPECT_FALSE(has_flag(p, " hg "));
  hak_os_unmap(p, 2 * page_);
}

/* Only where huge pages are given by advice, as only there NOHUGEPAGE is the same as no advice. */
TEST_F(Os, AdviceOfTheProgramIsWithdrawn) {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string mode;
  std::getline(file, mode);
  char *p = static_cast<char *>(hak_os_map(4 * page_));
  hak_os_advise_huge(p, 4 * page_, true);
  const bool advised = has_flag(p, " hg ");
  hak_os_unadvise_huge(p, page_);
  EXPECT_EQ(has_flag(p, " hg "), advised) << "nothing was read yet";
  hak_os_look_at_huge(false);
  hak_os_unadvise_huge(p + page_, 2 * page_);
  EXPECT_EQ(has_flag(p + page_, " hg "), advised && mode.find("[madvise]") == std::string::npos);
  EXPECT_EQ(has_flag(p, " hg "), advised);
  EXPECT_EQ(has_flag(p + 3 * page_, " hg "), advised);
  hak_os_unmap(p, 4 * page_);
}

/* Shows something where the mode is always. */
TEST_F(Os, WhereNoneAreWantedTheDefaultIsWithdrawn) {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string mode;
  std::getline(file, mode);
  char *p = static_cast<char *>(hak_os_map(2 * page_));
  hak_os_look_at_huge(true);
  hak_os_unadvise_huge(p, page_);
  EXPECT_EQ(has_flag(p, " nh "), !mode.empty() && mode.find("[never]") == std::string::npos);
  EXPECT_FALSE(has_flag(p + page_, " nh "));
  hak_os_unmap(p, 2 * page_);
}

/* The largest size from 64 KiB to 1 MiB in the mode always, where huge pages are not in that mode. */
TEST_F(Os, MiddlePagesAreWhatTheSystemGives) {
  const std::string folder = "/sys/kernel/mm/transparent_hugepage/";
  const auto mode = [&](const std::string &name) {
    std::string text;
    std::ifstream file(folder + name);
    std::getline(file, text);
    return text;
  };
  const bool all = mode("enabled").find("[always]") != std::string::npos;
  const auto given = [&](const std::string &size) {
    const std::string text = mode("hugepages-" + size + "kB/enabled");
    return text.find("[always]") != std::string::npos || (all && text.find("[inherit]") != std::string::npos);
  };
  size_t largest = 0;
  for (size_t kib = 64; kib <= 1024; kib *= 2) {
    if (given(std::to_string(kib))) largest = kib << 10;
  }
  const size_t expected = given(std::to_string(hak_os_huge_bytes() >> 10)) ? 0 : largest;
  EXPECT_EQ(hak_os_middle_bytes(), 0u) << "nothing was read yet";
  errno = kErrno; /* kernels before 6.8 have no such files */
  hak_os_look_at_huge(false);
  EXPECT_EQ(hak_os_middle_bytes(), expected);
}

/* One call more for each end that is no border of middle pages. */
TEST_F(Os, BeforeAPartOfAMiddlePageGoesItIsSplit) {
  const size_t middle = std::max(size_t{64} << 10, 4 * page_); /* of more than one page */
  char *map = static_cast<char *>(hak_os_map(4 * middle));
  char *p = reinterpret_cast<char *>(hak_round_up(reinterpret_cast<uintptr_t>(map), middle));
  EXPECT_TRUE(hak_os_purge(map, page_)); /* the first of a process tries a page before */
  hak_store(&g_huge_modes.middle_bytes, middle);
  const auto calls = [](char *from, size_t bytes) {
    const uint64_t before = hak_os_tallied(HAK_OS_ADVISE);
    EXPECT_TRUE(hak_os_purge(from, bytes));
    return hak_os_tallied(HAK_OS_ADVISE) - before;
  };
  EXPECT_EQ(calls(p, 2 * middle), 1u);
  EXPECT_EQ(calls(p + page_, 2 * middle - page_), 2u);
  EXPECT_EQ(calls(p, 2 * middle - page_), 2u);
  EXPECT_EQ(calls(p + page_, 2 * middle), 3u);
  EXPECT_EQ(calls(p + page_, page_), 2u) << "inside one page once";
  hak_store(&g_huge_modes.middle_bytes, 0);
  EXPECT_EQ(calls(p + page_, page_), 1u);
  hak_os_unmap(map, 4 * middle);
}

TEST_F(Os, ASplitLeavesTheContent) {
  const size_t huge = hak_os_huge_bytes();
  char *map = static_cast<char *>(hak_os_map(2 * huge));
  char *p = reinterpret_cast<char *>(hak_round_up(reinterpret_cast<uintptr_t>(map), huge));
  hak_os_advise_huge(p, huge, true);
  std::memset(p, 5, huge);
  hak_os_advise_huge(p, huge, false);
  EXPECT_TRUE(hak_os_split_huge(p + page_, huge - page_));
  for (size_t i = 0; i < huge; i += page_) ASSERT_EQ(p[i], 5);
  hak_os_unmap(map, 2 * huge);
}

TEST_F(Os, AHugePageIsWhatAPageOfTableEntriesMaps) { EXPECT_EQ(hak_os_huge_bytes(), page_ * page_ / 8); }

TEST_F(Os, WhatTheProgramChangedIsSeenWithoutATouch) {
  char *p = static_cast<char *>(hak_os_map(9 * page_));
  p[0] = 1;
  EXPECT_TRUE(hak_os_is_plain(p, 9 * page_));
  EXPECT_FALSE(hak_os_is_guarded(p));
  for (const int protection : {PROT_NONE, PROT_READ}) {
    ASSERT_EQ(mprotect(p, 9 * page_, protection), 0);
    EXPECT_TRUE(hak_os_is_guarded(p)) << "a kernel before 5.14 cannot say";
    EXPECT_FALSE(hak_os_is_plain(p, 9 * page_));
    ASSERT_EQ(mprotect(p, 9 * page_, PROT_READ | PROT_WRITE), 0);
  }
  ASSERT_EQ(madvise(p + 3 * page_, page_, MADV_DONTFORK), 0);
  EXPECT_FALSE(hak_os_is_plain(p, 9 * page_));
  EXPECT_TRUE(hak_os_is_plain(p, 3 * page_));
  EXPECT_EQ(p[0], 1);
  hak_os_unmap(p, 9 * page_);
}

TEST_F(Os, RemapKeepsTheContent) {
  char *p = static_cast<char *>(hak_os_map(2 * page_));
  p[0] = 1;
  p[2 * page_ - 1] = 2;
  char *q = static_cast<char *>(hak_os_remap(p, 2 * page_, 500 * page_));
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(q[0], 1);
  EXPECT_EQ(q[2 * page_ - 1], 2);
  EXPECT_TRUE(all_zero(q + 2 * page_, 498 * page_));
  EXPECT_EQ(hak_os_remap(q, 500 * page_, size_t{1} << 62), nullptr);
  EXPECT_EQ(q[0], 1);
  EXPECT_EQ(hak_os_remap(q, 500 * page_, page_), q);
  EXPECT_FALSE(is_mapped(q + page_, page_));
  hak_os_unmap(q, page_);
}

/* In a child, as the process never moves again. */
TEST_F(Os, AfterATargetWasLostNothingIsMoved) {
  char *from = static_cast<char *>(hak_os_map(page_)), *to = static_cast<char *>(hak_os_map(page_));
  char *other = static_cast<char *>(hak_os_map(page_));
  *from = *other = 7;
  const auto lose = [&] {
    no_kernel_memory = true;
    if (hak_os_move(from, page_, to) != HAK_OS_TORN) _exit(1);
    no_kernel_memory = false;
    if (hak_os_move(from, page_, other) != HAK_OS_STAYED) _exit(2);
    _exit(*from == 7 && *other == 7 ? 0 : 3);
  };
  EXPECT_EXIT(lose(), testing::ExitedWithCode(0), "");
  for (char *p : {from, to, other}) hak_os_unmap(p, page_);
  errno = kErrno;
}

TEST_F(Os, TheClockNeverGoesBack) {
  uint64_t before = hak_os_now_ms();
  for (int i = 0; i < 1000; i++) {
    const uint64_t now = hak_os_now_ms();
    ASSERT_GE(now, before);
    before = now;
  }
}

TEST_F(Os, RandomBitsAreMoreThanOneByteWide) {
  EXPECT_NE(hak_os_random() >> 32, 0u);
  EXPECT_NE(hak_os_random() & 0xffffffff, 0u);
}

TEST_F(Os, TheTallyCountsAndIsShown) {
  static uint64_t shown[HAK_OS_CALLS * HAK_OS_SHOWN_STEP];
  const uint64_t before = hak_os_tallied(HAK_OS_MAP), unmaps = hak_os_tallied(HAK_OS_UNMAP);
  void *p = hak_os_map(page_);
  EXPECT_EQ(hak_os_tallied(HAK_OS_MAP), before + 1);
  hak_os_tally_shown(shown);
  EXPECT_EQ(hak_os_map(size_t{1} << 62), nullptr);
  EXPECT_EQ(hak_os_tallied(HAK_OS_MAP), before + 2) << "failed calls are calls";
  hak_os_unmap(p, page_);
  hak_os_tally_shown(nullptr);
  EXPECT_EQ(hak_os_tallied(HAK_OS_UNMAP), unmaps + 1);
  EXPECT_EQ(shown[0], 1u);
  EXPECT_EQ(shown[HAK_OS_SHOWN_STEP * HAK_OS_UNMAP], 1u);
}

TEST_F(Os, AMessageIsWholeAfterSignalsAndShortWrites) {
  int ends[2];
  const int err = dup(2);
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(dup2(ends[1], 2), 2);
  interrupted = 3;
  short_writes = 2;
  hak_os_write_err("a message of one line\n", 22);
  dup2(err, 2);
  close(ends[1]);
  char text[64];
  size_t bytes = 0;
  for (ssize_t n; (n = read(ends[0], text + bytes, sizeof text - bytes)) > 0;) bytes += static_cast<size_t>(n);
  EXPECT_EQ(std::string(text, bytes), "a message of one line\n");
  close(ends[0]);
  close(err);
  errno = kErrno;
}

TEST_F(Os, TheFatalMessageIsOneLine) {
  void *p = reinterpret_cast<void *>(0xabc0), *caller = reinterpret_cast<void *>(0x123);
  EXPECT_EXIT(hak_die(HAK_ERROR_double_free, p, 48, caller), testing::KilledBySignal(SIGABRT),
              "^hakmem: double free: pointer 0xabc0, class 48 B, caller 0x123\n$");
  EXPECT_EXIT(hak_die(HAK_ERROR_interior, p, 0, nullptr), testing::KilledBySignal(SIGABRT),
              "^hakmem: free of a pointer inside a block: pointer 0xabc0, class none\n$");
}

/* ---- a thread of HAKMEM's own ---- */

void wait_for(const uint32_t *word) {
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) hak_os_wait(word, 0, UINT64_MAX);
}

uint32_t done, go;

void wait_and_tell() {
  wait_for(&go);
  __atomic_fetch_add(&done, 1u, __ATOMIC_RELEASE);
  hak_os_wake(&done);
}

TEST_F(Os, AllWhoWaitAreWoken) {
  done = go = 0;
  std::thread threads[3];
  for (std::thread &thread : threads) thread = std::thread(wait_and_tell);
  __atomic_store_n(&go, 1u, __ATOMIC_RELEASE);
  hak_os_wake(&go);
  for (uint32_t now; (now = __atomic_load_n(&done, __ATOMIC_ACQUIRE)) < 3;) hak_os_wait(&done, now, UINT64_MAX);
  for (std::thread &thread : threads) thread.join();
}

/* Values that the started thread saw. */
struct Seen {
  char name[16];
  uint64_t blocked;
  int policy, errors;
  uint64_t token, self;
} seen;

void look_around() {
  syscall(SYS_prctl, PR_GET_NAME, seen.name);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, nullptr, &seen.blocked, sizeof seen.blocked);
  seen.policy = static_cast<int>(syscall(SYS_sched_getscheduler, 0));
  seen.errors = madvise(reinterpret_cast<void *>(1), 1, -1) == -1 ? errno : 0;
  seen.token = hak_self_token();
  hak_self.in_allocator++;
  seen.self = hak_self.in_allocator;
}

TEST_F(Os, AThreadOfOnesOwnIsDeafAndKnowsItself) {
  if (kSanitized) GTEST_SKIP() << "a thread that libc did not make has no sanitizer's state";
  static hak_os_thread thread;
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  hak_os_processors();
  for (int round = 0; round < 100; round++) {
    seen = {};
    ASSERT_TRUE(hak_os_thread_start(&thread, look_around));
    hak_os_thread_join(&thread);
    EXPECT_EQ(thread.id, 0u);
    EXPECT_STREQ(seen.name, "hakmem");
    const uint64_t never = uint64_t{1} << (SIGKILL - 1) | uint64_t{1} << (SIGSTOP - 1);
    EXPECT_EQ(seen.blocked, ~never) << "libc's own two signals, too";
    EXPECT_EQ(seen.policy, SCHED_OTHER);
    EXPECT_EQ(seen.errors, EINVAL);
    EXPECT_NE(seen.token, hak_self_token());
    EXPECT_EQ(seen.self, 1u) << "every thread's variables begin as zero";
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM));
}

void wait_to_go() { wait_for(&go); }

void *join_one(void *thread) {
  hak_os_thread_join(static_cast<hak_os_thread *>(thread));
  return nullptr;
}

/* The kernel wakes only one of the threads that wait for a thread's end. */
TEST_F(Os, AllWhoJoinAThreadGoOn) {
  if (kSanitized) GTEST_SKIP() << "a thread that libc did not make has no sanitizer's state";
  static hak_os_thread thread;
  const timespec long_since = {time(nullptr) + 10, 0};
  pthread_t joiner[3];
  go = 0;
  ASSERT_TRUE(hak_os_thread_start(&thread, wait_to_go));
  for (pthread_t &each : joiner) ASSERT_EQ(pthread_create(&each, nullptr, join_one, &thread), 0);
  usleep(50000); /* so that all threads sleep */
  __atomic_store_n(&go, 1u, __ATOMIC_RELEASE);
  hak_os_wake(&go);
  for (pthread_t each : joiner) ASSERT_EQ(pthread_timedjoin_np(each, nullptr, &long_since), 0);
}

/* By then the thread id may belong to a new thread. */
TEST_F(Os, ANumberThatIsUsedAgainIsNotWaitedFor) {
  std::atomic<uint32_t> other{0};
  uint32_t over = 0;
  std::thread parked([&] {
    other = static_cast<uint32_t>(gettid());
    wait_for(&over);
  });
  while (other == 0) std::this_thread::yield();
  for (const uint32_t number : {other.load(), static_cast<uint32_t>(gettid())}) {
    hak_os_thread thread = {0, number, nullptr};
    hak_os_thread_vanish(&thread);
    EXPECT_EQ(thread.was, 0u);
  }
  __atomic_store_n(&over, 1u, __ATOMIC_RELEASE);
  hak_os_wake(&over);
  parked.join();
}

TEST_F(Os, AThreadThatCannotBeMadeIsSaid) {
  if (kSanitized) GTEST_SKIP() << "a thread that libc did not make has no sanitizer's state";
  struct rlimit room, none = {0, 0};
  getrlimit(RLIMIT_AS, &room);
  none.rlim_max = room.rlim_max;
  static hak_os_thread thread;
  setrlimit(RLIMIT_AS, &none);
  const bool made = hak_os_thread_start(&thread, look_around);
  setrlimit(RLIMIT_AS, &room);
  EXPECT_FALSE(made);
  ASSERT_TRUE(hak_os_thread_start(&thread, look_around));
  hak_os_thread_join(&thread);
}

TEST_F(Os, AWaitEndsWhenTheWordIsOtherOrTheTimeIsUp) {
  const uint32_t word = 5;
  hak_os_wait(&word, 4, UINT64_MAX);
  hak_os_wait(&word, 5, 0);
  hak_os_wait(&word, 5, 1);
}

}  // namespace

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  const bool maps = number == SYS_mmap;
  if (maps && slow_maps) usleep(1000);
  if (no_kernel_memory && maps) return -ENOMEM;
  if (no_kernel_memory && number == SYS_mremap && (d & MREMAP_FIXED)) return munmap((void *)e, (size_t)c), -ENOMEM;
  if (number == SYS_write && interrupted > 0) return interrupted--, -EINTR;
  if (number == SYS_write && short_writes > 0 && c > 5) short_writes--, c = 5;
  return __real_hak_kernel(number, a, b, c, maps && old_kernel ? d & ~kFixedNoReplace : d, e, f);
}
