/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* realloc of a block's address with a tag in the top byte. */
#include "wrong.h"

int main(void) {
  void *p = (void *)((uintptr_t)new_block(100) | (uintptr_t)0xff << 56);
  announce(p);
  return realloc(hidden(p), 5000) == NULL;
}
