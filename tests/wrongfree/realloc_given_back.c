/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* realloc of a large block that was freed. */
#include "wrong.h"

int main(void) {
  void *p = new_block(300000);
  announce(p);
  free(p);
  p = realloc(hidden(p), 400000);
  free(p);
  return 0;
}
