/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer into the middle of a small block, in a program with two threads: the flush with the pointer goes to the
 * depot, and no block goes back to the slabs afterwards. */
#include "wrong.h"

enum { HELD = 10000, FREED = 8000 };

static pthread_barrier_t started;

static void *second_thread(void *nothing) {
  free(new_block(100));
  pthread_barrier_wait(&started);
  pause();
  return nothing;
}

int main(void) {
  static void *held[HELD];
  pthread_t thread;
  pthread_barrier_init(&started, NULL, 2);
  pthread_create(&thread, NULL, second_thread, NULL);
  pthread_barrier_wait(&started);
  for (int i = 0; i < HELD; i++) held[i] = new_block(100);
  char *p = held[0];
  announce(p + 48);
  free(hidden(p + 48));
  for (int i = 1; i <= FREED; i++) free(held[i]);
  _exit(0);
}
