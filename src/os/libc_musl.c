/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libc_musl.c: libc.h for musl. Not compiled for glibc.
 *
 * what      musl sets `environ` before any code of the program runs, to the pointers that the kernel put behind the
 *           arguments:
 *
 *               base --> [ argc | arguments 0 | environment 0 | type value ... ]
 *                                               ^ environ, until the program gives itself another
 *
 *           The count lies below as many pointers, which are no small numbers, and the strings above. Found at load, on
 *           the first stack, or by a call of malloc before; never sought in an environment that lies elsewhere or
 *           begins otherwise. Then the kernel names in a file what it gave.
 *           A thread's number as musl knows it stands in the name of the thread's clock: fork writes the child's, vfork
 *           leaves the parent's, and musl keeps no robust list by which to tell.
 * owner     g_stack_end.
 * orders    Relaxed: each thread finds the same.
 * failure   NULL: the program had another environment before this library's first call. Without the file, too, the
 *           process counts as one with raised rights, as it may be one.
 */
#include <elf.h>
#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/given.h"
#include "os/libc.h"
#include "os/os.h"
#include "os/text.h"

enum { FIRST_STACK_LEAST = 64 << 20 }; /* [bytes] as in self.c */

static const void *g_stack_end;

static const void *find_stack_end(void) {
  const uintptr_t *word = (const uintptr_t *)(void *)__environ, frame = (uintptr_t)__builtin_frame_address(0);
  const uintptr_t *environment = word;
  if (word == NULL || (uintptr_t)word - frame >= FIRST_STACK_LEAST || word[-1] != 0) return NULL;
  bool elsewhere = *word != 0 && *word < (uintptr_t)word; /* the kernel's strings lie above */
  if (elsewhere || word[-2] == 0) return NULL;
  word -= 2; /* the word before is the end of the arguments */
  for (uintptr_t count = 0; *word != count; count++) {
    if (*word < (uintptr_t)environment || (uintptr_t)--word < frame) return NULL;
  }
  return word;
}

const void *hak_libc_stack_end(void) {
  const void *known = hak_load(&g_stack_end);
  if (HAK_UNLIKELY(known == NULL)) hak_store(&g_stack_end, known = find_stack_end());
  return known;
}

/* By the kernel's file. */
static unsigned long given_by_file(unsigned long type) {
  unsigned long pair[2] = {AT_NULL, 0}, value = type == AT_SECURE;
  long file = hak_text_open("/proc/self/auxv");
  if (file < 0) return value;
  while (hak_text_read(file, (char *)pair, sizeof pair) == (long)sizeof pair && pair[0] != AT_NULL && pair[0] != type) {
  }
  hak_text_close(file);
  return pair[0] == type ? pair[1] : value;
}

unsigned long hak_libc_given(unsigned long type) {
  const void *start = hak_libc_stack_end();
  return HAK_LIKELY(start != NULL) ? hak_given_at(start, type) : given_by_file(type);
}

/* The kernel names a thread's clock ~number << 3 | kind. */
bool hak_libc_has_thread(void) {
  enum { KIND_BITS = 3 };
  clockid_t clock;
  return pthread_getcpuclockid(pthread_self(), &clock) == 0 && (uint64_t)~(clock >> KIND_BITS) == hak_os_thread_id();
}

__attribute__((constructor(101))) static void find_at_load(void) { hak_libc_stack_end(); }
