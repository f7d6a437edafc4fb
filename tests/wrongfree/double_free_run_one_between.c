/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* At its second free a short run lies in the magazine, below a run freed later. */
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
