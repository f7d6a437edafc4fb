/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* probe.c: libhakprobe.so, preloaded before the allocator: counts every call of the malloc family, then forwards.
 *
 * what      Defines the whole family (calls.def, realloc, reallocarray, posix_memalign), adds one to `allocs` or
 *           `frees` of the record in proof.h, and forwards to the next library's definition:
 *            program -> libhakprobe.so (counts) -> libhakmem.so (counts too)
 *           The two counts must agree; the difference was not served by HAKMEM. A function that calls a different
 *           function of the family by name (new[] calls new) passes the probe twice, and is counted once.
 *           malloc_usable_size and the like are not wrapped.
 * owner     Blocks belong to the next library, except those of the early buffer.
 * locks     A start lock, spun on by threads that arrive while the first thread looks the names up.
 * orders    `state` is released once `next` is filled, acquired by every call. Counts are relaxed.
 * hot path  One load, one atomic add, one indirect call, a thread-local word. For counted runs, never for timed runs.
 * failure   Calls made by dlsym during the look-up are served from a small static buffer and counted by neither side;
 *           with the buffer full they return NULL.
 * not here  Timed runs: libhakident.so, which wraps nothing.
 */
#define _GNU_SOURCE
#include "proof.h"
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
typedef uintptr_t word;

/* ---- the calls, one number each ---- */

#define ALLOC1(symbol, stand_in, early) call_##symbol,
#define ALLOC2 ALLOC1
#define ALLOC3 ALLOC1
#define FREE1(symbol, stand_in) call_##symbol,
#define FREE2 FREE1
#define FREE3 FREE1
enum call {
#include "calls.def"
  call_realloc,
  call___libc_realloc,
  call_reallocarray,
  call_posix_memalign,
  call_new_by_memalign, /* stands in for aligned operator new; defined here */
  n_calls
};
#undef ALLOC1
#undef FREE1

struct call_names {
  const char *symbol;
  enum call stand_in;
};

#define ALLOC1(symbol, stand_in, early) [call_##symbol] = {#symbol, call_##stand_in},
#define FREE1(symbol, stand_in) [call_##symbol] = {#symbol, call_##stand_in},
static const struct call_names names[n_calls] = {
#include "calls.def"
  [call_realloc] = {"realloc", call_realloc},
  [call___libc_realloc] = {"__libc_realloc", call_realloc},
  [call_reallocarray] = {"reallocarray", call_reallocarray},
  [call_posix_memalign] = {"posix_memalign", call_posix_memalign},
  [call_new_by_memalign] = {NULL, call_new_by_memalign},
};
#undef ALLOC1
#undef ALLOC2
#undef ALLOC3
#undef FREE1
#undef FREE2
#undef FREE3

/* A stand-in may take fewer arguments than the call passes: in the C calling conventions of supported 64-bit machines,
 * further argument registers are ignored. */
union next_call {
  void *address;
  void *(*alloc)(word a, word b, word c);
  void (*release)(void *p, word b, word c);
  int (*posix_memalign)(void **out, size_t align, size_t n);
};

static union next_call next[n_calls];
static struct proof *proof;
enum { cold, starting, ready };
static unsigned state;
static __thread bool this_thread_starts;

/* ---- blocks for calls made by dlsym itself ---- */

enum { early_bytes = 65536, early_page_bytes = 4096 };
static _Alignas(4096) char early_buffer[early_bytes];
static size_t early_used;

static void *early_alloc(size_t align, size_t n)
{
  size_t start = (early_used + align - 1) & ~(align - 1);
  if (start > early_bytes || n > early_bytes - start)
    return NULL;
  early_used = start + n;
  return early_buffer + start;
}

static bool is_early(const void *p)
{
  return (uintptr_t)p - (uintptr_t)early_buffer < early_bytes;
}

/* ---- start ---- */

static void *new_by_memalign(word n, word align, word unused)
{
  return next[call_memalign].alloc(align, n, unused);
}

static void look_up_names(void)
{
  next[call_new_by_memalign].alloc = new_by_memalign;
  for (int i = 0; i < n_calls; i++)
    if (names[i].symbol != NULL)
      next[i].address = dlsym(RTLD_NEXT, names[i].symbol);
  for (int i = 0; i < n_calls; i++)
    if (next[i].address == NULL)
      next[i] = next[names[i].stand_in];
}

static void start(void)
{
  this_thread_starts = true;
  look_up_names();
  proof = proof_open(proof_counted);
  this_thread_starts = false;
  __atomic_store_n(&state, ready, __ATOMIC_RELEASE);
}

