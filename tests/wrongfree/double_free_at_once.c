/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A block is freed twice in a row. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100);
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
