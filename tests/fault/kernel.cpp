/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kernel.cpp: the wrapped calls.
 *
 * what      Numbering, the plan, the sum of what is mapped; see kernel.h for the drawing.
 * owner     g_kernel. All of it is constant-initialised: the library calls before any constructor here has run.
 * locks     none. orders: relaxed.
 * hot path  none.
 * failure   none.
 * not here  The scripts.
 */
#include "kernel.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" {
void *__real_mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *p, size_t bytes);
int __real_madvise(void *p, size_t bytes, int advice);
void *__real_mremap(void *p, size_t old_bytes, size_t new_bytes, int flags, ...);
int __real_mprotect(void *p, size_t bytes, int protection);
int __real_posix_fallocate(int fd, off_t from, off_t bytes);
long __real_syscall(long number, ...);
void *__wrap_mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *p, size_t bytes);
int __wrap_madvise(void *p, size_t bytes, int advice);
void *__wrap_mremap(void *p, size_t old_bytes, size_t new_bytes, int flags, void *to);
int __wrap_mprotect(void *p, size_t bytes, int protection);
int __wrap_posix_fallocate(int fd, off_t from, off_t bytes);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
}

namespace fault {
namespace {

constexpr Plan kNoPlan{0, 0};

struct Kernel {
  Plan plan = kNoPlan;
  uint64_t one_in = 0;
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> mapped{0};
  std::atomic<Watcher> watcher{nullptr};
  std::atomic<Call> kinds[kRemembered + 1]{};
};

Kernel g_kernel;
thread_local uint64_t t_chance = 1;
thread_local uint64_t t_refused = 0;

/* Marsaglia's xorshift (2003). */
uint64_t next_chance() {
  t_chance ^= t_chance << 13;
  t_chance ^= t_chance >> 7;
  t_chance ^= t_chance << 17;
  return t_chance;
}

/* FAULT_PLAN="first last": for calls that are made before main. */
void obey_environment() {
  const char *text = std::getenv("FAULT_PLAN");
  if (text == nullptr) return;
  char *rest = nullptr;
  g_kernel.plan.first = std::strtoull(text, &rest, 10);
  g_kernel.plan.last = std::strtoull(rest, nullptr, 10);
}

bool planned(uint64_t n, Call call, size_t bytes) {
  if (g_kernel.one_in != 0) return next_chance() % g_kernel.one_in == 0;
  const Plan &plan = g_kernel.plan;
  return n >= plan.first && n <= plan.last && (plan.kinds & only(call)) != 0 && bytes >= plan.bytes;
}

/* Numbers the call. True: it is to be answered as planned. */
bool strikes(Call call, size_t bytes) {
  const Watcher watcher = g_kernel.watcher.load(std::memory_order_relaxed);
  if (watcher != nullptr) watcher(call);
  const uint64_t n = g_kernel.calls.fetch_add(1, std::memory_order_relaxed) + 1;
  if (n == 1) obey_environment();
  if (n <= kRemembered) g_kernel.kinds[n].store(call, std::memory_order_relaxed);
  if (!planned(n, call, bytes)) return false;
  t_refused++;
  g_kernel.refused.fetch_add(1, std::memory_order_relaxed);
  return true;
}

/* The kernel deals in whole pages. */
uint64_t in_pages(size_t bytes) {
  const auto page = static_cast<size_t>(getpagesize());
  return (bytes + page - 1) / page * page;
}

void came(size_t bytes) { g_kernel.mapped.fetch_add(in_pages(bytes), std::memory_order_relaxed); }
void went(size_t bytes) { g_kernel.mapped.fetch_sub(in_pages(bytes), std::memory_order_relaxed); }

int no_memory() {
  errno = ENOMEM;
  return -1;
}

void *map(void *where, size_t bytes, int protection, int flags, int fd, off_t offset) {
  void *p = __real_mmap(where, bytes, protection, flags, fd, offset);
  if (p != MAP_FAILED && (flags & MAP_ANONYMOUS) != 0) came(bytes);
  return p;
}

void *refuse_map(Answer answer) {
  errno = answer == Answer::taken ? EEXIST : ENOMEM;
  return MAP_FAILED;
}

}  // namespace

const char *name_of(Call call) {
  static constexpr const char *kNames[] = {"mmap",     "mmap at a place", "munmap",     "madvise",   "mremap",
                                           "mprotect", "posix_fallocate", "futex wait", "futex wake", "membarrier"};
  return kNames[static_cast<size_t>(call)];
}

void arm(const Plan &plan) {
  g_kernel.plan = plan;
  g_kernel.one_in = 0;
  g_kernel.calls = 0;
}

void arm_by_chance(uint64_t one_in) { g_kernel.one_in = one_in; }
void seed_this_thread(uint64_t seed) { t_chance = seed * 2654435761U + 1; }

void disarm() {
  g_kernel.plan = kNoPlan;
  g_kernel.one_in = 0;
}

uint64_t calls() { return g_kernel.calls; }
Call kind_of(uint64_t n) { return g_kernel.kinds[n]; }
uint64_t refused_here() { return t_refused; }
uint64_t refused() { return g_kernel.refused; }
uint64_t mapped() { return g_kernel.mapped; }
void watch(Watcher watcher) { g_kernel.watcher = watcher; }

void *shared_memory(size_t bytes) {
  return __real_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

}  // namespace fault

using fault::Answer;
using fault::Call;

void *__wrap_mmap(void *where, size_t bytes, int protection, int flags, int fd, off_t offset) {
  const Call call = (flags & MAP_FIXED_NOREPLACE) != 0 ? Call::place : Call::map;
  if (!fault::strikes(call, bytes)) return fault::map(where, bytes, protection, flags, fd, offset);
  const Answer answer = fault::g_kernel.plan.answer;
  if (answer != Answer::elsewhere) return fault::refuse_map(answer);
  return fault::map(nullptr, bytes, protection, flags & ~MAP_FIXED_NOREPLACE, fd, offset);
}

int __wrap_munmap(void *p, size_t bytes) {
  if (fault::strikes(Call::unmap, bytes)) return fault::no_memory();
  const int result = __real_munmap(p, bytes);
  if (result == 0) fault::went(bytes);
  return result;
}

int __wrap_madvise(void *p, size_t bytes, int advice) {
  return fault::strikes(Call::advise, bytes) ? fault::no_memory() : __real_madvise(p, bytes, advice);
}

/* `to` means something where a place is named: what was mapped there goes, and has gone where the kernel refuses late. */
void *__wrap_mremap(void *p, size_t old_bytes, size_t new_bytes, int flags, void *to) {
  const bool refused = fault::strikes(Call::remap, new_bytes);
  if (refused && (flags & MREMAP_FIXED) != 0 && __real_munmap(to, new_bytes) == 0) fault::went(new_bytes);
  if (refused) return fault::refuse_map(Answer::refuse);
  void *q = __real_mremap(p, old_bytes, new_bytes, flags, to);
  if (q == MAP_FAILED) return q;
  fault::went(old_bytes);
  if ((flags & MREMAP_FIXED) == 0) fault::came(new_bytes);
  return q;
}

int __wrap_mprotect(void *p, size_t bytes, int protection) {
  return fault::strikes(Call::protect, bytes) ? fault::no_memory() : __real_mprotect(p, bytes, protection);
}

int __wrap_posix_fallocate(int fd, off_t from, off_t bytes) {
  const bool full = fault::strikes(Call::allocate, static_cast<size_t>(bytes));
  return full ? ENOSPC : __real_posix_fallocate(fd, from, bytes);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  const Call call = (b & FUTEX_CMD_MASK) == FUTEX_WAKE ? Call::wake : Call::wait;
  if (number == SYS_futex && fault::strikes(call, 0)) return fault::no_memory();
  if (number == SYS_membarrier && fault::strikes(Call::barrier, 0)) return fault::no_memory();
  return __real_syscall(number, a, b, c, d, e, f);
}
