/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* realloc, within the class, of a free block: without checks the block stays in place. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100), *other = new_block(100);
  announce(p);
  free(p);
  free(other);
  void *q = hidden(realloc(hidden(p), 101));
  _exit(q == p ? 0 : 4);
}
