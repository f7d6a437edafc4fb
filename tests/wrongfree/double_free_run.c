/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A short run is freed twice by a thread without a magazine for runs of this length. */
#include "wrong.h"

int main(void) {
  void *p = new_block(100000);
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
