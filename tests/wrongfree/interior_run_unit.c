/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer to the second unit of a short run. */
#include "wrong.h"

int main(void) {
  open_magazine_of_runs(100000, 1);
  char *p = new_block(100000);
  announce(p + 65536);
  free(hidden(p + 65536));
  return 0;
}
