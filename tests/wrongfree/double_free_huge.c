/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A block too big to be kept is freed twice. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100000000);
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
