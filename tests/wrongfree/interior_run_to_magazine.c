/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The same by a thread whose magazine takes it. */
#include "wrong.h"

int main(void) {
  open_magazine_of_runs(100000, 1);
  char *p = new_block(100000);
  announce(p + 4096);
  free(hidden(p + 4096));
  malloc_trim(0);
  return 0;
}
