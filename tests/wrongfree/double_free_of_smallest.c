/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A block of 0 bytes is freed twice in a row. */
#include "wrong.h"

int main(void) {
  void *p = hidden(malloc(0));
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
