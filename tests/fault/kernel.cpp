/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kernel.cpp: the wrapped calls.
 *
 * what      Numbering, the plan, the sum of mapped bytes; see kernel.h for the drawing.
 * owner     g_kernel. All members are constant-initialised: the library calls before any constructor here has run.
 * locks     none. orders: relaxed.
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
long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
}

namespace fault {
namespace {

constexpr Plan kNoPlan{0, 0};
constexpr long kNoMemory = -ENOMEM;

bool refuses(long answer) { return static_cast<unsigned long>(answer) > -4096UL; }

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

/* Numbers the call. True if the plan has an answer for the call. */
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

long map(long where, size_t bytes, long protection, long flags, long fd, long offset) {
  const long p = __real_hak_kernel(SYS_mmap, where, static_cast<long>(bytes), protection, flags, fd, offset);
  if (!refuses(p) && (flags & MAP_ANONYMOUS) != 0) came(bytes);
  return p;
}

long answer_map(long where, size_t bytes, long protection, long flags, long fd, long offset) {
  const Call call = (flags & MAP_FIXED_NOREPLACE) != 0 ? Call::place : Call::map;
  if (!strikes(call, bytes)) return map(where, bytes, protection, flags, fd, offset);
  const Answer answer = g_kernel.plan.answer;
  if (answer != Answer::elsewhere) return answer == Answer::taken ? -EEXIST : kNoMemory;
  return map(0, bytes, protection, flags & ~MAP_FIXED_NOREPLACE, fd, offset);
}

long real_unmap(long p, size_t bytes) {
  const long result = __real_hak_kernel(SYS_munmap, p, static_cast<long>(bytes), 0, 0, 0, 0);
  if (result == 0) went(bytes);
  return result;
}

long answer_unmap(long p, size_t bytes) { return strikes(Call::unmap, bytes) ? kNoMemory : real_unmap(p, bytes); }

/* A move to a named place unmaps the former mapping there, also when the kernel refuses the move. */
long answer_remap(long p, size_t old_bytes, size_t new_bytes, long flags, long to) {
  const bool refused = strikes(Call::remap, new_bytes);
  if (refused && (flags & MREMAP_FIXED) != 0) real_unmap(to, new_bytes);
  if (refused) return kNoMemory;
  const long q = __real_hak_kernel(SYS_mremap, p, static_cast<long>(old_bytes), static_cast<long>(new_bytes), flags, to, 0);
  if (refuses(q)) return q;
  went(old_bytes);
  if ((flags & MREMAP_FIXED) == 0) came(new_bytes);
  return q;
}

/* Returns the planned wrong answer to a call of the remaining kinds; 0: make the call. */
long answer_other(long number, long b, long d) {
  const Call futex = (b & FUTEX_CMD_MASK) == FUTEX_WAKE ? Call::wake : Call::wait;
  switch (number) {
    case SYS_madvise: return strikes(Call::advise, static_cast<size_t>(b)) ? kNoMemory : 0;
    case SYS_mprotect: return strikes(Call::protect, static_cast<size_t>(b)) ? kNoMemory : 0;
    case SYS_fallocate: return strikes(Call::allocate, static_cast<size_t>(d)) ? -ENOSPC : 0;
    case SYS_futex: return strikes(futex, 0) ? kNoMemory : 0;
    case SYS_membarrier: return strikes(Call::barrier, 0) ? kNoMemory : 0;
    default: return 0;
  }
}

}  // namespace

const char *name_of(Call call) {
  static constexpr const char *kNames[] = {"mmap",     "mmap at a place", "munmap",     "madvise",   "mremap",
                                           "mprotect", "fallocate", "futex wait", "futex wake", "membarrier"};
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
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

}  // namespace fault

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  switch (number) {
    case SYS_mmap: return fault::answer_map(a, static_cast<size_t>(b), c, d, e, f);
    case SYS_munmap: return fault::answer_unmap(a, static_cast<size_t>(b));
    case SYS_mremap: return fault::answer_remap(a, static_cast<size_t>(b), static_cast<size_t>(c), d, e);
    default: break;
  }
  const long wrong = fault::answer_other(number, b, d);
  return wrong != 0 ? wrong : __real_hak_kernel(number, a, b, c, d, e, f);
}
