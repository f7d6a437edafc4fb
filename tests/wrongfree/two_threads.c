/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two threads free the same block and end; then the blocks of their magazines are flushed. */
#include "wrong.h"

static void *free_it(void *p) {
  free(p);
  return NULL;
}

int main(void) {
  void *p = new_block(100);
  announce(p);
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, free_it, p);
    pthread_join(thread, NULL);
  }
  malloc_trim(0);
  return 0;
}
