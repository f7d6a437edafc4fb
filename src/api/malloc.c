/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* malloc.c: the malloc family, as glibc 2.36 exports it.
 *
 * what      One exported function per name; the __libc_ names that programs link to are second names. musl has its own
 *           __libc_ names, by which it serves itself, and no mallinfo and mallopt: there these are not defined.
 * hot path  malloc, free, calloc and realloc are the inline functions of entry/front.h and nothing else.
 * failure   As glibc: errno, or the result of posix_memalign, malloc_info and mallopt. Two answers differ from glibc's
 *           on purpose: aligned_alloc refuses an alignment that is no power of two (as glibc from 2.38), and mallinfo
 *           gives INT_MAX where a number does not fit (glibc wraps around).
 * not here  Functions defined in terms of free and realloc: derived.c. The hak_ names: hakmem.c. operator new and
 *           delete: new.cpp.
 */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

#include "api/exports.h"
#include "api/rules.h"
#include "entry/front.h"
#include "entry/heap.h"
#include "entry/mallopt.h"
#include "observe/report.h"
#include "os/libc.h"
#include "os/os.h"
#include "retain/footprint.h"

/* ---- blocks ---- */

HAK_EXPORT void *malloc(size_t n) { return hak_front_malloc(n); }
HAK_EXPORT void free(void *p) { hak_front_free(p); }
HAK_EXPORT void *calloc(size_t count, size_t size) { return hak_front_calloc(count, size); }
HAK_EXPORT void *realloc(void *p, size_t n) { return hak_front_realloc(p, n); }

HAK_EXPORT void *memalign(size_t align, size_t n) { return hak_rules_memalign(align, n); }
HAK_EXPORT void *aligned_alloc(size_t align, size_t n) { return hak_rules_aligned_alloc(align, n); }
HAK_EXPORT void *valloc(size_t n) { return hak_rules_valloc(n); }
HAK_EXPORT void *pvalloc(size_t n) { return hak_rules_pvalloc(n); }

HAK_EXPORT int posix_memalign(void **out, size_t align, size_t n) { return hak_rules_posix_memalign(out, align, n); }

HAK_EXPORT size_t malloc_usable_size(void *p) { return hak_front_usable(p); }

/* ---- the heap as a whole ---- */

HAK_EXPORT int malloc_trim(size_t pad) { return hak_heap_trim(pad); }

static void put_to_stderr(void *to, const char *text, size_t bytes) {
  (void)to;
  hak_os_write_err(text, bytes);
}

HAK_EXPORT void malloc_stats(void) {
  struct hak_stats stats = {0};
  hak_heap_stats(&stats);
  hak_report_text(&stats, put_to_stderr, NULL);
}

static void put_to_stream(void *to, const char *text, size_t bytes) { fwrite(text, 1, bytes, to); }

/* Writing is a cancellation point: a thread that is cancelled before or during the call ends after a whole document. */
HAK_EXPORT int malloc_info(int options, FILE *stream) {
  if (options != 0) return EINVAL;
  int before;
  struct hak_stats stats = {0};
  hak_heap_stats(&stats);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  hak_report_xml(&stats, put_to_stream, stream);
  pthread_setcancelstate(before, NULL);
  return 0;
}

/* ---- names of glibc alone: the types of their results and parameters are in its malloc.h ---- */

#if HAK_LIBC_GLIBC
void *__libc_malloc(size_t n) HAK_EXPORT_AS(malloc);
void __libc_free(void *p) HAK_EXPORT_AS(free);
void *__libc_calloc(size_t count, size_t size) HAK_EXPORT_AS(calloc);
void *__libc_realloc(void *p, size_t n) HAK_EXPORT_AS(realloc);
void *__libc_memalign(size_t align, size_t n) HAK_EXPORT_AS(memalign);
void *__libc_valloc(size_t n) HAK_EXPORT_AS(valloc);
void *__libc_pvalloc(size_t n) HAK_EXPORT_AS(pvalloc);

/* arena = uordblks + fordblks [bytes]. HAKMEM's own tables are not counted. */
HAK_EXPORT struct mallinfo2 mallinfo2(void) {
  struct hak_stats stats = {0};
  hak_heap_stats(&stats);
  struct mallinfo2 info = {0};
  info.hblks = stats.big_blocks;
  info.hblkhd = stats.big_live;
  info.uordblks = stats.in_use > stats.big_live ? stats.in_use - stats.big_live : 0;
  info.arena = hak_max(hak_footprint_arena(), info.uordblks); /* another thread may be between two stores */
  info.fordblks = info.arena - info.uordblks;
  info.keepcost = stats.span_dirty;
  return info;
}

static int at_most_int(size_t n) { return n < INT_MAX ? (int)n : INT_MAX; }

static struct mallinfo narrow_mallinfo(void) {
  struct mallinfo2 wide = mallinfo2();
  struct mallinfo info = {0};
  info.arena = at_most_int(wide.arena);
  info.hblks = at_most_int(wide.hblks);
  info.hblkhd = at_most_int(wide.hblkhd);
  info.uordblks = at_most_int(wide.uordblks);
  info.fordblks = at_most_int(wide.fordblks);
  info.keepcost = at_most_int(wide.keepcost);
  return info;
}

HAK_EXPORT struct mallinfo mallinfo(void) { return narrow_mallinfo(); }

/* M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD and M_MMAP_MAX behave as glibc promises: entry/mallopt.h. M_MXFAST,
 * M_ARENA_MAX and M_ARENA_TEST shape parts that this heap does not have: accepted without effect. Blocks are not
 * filled: M_PERTURB is refused except for 0. Unknown parameters are accepted, as by glibc. */
HAK_EXPORT int mallopt(int parameter, int value) {
  enum { GLIBC_MAX_FAST = 80 * sizeof(size_t) / 4 };
  switch (parameter) {
    case M_TRIM_THRESHOLD: return hak_mallopt_trim_threshold(value);
    case M_TOP_PAD: return hak_mallopt_top_pad(value);
    case M_MMAP_THRESHOLD: return hak_mallopt_mmap_threshold(value);
    case M_MMAP_MAX: return hak_mallopt_mmap_max(value);
    case M_MXFAST: return value >= 0 && value <= GLIBC_MAX_FAST;
    case M_PERTURB: return value == 0;
    default: return 1;
  }
}

HAK_EXPORT struct mallinfo __libc_mallinfo(void);
HAK_EXPORT struct mallinfo __libc_mallinfo(void) { return narrow_mallinfo(); }
int __libc_mallopt(int parameter, int value) HAK_EXPORT_AS(mallopt);
#endif
