/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer 1 byte into a small block. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100);
  announce(p + 1);
  free(hidden(p + 1));
  provoke_flush(100);
  return 0;
}
