/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* oom_test.cpp: hak_set_oom_handler, at a limit of address space.
 *
 * what      Every call that allocates asks the handler once before it fails, and is tried once more.
 * owner     Each case runs in a separate process: the limit stays.
 * failure   A request that fails although the handler freed memory, a call too many, or a call too few.
 * not here  Release of HAKMEM's own free memory before: tests/process/tight.c.
 */
#include <gtest/gtest.h>
#include <hakmem/experimental.h>
#include <hakmem/hakmem.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <string>
#include <thread>

#include "family.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kCache = 96 * kMiB; /* of the program: what the handler frees */
constexpr size_t kAsked = 64 * kMiB;

struct Program {
  void *cache = nullptr;
  std::atomic<int> calls{0};
  size_t bytes = 0;
};
Program g_program;

bool free_cache(size_t bytes, void *argument) {
  auto *program = static_cast<Program *>(argument);
  program->calls++;
  program->bytes = bytes;
  family::free(program->cache);
  return std::exchange(program->cache, nullptr) != nullptr;
}

size_t address_space() {
  size_t pages = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) std::abort();
  std::fclose(file);
  return pages * family::page_size();
}

/* From here on there is room for less than kAsked, unless the cache goes. */
void limit_space() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = address_space() + kAsked / 2;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

class Oom : public testing::Test {
 protected:
  void SetUp() override {
    g_program.cache = family::malloc(kCache);
    ASSERT_NE(g_program.cache, nullptr);
    hak_set_oom_handler(free_cache, &g_program);
    limit_space();
  }

  /* Served after one call with these bytes. */
  static void expect_served(void *p, size_t bytes) {
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(g_program.calls, 1);
    EXPECT_EQ(g_program.bytes, bytes);
    family::free(p);
  }
};

uint64_t counted(const std::string &name) {
  const char *found = nullptr;
  uint64_t value = 0;
  for (unsigned n = 0; hak_counter(n, &found, &value); n++)
    if (name == found) return value;
  return 0;
}

/* ---- every way to ask ---- */

TEST_F(Oom, Malloc) {
  errno = 5;
  expect_served(family::malloc(kAsked), kAsked);
  EXPECT_EQ(errno, 5) << "a request that is served leaves errno alone";
}
TEST_F(Oom, Calloc) {
  auto *p = static_cast<char *>(family::calloc(kAsked / 8, 8));
  ASSERT_NE(p, nullptr);
  for (size_t at = 0; at < kAsked; at += 4096) ASSERT_EQ(p[at], 0);
  expect_served(p, kAsked);
}
TEST_F(Oom, ReallocOfNothing) { expect_served(family::realloc(nullptr, kAsked), kAsked); }
TEST_F(Oom, Realloc) {
  void *p = family::malloc(100);
  family::stamp(p, 100, 3);
  p = family::realloc(p, kAsked);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(family::stamped(p, 100, 3));
  expect_served(p, kAsked);
}
TEST_F(Oom, Memalign) { expect_served(family::memalign(1 << 16, kAsked), kAsked); }
TEST_F(Oom, AlignedAlloc) { expect_served(family::aligned_alloc(64, kAsked), kAsked); }
TEST_F(Oom, PosixMemalign) {
  void *p = nullptr;
  EXPECT_EQ(family::posix_memalign(&p, 4096, kAsked), 0);
  expect_served(p, kAsked);
}
TEST_F(Oom, Valloc) { expect_served(family::valloc(kAsked), kAsked); }
TEST_F(Oom, HakMalloc) { expect_served(hak_malloc(kAsked), kAsked); }
TEST_F(Oom, AllocAt) { expect_served(hak_alloc_at(kAsked, &g_program), kAsked); }

int g_new_handlers;
void note_new_handler() {
  g_new_handlers++;
  std::set_new_handler(nullptr);
}

TEST_F(Oom, NewAsksBeforeTheNewHandler) {
  std::set_new_handler(note_new_handler);
  void *p = ::operator new(kAsked);
  EXPECT_EQ(g_new_handlers, 0);
  expect_served(p, kAsked);
}
TEST_F(Oom, NewWithoutMemoryThrows) {
  g_program.cache = nullptr; /* stays */
  std::set_new_handler(note_new_handler);
  EXPECT_THROW(family::free(::operator new(kAsked)), std::bad_alloc);
  EXPECT_EQ(g_new_handlers, 1);
  EXPECT_EQ(g_program.calls, 2) << "each of two attempts";
}

/* Free small blocks hold more memory than both threads ask for, and none may fail because the other is releasing it. */
TEST_F(Oom, TwoThreadsAreServedAtATimeByWhatIsFree) {
  constexpr size_t kBlock = 1000, kBlocks = 100000, kEach = 40 * kMiB;
  static void *block[kBlocks];
  hak_set_oom_handler(nullptr, nullptr);
  family::free(std::exchange(g_program.cache, nullptr));
  for (unsigned round = 0; round < 10; round++) {
    for (void *&p : block) p = family::malloc(kBlock);
    for (void *p : block) family::free(p);
    std::atomic<unsigned> coming{2}, asking{2}, served{0};
    const auto ask = [&] {
      for (coming--; coming != 0;) continue;
      void *p = family::malloc(kEach);
      served += p != nullptr;
      for (asking--; asking != 0;) std::this_thread::yield(); /* both blocks live at a time */
      family::free(p);
    };
    std::thread other(ask);
    ask();
    other.join();
    ASSERT_EQ(served, 2u) << round;
  }
}

