/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* aligned_big.c: alignment with the setting big_threshold at its minimum, so that the longest short runs are big. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>

enum { LONGEST = 256 << 10, UNIT = 64 << 10, BLOCKS = 4 };

int main(void) {
  for (size_t align = 16; align <= UNIT; align *= 2) {
    for (int i = 0; i < BLOCKS; i++) { /* blocks are held: the kernel may happen to align a single block */
      void *p = memalign(align, LONGEST);
      if (p != NULL && (uintptr_t)p % align == 0) continue;
      fprintf(stderr, "memalign(%zu, %d) = %p\n", align, LONGEST, p);
      return 1;
    }
  }
  return 0;
}
