/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The address of a block of its own mapping with a tag of the memory tagging extension. */
#include "wrong.h"

int main(void) {
  void *p = (void *)((uintptr_t)new_block(3 << 20) | (uintptr_t)7 << 56);
  announce(p);
  free(hidden(p));
  return 0;
}
