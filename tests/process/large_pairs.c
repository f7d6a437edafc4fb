/* large_pairs.c SIZE: pairs of malloc and free after a warm-up, between two getppid calls that strace shows. */
#include "workload.h"

int main(int count, char **arguments) {
  const size_t n = count == 2 ? strtoul(arguments[1], NULL, 10) : 0;
  work_expect(n > 0, "usage: large_pairs SIZE");
  for (int i = 0; i < 2100; i++) {
    if (i == 100) getppid();
    char *p = malloc(n);
    work_expect(p != NULL, "no memory");
    p[0] = p[n - 1] = 1;
    free(p);
  }
  getppid();
  return 0;
}
