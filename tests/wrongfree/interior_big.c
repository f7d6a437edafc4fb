/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer into a big block. */
#include "wrong.h"

int main(void) {
  char *p = new_block(3000000);
  announce(p + 65536);
  free(hidden(p + 65536));
  return 0;
}
