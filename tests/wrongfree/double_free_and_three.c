/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* free(a), free(b), free(a), then blocks of the class: without checks one block is handed out twice. Status 0 reports
 * the double hand-out. */
#include "wrong.h"

int main(void) {
  void *a = new_block(100), *b = new_block(100);
  announce(a);
  free(a);
  free(b);
  free(hidden(a));
  void *x = hidden(malloc(100)), *y = hidden(malloc(100)), *z = hidden(malloc(100));
  _exit(x == z || x == y || y == z ? 0 : 4);
}
