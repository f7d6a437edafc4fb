/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* neighbour.c: the library that plugin.c opens. */
#include <stdlib.h>

int neighbour_answer(void) {
  int *answer = malloc(sizeof *answer);
  *answer = 42;
  int copy = *answer;
  free(answer);
  return copy;
}
