/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* exits_in_malloc.c: a signal handler calls exit, mostly while the program is inside malloc or free of large blocks. */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

enum { SLOTS = 64, LEAST_BYTES = 3000000, AFTER_US = 5000, STATUS = 7 };

static void end(int number) {
  (void)number;
  exit(STATUS);
}

int main(void) {
  static void *slot[SLOTS];
  const struct itimerval timer = {.it_value = {.tv_usec = AFTER_US}};
  signal(SIGALRM, end);
  setitimer(ITIMER_REAL, &timer, NULL);
  for (unsigned random = 1;; random = random * 1103515245 + 12345) {
    const unsigned i = random >> 20 & (SLOTS - 1);
    free(slot[i]);
    slot[i] = malloc(LEAST_BYTES + (random >> 8) % LEAST_BYTES);
  }
}
