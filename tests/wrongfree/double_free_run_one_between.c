/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A short run lies in the magazine, below another, when it is freed again. */
#include "wrong.h"

int main(void) {
  open_magazine_of_runs(60000, 2);
  void *p = new_block(60000), *between = new_block(60000);
  announce(p);
  free(p);
  free(between);
  free(hidden(p));
  malloc_trim(0);
  return 0;
}
