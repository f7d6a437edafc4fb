/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The second free is a call of free_sized. */
#include "wrong.h"

int main(void) {
  extern void free_sized(void *, size_t) __attribute__((weak));
  void *p = new_block(100);
  announce(p);
  free(p);
  if (free_sized != NULL) free_sized(hidden(p), 100);
  return 0;
}
