/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Behind the last slot of a slab: the end of the slab's last unit, where the class has no slot. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100);
  char *end = (char *)(((uintptr_t)p | 65535) + 1) - 16;
  announce(end);
  free(hidden(end));
  provoke_flush(100);
  return 0;
}
