/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* All blocks of a slab were freed and the slab was released before the second free. */
#include "wrong.h"

int main(void) {
  void *p = new_block(1000);
  announce(p);
  free(p);
  provoke_flush(1000);
  malloc_trim(0);
  free(hidden(p));
  return 0;
}
