/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer to static data. */
#include "wrong.h"

int main(void) {
  static char data[64];
  announce(data);
  free(hidden(data));
  return 0;
}
