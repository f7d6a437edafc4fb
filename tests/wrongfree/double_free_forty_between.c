/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* 40 frees of the class lie between the two frees of a block. */
#include "wrong.h"

int main(void) {
  void *other[40];
  void *p = new_block(100);
  for (int i = 0; i < 40; i++) other[i] = new_block(100);
  announce(p);
  free(p);
  for (int i = 0; i < 40; i++) free(other[i]);
  free(hidden(p));
  malloc_trim(0);
  return 0;
}
