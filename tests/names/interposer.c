/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* interposer.c: a library that stands in front of libc, as many do: initialised once, with separate memory and a
 * thread-local variable.
 *
 * what      Each function allocates and frees a block, in a thread that libc started, and forwards the call. A call of
 *           an allocator by these names re-enters the allocator, from a thread that may not be libc's. prctl, unshare
 *           and setns are counted: INTERPOSER_SAYS=1 writes the counts at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NAMES(NAME)                                                                                                  \
  NAME(mmap) NAME(mmap64) NAME(munmap) NAME(mremap) NAME(madvise) NAME(mprotect) NAME(clock_gettime) NAME(close)    \
  NAME(fstat) NAME(posix_fallocate) NAME(getpid) NAME(gettid) NAME(getrlimit) NAME(signal) NAME(sigaction)          \
  NAME(sigfillset) NAME(sched_getscheduler) NAME(sched_setscheduler) NAME(sched_setaffinity) NAME(syscall)           \
  NAME(open) NAME(getauxval) NAME(pthread_key_create) NAME(pthread_setspecific) NAME(prctl) NAME(unshare)           \
  NAME(setns) NAME(setuid) NAME(setgid) NAME(memcpy) NAME(memmove) NAME(memset) NAME(memcmp)

typedef long function(long a, long b, long c, long d, long e, long f, long g);
enum { BLOCK_BYTES = 3000 };

enum {
#define NUMBER(name) NAME_##name,
  NAMES(NUMBER)
#undef NUMBER
  COUNT
};

static function *next[COUNT];
static unsigned long calls[COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *own;
static __thread struct {
  unsigned long calls;
  char room[200];
} mine;

static void find(void) {
  own = malloc(BLOCK_BYTES);
#define FIND(name) next[NAME_##name] = (function *)dlsym(RTLD_NEXT, #name);
  NAMES(FIND)
#undef FIND
}

static function *enter(int name) {
  pthread_once(&once, find);
  mine.calls++;
  __atomic_fetch_add(&calls[name], 1, __ATOMIC_RELAXED);
  free(malloc(BLOCK_BYTES));
  return next[name];
}

/* A libc function reads only its own arguments, and a caller only its part of the result. */
#define HOOK(name)                                                                             \
  long hook_##name(long a, long b, long c, long d, long e, long f, long g) __asm__(#name);     \
  long hook_##name(long a, long b, long c, long d, long e, long f, long g) {                   \
    return enter(NAME_##name)(a, b, c, d, e, f, g);                                            \
  }
NAMES(HOOK)

__attribute__((destructor)) static void say(void) {
  if (getenv("INTERPOSER_SAYS") == NULL) return;
  printf("prctl %lu unshare %lu setns %lu\n", calls[NAME_prctl], calls[NAME_unshare], calls[NAME_setns]);
}