/* Small blocks, until the cache is gone and the limit is reached. */
TEST_F(Oom, SmallBlocks) {
  void *held = nullptr;
  while (void **p = static_cast<void **>(family::malloc(1000))) *p = std::exchange(held, p);
  const int error = errno;
  while (held != nullptr) family::free(std::exchange(held, *static_cast<void **>(held)));
  EXPECT_EQ(error, ENOMEM);
  EXPECT_EQ(g_program.cache, nullptr);
  EXPECT_EQ(g_program.calls, 2) << "the second one had nothing to free";
  EXPECT_EQ(g_program.bytes, 1000U);
}

/* ---- failures ---- */

TEST_F(Oom, FailsAfterOneCall) {
  g_program.cache = nullptr; /* stays */
  EXPECT_EQ(family::malloc(kAsked), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(g_program.calls, 1);
}

bool promise_much(size_t, void *argument) {
  ++*static_cast<int *>(argument);
  return true;
}

TEST_F(Oom, IsTriedOnceMoreOnly) {
  int calls = 0;
  hak_set_oom_handler(promise_much, &calls);
  EXPECT_EQ(family::malloc(kAsked), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(family::calloc(1, kAsked), nullptr);
  EXPECT_EQ(family::memalign(4096, kAsked), nullptr);
  EXPECT_EQ(calls, 3);
}

TEST_F(Oom, NotForWhatNoMemoryServes) {
  for (size_t n : {size_t{1} << 47, static_cast<size_t>(PTRDIFF_MAX), SIZE_MAX}) EXPECT_EQ(family::malloc(n), nullptr);
  EXPECT_EQ(family::calloc(SIZE_MAX / 2, 3), nullptr);
  EXPECT_EQ(family::aligned_alloc(3, 100), nullptr);
  EXPECT_EQ(g_program.calls, 0);
}

TEST_F(Oom, WithoutAHandlerAsBefore) {
  hak_set_oom_handler(nullptr, nullptr);
  EXPECT_EQ(family::malloc(kAsked), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(g_program.calls, 0);
}

/* ---- inside the handler ---- */

bool use_heap(size_t bytes, void *argument) {
  EXPECT_EQ(family::malloc(bytes), nullptr) << "without a further call";
  for (int i = 0; i < 1000; i++) family::free(family::malloc(static_cast<size_t>(i)));
  malloc_trim(0);
  hak_set_oom_handler(free_cache, argument); /* for the next request */
  return free_cache(bytes, argument);
}

TEST_F(Oom, TheHandlerMayUseTheHeap) {
  hak_set_oom_handler(use_heap, &g_program);
  expect_served(family::malloc(kAsked), kAsked);
  g_program.cache = family::malloc(kCache);
  g_program.calls = 0;
  expect_served(family::malloc(kAsked), kAsked);
}

/* ---- counters ---- */

TEST_F(Oom, ARequestServedInTheEndIsNoFailure) {
  ASSERT_EQ(hak_set("count_calls", "on"), 0);
  const uint64_t failed = counted("alloc_failed"), big = counted("alloc_big");
  expect_served(family::malloc(kAsked), kAsked);
  EXPECT_EQ(counted("alloc_failed"), failed);
  EXPECT_EQ(counted("alloc_big"), big + 1);
  void *rest = family::malloc(kCache); /* stays */
  EXPECT_NE(rest, nullptr);
  EXPECT_EQ(family::malloc(kAsked), nullptr);
  EXPECT_EQ(counted("alloc_failed"), failed + 1);
}

/* ---- processes and threads ---- */

TEST_F(Oom, AForksChildHasTheHandler) {
  const pid_t child = fork();
  if (child == 0) _exit(family::malloc(kAsked) != nullptr && g_program.calls == 1 ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(g_program.calls, 0);
}

std::atomic<int> g_mixed{0};
int g_first, g_second;
bool first(size_t, void *argument) {
  if (argument != &g_first) g_mixed++;
  return false;
}
bool second(size_t, void *argument) {
  if (argument != &g_second) g_mixed++;
  return false;
}

TEST_F(Oom, HandlerAndArgumentAreReplacedTogether) {
  std::atomic<bool> ends{false};
  hak_set_oom_handler(first, &g_first);
  std::thread setter([&ends] {
    while (!ends) {
      hak_set_oom_handler(second, &g_second);
      hak_set_oom_handler(first, &g_first);
    }
  });
  for (int i = 0; i < 20000; i++) EXPECT_EQ(family::malloc(kAsked * 2), nullptr);
  ends = true;
  setter.join();
  EXPECT_EQ(g_mixed, 0);
}

}  // namespace
