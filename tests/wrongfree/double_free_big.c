/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A big block is freed twice. */
#include "wrong.h"

int main(void) {
  void *p = new_block(3000000);
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
