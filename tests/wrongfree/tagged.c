/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The block's address with a tag in the top byte, which AArch64 ignores in loads and stores: it is another pointer. */
#include "wrong.h"

int main(void) {
  void *p = (void *)((uintptr_t)new_block(100) | (uintptr_t)0x5a << 56);
  announce(p);
  free(hidden(p));
  return 0;
}
