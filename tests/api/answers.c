/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* answers.c: prints the answers of mallopt and of failing functions, for same_as_glibc.sh to compare.
 *
 *     answers mallopt | failures
 *
 * what      mallopt: a line per parameter but M_PERTURB with the answer to each value. failures: result and errno of
 *           every function for sizes and alignments that cannot be served.
 * owner     Nothing is kept.
 * failure   Exit status 2 for wrong arguments.
 * not here  aligned_alloc with an alignment that is no power of two: glibc refuses from 2.38 on, HAKMEM always.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static char output[1 << 16]; /* printing takes no block */

/* Parameters and values around every name of glibc, and the ends. glibc fills blocks on request, HAKMEM answers that it
 * does not: introspection_test.cpp. */
static void print_mallopt(int parameter) {
  static const int values[] = {INT_MIN, -65536, -2,  -1,  0,   1,    2,     8,          24,            32,
                               64,      79,     80,  81,  128, 159,  160,   161,        200,           256,
                               1024,    4096,   65536, 1 << 20, (1 << 25) - 1, 1 << 25, (1 << 25) + 1, 1 << 30, INT_MAX};
  if (parameter == M_PERTURB) return;
  printf("mallopt %d:", parameter);
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) printf(" %d", mallopt(parameter, values[i]));
  putchar('\n');
}

static void print_mallopts(void) {
  print_mallopt(INT_MIN);
  for (int parameter = -70; parameter <= 70; parameter++) print_mallopt(parameter);
  print_mallopt(INT_MAX);
}

static void print_answer(const char *function, size_t align, size_t n, int result, int error) {
  printf("%s align %zu size %zu: result %d, errno %d\n", function, align, n, result, error);
}

#define PRINT(function, align, n, call)                                        \
  do {                                                                         \
    errno = 77;                                                                \
    void *answer = call;                                                       \
    print_answer(function, align, n, answer != NULL, answer != NULL ? 0 : errno); \
  } while (0)

static void print_plain(size_t n) {
  PRINT("malloc", 0, n, malloc(n));
  PRINT("calloc", 0, n, calloc(n, 1));
  PRINT("calloc", 0, n, calloc(n, 16));
  PRINT("realloc", 0, n, realloc(NULL, n));
  PRINT("reallocarray", 0, n, reallocarray(NULL, n, 16));
  PRINT("valloc", 0, n, valloc(n));
  PRINT("pvalloc", 0, n, pvalloc(n));
}

static void print_aligned(size_t align, size_t n) {
  void *out = NULL;
  errno = 77;
  int result = posix_memalign(&out, align, n);
  print_answer("posix_memalign", align, n, result, errno);
  PRINT("memalign", align, n, memalign(align, n));
  if ((align & (align - 1)) == 0) PRINT("aligned_alloc", align, n, aligned_alloc(align, n));
}

/* The address space ends soon, so that sizes of a few MiB fail, too. */
static void print_failures(void) {
  static const size_t sizes[] = {(size_t)1 << 29, (size_t)1 << 40,  PTRDIFF_MAX - 65536, PTRDIFF_MAX,
                                 (size_t)PTRDIFF_MAX + 1, SIZE_MAX - 4096, SIZE_MAX - 1, SIZE_MAX};
  static const size_t aligns[] = {8, 16, 64, 4096, (size_t)1 << 20, (size_t)1 << 62, (size_t)1 << 63};
  static const size_t wrong[] = {1, 2, 3, 4, 24, 100};
  const struct rlimit limit = {(size_t)256 << 20, (size_t)256 << 20};
  setrlimit(RLIMIT_AS, &limit);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    print_plain(sizes[i]);
    for (size_t k = 0; k < sizeof aligns / sizeof aligns[0]; k++) print_aligned(aligns[k], sizes[i]);
  }
  for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) print_aligned(wrong[k], 100);
  const volatile size_t most = SIZE_MAX;
  PRINT("memalign", most, 100, memalign(most, 100));
}

int main(int count, char **arguments) {
  setvbuf(stdout, output, _IOFBF, sizeof output);
  if (count == 2 && strcmp(arguments[1], "mallopt") == 0) print_mallopts();
  else if (count == 2 && strcmp(arguments[1], "failures") == 0) print_failures();
  else return 2;
  return 0;
}
