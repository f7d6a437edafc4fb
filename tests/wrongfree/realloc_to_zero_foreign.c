/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* realloc to 0 bytes of a pointer that is not the allocator's. */
#include "wrong.h"

int main(void) {
  static char data[64];
  announce(data);
  void *p = realloc(hidden(data), 0);
  free(p);
  return 0;
}
