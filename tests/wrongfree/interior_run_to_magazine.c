/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer into the first unit of a short run, freed by a thread whose magazine accepts runs of this length. */
#include "wrong.h"

int main(void) {
  open_magazine_of_runs(100000, 1);
  char *p = new_block(100000);
  announce(p + 4096);
  free(hidden(p + 4096));
  malloc_trim(0);
  return 0;
}
