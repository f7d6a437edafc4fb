/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The last address there is. */
#include "wrong.h"

int main(void) {
  announce((void *)UINTPTR_MAX);
  free(hidden((void *)UINTPTR_MAX));
  return 0;
}
