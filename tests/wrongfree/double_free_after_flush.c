/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* At the second free the block is back in its slab (which a neighbour keeps open), in no magazine: the block's bit is
 * already set. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100);
  void *neighbour = new_block(100);
  announce(p);
  free(p);
  malloc_trim(0);
  free(hidden(p));
  malloc_trim(0);
  free(neighbour);
  return 0;
}
