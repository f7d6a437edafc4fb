/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer into the first unit of a large block. */
#include "wrong.h"

int main(void) {
  char *p = new_block(300000);
  announce(p + 4096);
  free(hidden(p + 4096));
  return 0;
}
