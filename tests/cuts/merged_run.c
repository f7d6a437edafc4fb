/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* merged_run.c: a large block is freed twice after it became a part of the free run before it.
 *
 * what      a and b lie side by side. Freeing a, then b, leaves one run that begins at a, with b's old record inside.
 * failure   Exit status 0 when the second free went unnoticed, 2 when the blocks did not lie side by side.
 * not here  Other wrong frees (tests/wrongfree).
 */
#include "../wrongfree/wrong.h"

enum { BYTES = 100000, MOST_GAP = 200000 };

int main(void) {
  char *a = new_block(BYTES), *b = new_block(BYTES), *end = new_block(BYTES);
  if (b < a || b - a > MOST_GAP || end < b) return 2;
  free(a);
  free(b);
  puts("freed");
  fflush(stdout);
  free(hidden(b));
  return 0;
}
