/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer to a later unit of a large block. */
#include "wrong.h"

int main(void) {
  char *p = new_block(300000);
  announce(p + 131072);
  free(hidden(p + 131072));
  return 0;
}
