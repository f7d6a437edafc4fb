/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Another free lies between the two: both pass, the flush sees it. */
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
