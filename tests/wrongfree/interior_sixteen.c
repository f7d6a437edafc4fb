/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer 16 bytes into a small block: aligned as every block. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100);
  announce(p + 16);
  free(hidden(p + 16));
  provoke_flush(100);
  return 0;
}
