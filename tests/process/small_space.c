/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* small_space.c SIZE: under `ulimit -v` (set by process_test.py) allocates blocks of SIZE until malloc fails, sums up
 * the bytes, frees all blocks and repeats. Prints the bytes served each time. */
#include <errno.h>

#include "workload.h"

/* The blocks are linked through their first words: counting must not need memory. */
static size_t take_all(size_t n, void **list) {
  size_t served = 0;
  errno = 0;
  for (void **p = malloc(n); p != NULL; p = malloc(n)) {
    memset(p, 0x5A, n);
    *p = *list;
    *list = p;
    served += n;
  }
  work_expect(errno == ENOMEM, "errno is not ENOMEM");
  return served;
}

static void free_all(void *list) {
  while (list != NULL) {
    void *next = *(void **)list;
    free(list);
    list = next;
  }
}

int main(int count, char **arguments) {
  static char text[100];
  const size_t n = count == 2 ? strtoul(arguments[1], NULL, 10) : 0;
  work_expect(n >= sizeof(void *), "usage: small_space SIZE");
  size_t served[3];
  for (int round = 0; round < 3; round++) {
    void *list = NULL;
    served[round] = take_all(n, &list);
    void *p = malloc(PTRDIFF_MAX);
    work_expect(p == NULL && errno == ENOMEM, "malloc(PTRDIFF_MAX)");
    free_all(list);
  }
  const int length = snprintf(text, sizeof text, "%zu %zu %zu\n", served[0], served[1], served[2]);
  return write(STDOUT_FILENO, text, (size_t)length) == length ? 0 : 1;
}
