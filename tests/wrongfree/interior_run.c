/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer into the first unit of a short run, freed by a thread without a magazine for runs of this length. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100000);
  announce(p + 4096);
  free(hidden(p + 4096));
  return 0;
}
