/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A block too big for the cache is freed twice. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100000000);
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
