/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* One free lies between the two frees of a block: both pass, the flush detects the second. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100);
  void *other = new_block(100);
  announce(p);
  free(p);
  free(other);
  free(hidden(p));
  provoke_flush(100);
  return 0;
}
