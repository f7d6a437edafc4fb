/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer into the middle of a small block. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100);
  announce(p + 48);
  free(hidden(p + 48));
  provoke_flush(100);
  return 0;
}
