/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* abort_handler.c: a SIGABRT handler allocates after a fatal re-entry of malloc.
 *
 * what      A signal handler interrupts malloc inside the kernel and calls malloc: fatal. The abort that follows
 *           finds a handler that calls malloc too.
 * failure   A handler that is called again and again ends the process with status 3; the expected end is SIGABRT.
 * not here  The message (tests/wrongfree).
 */
#include "../process/inside_malloc.h"

enum { ENOUGH = 1000 };

static volatile int g_calls;

static void on_abort(int signal) {
  (void)signal;
  if (g_calls++ == 0) write(STDOUT_FILENO, "handler\n", 8);
  if (g_calls == ENOUGH) _exit(3);
  free(malloc(123456));
}

static void allocate_again(void) { free(malloc(300000)); }

int main(void) {
  signal(SIGABRT, on_abort);
  free(malloc(100));
  inside_install();
  inside_arm(SYS_mmap, allocate_again);
  free(malloc(20u << 20));
  return 4;
}
