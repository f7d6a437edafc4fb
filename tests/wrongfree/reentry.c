/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* malloc is called from a signal handler that interrupted malloc inside the kernel. */
#include "../process/inside_malloc.h"
#include "wrong.h"

static void allocate_again(void) { free(hidden(malloc(400000))); }

int main(void) {
  announce(NULL);
  inside_install();
  inside_arm(SYS_mmap, allocate_again);
  for (int i = 0; i < 1000 && !inside_happened(); i++) new_block(500000);
  return inside_happened() ? 0 : 2;
}
