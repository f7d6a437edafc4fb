/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A short run is freed twice by a thread whose magazine has the run on top. */
#include "wrong.h"

int main(void) {
  open_magazine_of_runs(100000, 1);
  void *p = new_block(100000);
  announce(p);
  free(p);
  free(hidden(p));
  return 0;
}
