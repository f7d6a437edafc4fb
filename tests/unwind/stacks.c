/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stacks.c: walks whose frames are known: each function notes where it returns to.
 *
 * what      On the first stack, a thread's, an alternate signal stack, and in a handler on the interrupted stack; by
 *           the tables, and without kernel calls. Needs no libgcc: for every libc and processor. HAK_PASSES_LIBC: 0 with a
 *           libc whose functions have no tables.
 * failure   Exit status 1 and one line per walk that lacks a frame.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "record/unwind.h"
#include "record/unwind_modules.h"

enum { MOST = 128, DEPTH = 30 };

static _Thread_local struct {
  uint64_t returns[MOST]; /* innermost last */
  unsigned depth;
  const char *where;
  bool bare; /* may be walked without kernel calls, which on a stack of the program's own tell how far it goes */
} t_known;
static int g_wrong;

#define RETURNS_TO() ((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))
#define NOTE_RETURN() (t_known.returns[t_known.depth++] = RETURNS_TO())

static unsigned missing_frames(const uint64_t *frame, unsigned depth) {
  unsigned at = 0, n = t_known.depth;
  for (; n > 0; n--) {
    while (at < depth && frame[at] != t_known.returns[n - 1]) at++;
    if (at == depth) break;
  }
  return n;
}

static __attribute__((noinline)) void look(bool bare) {
  uint64_t frame[MOST];
  NOTE_RETURN();
  unsigned depth = hak_unwind(frame, MOST, t_known.returns[t_known.depth - 1], bare, NULL);
  unsigned missing = missing_frames(frame, depth), all = t_known.depth;
  if (missing != 0) printf("%s: %u of %u frames are missing, %u walked\n", t_known.where, missing, all, depth);
  g_wrong |= missing != 0;
  t_known.depth--;
}

static __attribute__((noinline)) int go_deep(int n, int room) {
  volatile char some[room];
  NOTE_RETURN();
  some[0] = (char)n;
  if (n > 0) some[room - 1] = (char)go_deep(n - 1, room * 7 % 301 + 8);
  else look(false), look(false), look(t_known.bare);
  t_known.depth--;
  return some[0];
}

static void *in_thread(void *where) {
  t_known.where = where;
  t_known.bare = true;
  go_deep(DEPTH, 100);
  return NULL;
}

static void handle(int number) {
  (void)number;
  go_deep(5, 50);
}

/* The handler's own frames, and those of the functions that the signal interrupted. */
static __attribute__((noinline)) void raise_in(int n) {
  NOTE_RETURN();
  if (n > 0) raise_in(n - 1);
  else raise(SIGUSR1);
  t_known.depth--;
  __asm__ volatile("");
}

static void with_signal(const char *where, int flags) {
  static char own[1 << 16];
  stack_t stack = {.ss_sp = own, .ss_size = sizeof own};
  struct sigaction action = {.sa_handler = handle, .sa_flags = flags};
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  t_known.where = where;
  t_known.bare = flags == 0;
  raise_in(HAK_PASSES_LIBC ? 10 : 0);
}

/* The list of modules cannot be read again: the one before stays. */
static void without_files(void) {
  struct rlimit before, none;
  getrlimit(RLIMIT_NOFILE, &before);
  none = before;
  none.rlim_cur = 0;
  setrlimit(RLIMIT_NOFILE, &none);
  hak_unwind_modules_read();
  in_thread("no file can be opened");
  setrlimit(RLIMIT_NOFILE, &before); /* a sanitizer opens files in the end */
}

int main(void) {
  pthread_t thread;
  in_thread("first stack");
  for (int n = 0; n < 3; n++) {
    if (pthread_create(&thread, NULL, in_thread, "a thread's stack") != 0) return 2;
    pthread_join(thread, NULL);
  }
  if (HAK_PASSES_LIBC) with_signal("signal", 0), with_signal("signal, stack apart", SA_ONSTACK);
  without_files();
  if (!g_wrong) puts("done");
  return g_wrong;
}
