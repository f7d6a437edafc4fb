/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The thread is handed the block again between two frees, and frees the block once too often. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100);
  void *fence = new_block(100);
  void *more = new_block(100);
  announce(p);
  free(p);
  void *q = new_block(100); /* p, if the class hands out the block freed last or the lowest block */
  free(q);
  free(fence);
  free(hidden(p));
  malloc_trim(0);
  free(more);
  return 0;
}
