/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* beside.c: walks of real programs' stacks, beside libgcc's.
 *
 * what      To be preloaded. Each HAK_BESIDE_STEP-th call of malloc, calloc and realloc, which libc serves, walks its
 *           stack by HAKMEM's walker and by libgcc's, and compares. Each process adds a line to the file
 *           HAK_BESIDE_FILE at its end, and before it one for each of the first differences:
 *
 *               equal 1200 longer 3 shorter 0 different 0 frames 15000 /usr/bin/python3
 *
 *           With HAK_BESIDE_ALONE only HAKMEM's walks: libgcc's crashes where words are no frames.
 *
 *           longer: HAKMEM's stack goes on where libgcc's ends, as in code without tables.
 * failure   A process that ends by _exit or a signal has no line.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "os/loaded.h"
#include "record/unwind.h"

enum { MOST = 128, WITH_OWN = MOST + 16, TOLD = 8 };

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_realloc(void *p, size_t n);

struct stack {
  unsigned depth;
  uint64_t frame[WITH_OWN];
};

static struct {
  unsigned long calls, equal, longer, shorter, different, frames;
  unsigned told;
} g_beside;
static __thread int t_inside __attribute__((tls_model("initial-exec")));

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *to) {
  struct stack *stack = to;
  uint64_t pc = _Unwind_GetIP(context);
  if (pc == 0 || stack->depth == WITH_OWN) return _URC_END_OF_STACK;
  stack->frame[stack->depth++] = pc;
  return _URC_NO_REASON;
}

static void tell(const char *text, int bytes) {
  const char *path = getenv("HAK_BESIDE_FILE");
  int file = open(path != NULL ? path : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (write(file, text, (size_t)bytes) < 0) abort();
  close(file);
}

/* The frames from `n` on, as file+offset. */
static void tell_frames(const char *whose, const uint64_t *frame, unsigned depth, unsigned n) {
  char text[4096];
  int at = snprintf(text, sizeof text, "  %s from frame %u of %u on:", whose, n, depth);
  for (; n < depth && at < 3600; n++) {
    Dl_info info = {0};
    dladdr((void *)(uintptr_t)(frame[n] - 1), &info);
    const char *name = info.dli_fname != NULL ? info.dli_fname : "?";
    at += snprintf(text + at, sizeof text - (size_t)at, " %s+%lx(%s)", name, frame[n] - (uintptr_t)info.dli_fbase,
                   info.dli_sname != NULL ? info.dli_sname : "");
  }
  text[at++] = '\n';
  tell(text, at);
}

static unsigned first_difference(const uint64_t *one, unsigned ones, const uint64_t *other, unsigned others) {
  unsigned n = 0;
  while (n < ones && n < others && one[n] == other[n]) n++;
  return n;
}

static void count(unsigned long *what) { __atomic_fetch_add(what, 1, __ATOMIC_RELAXED); }

static void compare(uint64_t site, const uint64_t *own, unsigned depth, const struct stack *stack) {
  unsigned begin = 0;
  while (begin < stack->depth && stack->frame[begin] != site) begin++;
  unsigned theirs = stack->depth - begin;
  if (theirs > MOST) theirs = MOST;
  unsigned same = first_difference(own, depth, stack->frame + begin, theirs);
  bool equal = same == depth && same == theirs, longer = same == theirs && depth > theirs;
  count(equal ? &g_beside.equal : longer ? &g_beside.longer : same == depth ? &g_beside.shorter : &g_beside.different);
  __atomic_fetch_add(&g_beside.frames, depth, __ATOMIC_RELAXED);
  if (equal || (longer && getenv("HAK_BESIDE_LONGER") == NULL)) return;
  if (__atomic_fetch_add(&g_beside.told, 1, __ATOMIC_RELAXED) >= TOLD) return;
  unsigned from = same > 3 ? same - 3 : 0;
  tell_frames("own", own, depth, from);
  tell_frames("libgcc", stack->frame + begin, theirs, from);
}

static unsigned long step(void) {
  static unsigned long every;
  const char *text = every == 0 ? getenv("HAK_BESIDE_STEP") : NULL;
  if (text != NULL) every = strtoul(text, NULL, 10);
  return every != 0 ? every : 1;
}

static __attribute__((noinline)) void look(const void *site) {
  uint64_t own[MOST];
  struct stack stack = {0};
  if (t_inside || __atomic_fetch_add(&g_beside.calls, 1, __ATOMIC_RELAXED) % step() != 0) return;
  t_inside = 1;
  unsigned depth = hak_unwind(own, MOST, (uintptr_t)site, false, NULL);
  if (getenv("HAK_BESIDE_ALONE") != NULL) stack.depth = depth, memcpy(stack.frame, own, sizeof own);
  else _Unwind_Backtrace(note, &stack);
  compare((uintptr_t)site, own, depth, &stack);
  t_inside = 0;
}

__attribute__((visibility("default"))) void *malloc(size_t n) {
  look(__builtin_return_address(0));
  return __libc_malloc(n);
}

__attribute__((visibility("default"))) void *calloc(size_t count_of, size_t n) {
  look(__builtin_return_address(0));
  return __libc_calloc(count_of, n);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t n) {
  look(__builtin_return_address(0));
  return __libc_realloc(p, n);
}

void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);
__attribute__((visibility("default"))) void free(void *p) { __libc_free(p); }
__attribute__((visibility("default"))) void *memalign(size_t align, size_t n) { return __libc_memalign(align, n); }
__attribute__((visibility("default"))) void *aligned_alloc(size_t align, size_t n) { return __libc_memalign(align, n); }

/* As HAKMEM's, which counts them (api/dlopen.c). */
__attribute__((visibility("default"))) void *dlopen(const char *path, int mode) {
  static void *(*next)(const char *, int);
  if (next == NULL) next = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  __atomic_fetch_add(&g_loaded_opens, 1, __ATOMIC_RELAXED);
  return next(path, mode);
}

static __attribute__((destructor)) void tell_all(void) {
  char text[4400], name[4096] = "";
  if (readlink("/proc/self/exe", name, sizeof name - 1) < 0) return;
  int n = snprintf(text, sizeof text, "equal %lu longer %lu shorter %lu different %lu frames %lu %s\n", g_beside.equal,
                   g_beside.longer, g_beside.shorter, g_beside.different, g_beside.frames, name);
  tell(text, n);
}