/* False only inside this thread's own start. */
static bool started_slow(void)
{
  if (this_thread_starts)
    return false;
  unsigned expected = cold;
  if (__atomic_compare_exchange_n(&state, &expected, starting, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
    start();
  while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != ready)
    sched_yield();
  return true;
}

static inline bool started(void)
{
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == ready || started_slow();
}

__attribute__((constructor)) static void start_with_the_program(void)
{
  started();
}

/* ---- counting and forwarding ---- */

/* Set while this thread is in a function that may call on by name; the first call of the family meanwhile is the same
 * call. */
static __thread bool handing_on __attribute__((tls_model("initial-exec")));

/* True for functions that C and C++ define by a different function. The basic forms of new and delete, which libstdc++
 * makes of malloc and free, are calls of their own: a failed new calls malloc for the exception. */
static bool hands_on(enum call call)
{
  switch (call) {
  case call__Znwm:
  case call__ZnwmSt11align_val_t:
  case call__ZdlPv:
  case call__ZdlPvSt11align_val_t:
    return false;
  case call_reallocarray:
    return true;
  default:
    return names[call].stand_in != call;
  }
}

static inline void count(enum call call, uint64_t *calls)
{
  if (!handing_on)
    __atomic_fetch_add(calls, 1, __ATOMIC_RELAXED);
  handing_on = hands_on(call);
}

static inline void *forward_alloc(enum call call, word a, word b, word c)
{
  count(call, &proof->allocs);
  void *p = next[call].alloc(a, b, c);
  handing_on = false;
  return p;
}

static inline void forward_free(enum call call, void *p, word b, word c)
{
  if (is_early(p) || !started())
    return;
  count(call, &proof->frees);
  next[call].release(p, b, c);
  handing_on = false;
}

#define ALLOC1(symbol, stand_in, early)                                     \
  EXPORT void *symbol(word a);                                              \
  EXPORT void *symbol(word a)                                               \
  {                                                                         \
    return started() ? forward_alloc(call_##symbol, a, 0, 0) : (early);     \
  }
#define ALLOC2(symbol, stand_in, early)                                     \
  EXPORT void *symbol(word a, word b);                                      \
  EXPORT void *symbol(word a, word b)                                       \
  {                                                                         \
    return started() ? forward_alloc(call_##symbol, a, b, 0) : (early);     \
  }
#define ALLOC3(symbol, stand_in, early)                                     \
  EXPORT void *symbol(word a, word b, word c);                              \
  EXPORT void *symbol(word a, word b, word c)                               \
  {                                                                         \
    return started() ? forward_alloc(call_##symbol, a, b, c) : (early);     \
  }
#define FREE1(symbol, stand_in)                                             \
  EXPORT void symbol(void *p);                                              \
  EXPORT void symbol(void *p)                                               \
  {                                                                         \
    forward_free(call_##symbol, p, 0, 0);                                   \
  }
#define FREE2(symbol, stand_in)                                             \
  EXPORT void symbol(void *p, word b);                                      \
  EXPORT void symbol(void *p, word b)                                       \
  {                                                                         \
    forward_free(call_##symbol, p, b, 0);                                   \
  }
#define FREE3(symbol, stand_in)                                             \
  EXPORT void symbol(void *p, word b, word c);                              \
  EXPORT void symbol(void *p, word b, word c)                               \
  {                                                                         \
    forward_free(call_##symbol, p, b, c);                                   \
  }
#include "calls.def"

/* ---- realloc and posix_memalign ---- */

static size_t early_bytes_from(const void *p)
{
  return (size_t)(early_buffer + early_bytes - (const char *)p);
}

/* Moves an early block to the allocator, once started. The block's size is not stored, only an upper bound is
 * known. */
static void *move_early(bool forward, void *p, size_t n)
{
  void *moved = forward ? forward_alloc(call_malloc, n, 0, 0) : early_alloc(16, n);
  size_t bytes = early_bytes_from(p);
  if (moved != NULL)
    memmove(moved, p, n < bytes ? n : bytes);
  return moved;
}

static void *realloc_by(enum call call, void *p, size_t n)
{
  bool forward = started();
  if (is_early(p))
    return move_early(forward, p, n);
  return forward ? forward_alloc(call, (word)p, n, 0) : early_alloc(16, n);
}

EXPORT void *realloc(void *p, size_t n);
EXPORT void *realloc(void *p, size_t n)
{
  return realloc_by(call_realloc, p, n);
}

EXPORT void *__libc_realloc(void *p, size_t n);
EXPORT void *__libc_realloc(void *p, size_t n)
{
  return realloc_by(call___libc_realloc, p, n);
}

EXPORT void *reallocarray(void *p, size_t count, size_t size);
EXPORT void *reallocarray(void *p, size_t count, size_t size)
{
  if (is_early(p) || !started())
    return realloc_by(call_realloc, p, count * size);
  return forward_alloc(call_reallocarray, (word)p, count, size);
}

EXPORT int posix_memalign(void **out, size_t align, size_t n);
EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
  if (started()) {
    count(call_posix_memalign, &proof->allocs);
    return next[call_posix_memalign].posix_memalign(out, align, n);
  }
  *out = early_alloc(align, n);
  return *out == NULL ? 12 /* ENOMEM */ : 0;
}
