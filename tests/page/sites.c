/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sites.c: a heap of COUNT blocks, each from a stack of its own, in sum BYTES, of which one page in 16 is touched.
 *
 *     sites COUNT BYTES      prints "ready", then waits to be killed
 *
 * The stacks are the paths of a binary tree of 17 calls: 131,072 leaves at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEPTH = 17, TOUCHED = 16 * 4096 };

static char *make(size_t bytes) {
  char *p = malloc(bytes);
  if (p == NULL) exit(1);
  for (size_t at = 0; at < bytes; at += TOUCHED) ((volatile char *)p)[at] = 1;
  return p;
}

/* Two call sites, which the compiler does not join as what follows each differs. */
__attribute__((noinline, noclone)) static char *ask(unsigned path, unsigned depth, size_t bytes) {
  char *p;
  if (depth == 0) return make(bytes);
  if ((path & 1) != 0) {
    p = ask(path >> 1, depth - 1, bytes);
    __asm__ volatile("# odd" : "+r"(p));
  } else {
    p = ask(path >> 1, depth - 1, bytes);
    __asm__ volatile("# even" : "+r"(p));
  }
  return p;
}

int main(int argc, char **argv) {
  unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
  size_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) / (count != 0 ? count : 1) : 0;
  for (unsigned n = 0; n < count; n++) ask(n, DEPTH, bytes);
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
