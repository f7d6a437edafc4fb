/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer to the stack. */
#include "wrong.h"

int main(void) {
  char local[64] = {0};
  announce(local);
  free(hidden(local));
  return 0;
}
