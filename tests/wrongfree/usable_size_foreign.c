/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* malloc_usable_size of a pointer that is not the allocator's. */
#include "wrong.h"

int main(void) {
  static char data[64];
  announce(data);
  return malloc_usable_size(hidden(data)) == 0;
}
