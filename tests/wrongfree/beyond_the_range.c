/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An address near the blocks of the allocator that the allocator never mapped. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100);
  announce(p + ((size_t)1 << 40));
  free(hidden(p + ((size_t)1 << 40)));
  return 0;
}
