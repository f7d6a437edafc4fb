/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* free(p + 4), then a block of the class: without checks p + 4 is handed out. Status 0 reports the hand-out. */
#include "wrong.h"

int main(void) {
  char *p = new_block(100);
  announce(p + 4);
  free(hidden(p + 4));
  _exit(hidden(malloc(100)) == p + 4 ? 0 : 4);
}
