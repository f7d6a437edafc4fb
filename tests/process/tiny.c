/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tiny.c: as little as a process can do. "nothing": ends. "once": one block. "several": a hundred blocks of a hundred
 * sizes, a third of them freed. */
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 100, STEP = 37, SIZES = 1000 };

static void take(size_t n, int keep) {
  char *volatile p = malloc(n);
  memset(p, 1, n);
  if (!keep) free(p);
}

int main(int count, char **arguments) {
  const char *how = count > 1 ? arguments[1] : "nothing";
  if (strcmp(how, "once") == 0) take(100, 1);
  for (size_t i = 0; i < BLOCKS && strcmp(how, "several") == 0; i++) take(16 + i * STEP % SIZES, i % 3 != 0);
  return 0;
}
