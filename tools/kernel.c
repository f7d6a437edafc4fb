/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kernel.c: see kernel.h.
 *
 * what      Wraps, by the linker's --wrap, the library's kernel calls (os/call.h) and libc's memcpy and memset;
 *           replaces the function of the library's clock (os/clock.h).
 */
#define _GNU_SOURCE
#include "kernel.h"
#include "os/call.h"
#include "os/clock.h"
#include "os/self.h"
#include "pages.h"
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
  look_pages = 16,      /* rise of the peak until the library's own pages are counted again */
  align_ns = 64000000 /* the clock begins at a tick of the rent (retain/rent.h) */
};

static struct {
  bool running;
  bool counting; /* inside pages.c, which may call memcpy and memset too */
  uint64_t base_ns, clock_ns, coarse_ns;
  uint64_t looked_at, own_before, own_at_peak;
  double page_seconds;
} model;

#define NS_PER_SECOND ((uint64_t)1000000000)

/* ---- wrapped functions ---- */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

long __real_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int value, size_t bytes);

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes);

/* ---- memory ---- */

static void follow_move(uintptr_t from, size_t old_bytes, uintptr_t to, size_t new_bytes)
{
  size_t kept = old_bytes < new_bytes ? old_bytes : new_bytes;
  if (from != to)
    pages_move(from, kept, to);
  pages_drop(from + kept, old_bytes - kept);
}

/* Huge pages and dump flags change nothing for memory that is never written. True: the kernel need not be called. */
static bool take_advice(uintptr_t p, size_t bytes, long advice)
{
  if (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE)
    pages_wish_huge(p, bytes, advice == MADV_HUGEPAGE);
  if (advice == MADV_DONTNEED)
    pages_drop(p, bytes);
  return advice != MADV_DONTNEED && advice != MADV_WIPEONFORK;
}

long __wrap_hak_kernel(long number, long a, long b, long c, long d, long e, long f)
{
  if (model.running && number == SYS_madvise && take_advice((uintptr_t)a, (size_t)b, c))
    return 0;
  long answer = __real_hak_kernel(number, a, b, c, d, e, f);
  bool done = model.running && !hak_kernel_refused(answer);
  if (done && number == SYS_munmap)
    pages_drop((uintptr_t)a, (size_t)b);
  if (done && number == SYS_mremap)
    follow_move((uintptr_t)a, (size_t)b, (uintptr_t)answer, (size_t)c);
  return answer;
}

/* ---- the program's bytes ---- */

static bool are_the_programs(void)
{
  return model.running && !model.counting && hak_self.in_allocator == 0;
}

void kernel_touch(const void *p, size_t bytes)
{
  model.counting = true;
  pages_touch((uintptr_t)p, bytes);
  model.counting = false;
}

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
  if (!are_the_programs())
    return __real_memcpy(to, from, bytes);
  pages_read((uintptr_t)from, bytes);
  kernel_touch(to, bytes);
  return to;
}

void *__wrap_memset(void *to, int value, size_t bytes)
{
  if (!are_the_programs())
    return __real_memset(to, value, bytes);
  kernel_touch(to, bytes);
  return to;
}

/* ---- time ---- */

static uint64_t in_ns(struct timespec t)
{
  return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static uint64_t real_ns(int (*get)(clockid_t clock, struct timespec *out), clockid_t clock)
{
  struct timespec t = {0};
  get(clock, &t);
  return in_ns(t);
}

static int invented_clock(clockid_t clock, struct timespec *out)
{
  uint64_t now = model.base_ns + model.clock_ns;
  if (clock == CLOCK_MONOTONIC_COARSE)
    now -= now % model.coarse_ns;
  *out = (struct timespec){(time_t)(now / NS_PER_SECOND), (long)(now % NS_PER_SECOND)};
  return 0;
}

/* The resident pages have been resident since the last kernel_set_clock. */
void kernel_set_clock(uint64_t ns)
{
  double pages = (double)(pages_now()->resident + model.own_at_peak);
  if (ns > model.clock_ns)
    model.page_seconds += pages * (double)(ns - model.clock_ns) / (double)NS_PER_SECOND;
  model.clock_ns = ns;
}

uint64_t kernel_clock_ms(void)
{
  return model.clock_ns / 1000000;
}

/* ---- counts ---- */

/* Page faults of this process, which has fetched its own memory before the start: one page each, for library tables
 * that only grow. */
static uint64_t own_faults(void)
{
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (uint64_t)used.ru_minflt - model.own_before;
}

/* The library's code is resident before a program runs, or soon after; the executable stands for this code. */
static void fetch_code(void)
{
  extern char __executable_start, etext;
  size_t page = pages_bytes;
  char *from = &__executable_start;
  madvise(from, ((size_t)(&etext - from) + page) & -page, MADV_POPULATE_READ);
}

void kernel_start(void)
{
  pages_start();
  fetch_code();
  model.coarse_ns = real_ns(clock_getres, CLOCK_MONOTONIC_COARSE);
  model.base_ns = (real_ns(clock_gettime, CLOCK_MONOTONIC) / align_ns + 1) * align_ns;
  model.own_before = own_faults();
  g_clock.function = invented_clock;
  model.running = true;
}

void kernel_look(void)
{
  if (pages_now()->most < model.looked_at)
    return;
  model.looked_at = pages_now()->most + look_pages;
  model.own_at_peak = own_faults();
}

static uint64_t mean_pages(void)
{
  double seconds = (double)model.clock_ns / (double)NS_PER_SECOND;
  return seconds > 0 ? (uint64_t)(model.page_seconds / seconds) : pages_now()->resident + model.own_at_peak;
}

struct kernel_work kernel_stop(void)
{
  const struct pages *pages = pages_now();
  uint64_t own = own_faults();
  model.running = false;
  g_clock.function = NULL; /* the library looks the function up again */
  return (struct kernel_work){pages->most + model.own_at_peak, model.own_at_peak, pages->faults + own, own,
                              mean_pages()};
}
