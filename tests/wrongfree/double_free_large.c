/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A large block is freed twice. */
#include "wrong.h"

int main(void) {
  void *p = new_block(300000);
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
