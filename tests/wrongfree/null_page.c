/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An address in the page of NULL. */
#include "wrong.h"

int main(void) {
  announce((void *)16);
  free(hidden((void *)16));
  return 0;
}
