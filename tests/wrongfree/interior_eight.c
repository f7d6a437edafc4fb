/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer 8 bytes into a small block: 8 is no multiple of any class. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100);
  announce(p + 8);
  free(hidden(p + 8));
  provoke_flush(100);
  return 0;
}
