/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A pointer to a function. */
#include "wrong.h"

int main(void) {
  announce((void *)(uintptr_t)main);
  free(hidden((void *)(uintptr_t)main));
  return 0;
}
