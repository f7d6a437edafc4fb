/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* 20,000 frees of the class lie between the two frees of a block. */
#include "wrong.h"

int main(void) {
  enum { BETWEEN = 20000 };
  static void *held[BETWEEN];
  void *p = new_block(100);
  new_block(100); /* stays, and keeps the slab open */
  for (int i = 0; i < BETWEEN; i++) held[i] = new_block(100);
  announce(p);
  free(p);
  for (int i = 0; i < BETWEEN; i++) free(held[i]);
  free(hidden(p));
  provoke_flush(100);
  return 0;
}
