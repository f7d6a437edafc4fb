/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An address that was mapped once and is unmapped. */
#include "wrong.h"

int main(void) {
  void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(p, 65536);
  announce(p);
  free(hidden(p));
  return 0;
}
