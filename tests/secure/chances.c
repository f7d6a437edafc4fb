/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses of blocks after a warm-up: chances BYTES prints the first block's and those of 32 more, in hexadecimal.
 * chances BYTES wait: then waits for the end of its input, with a handler of failed requests set where there is one. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hakmem/experimental.h>

extern __typeof__(hak_set_oom_handler) hak_set_oom_handler __attribute__((weak));

static bool never(size_t n, void *argument) { return n == 0 && argument != NULL; }

int main(int count, char **given) {
  enum { WARM = 200, SHOWN = 32 };
  size_t bytes = count > 1 ? strtoul(given[1], NULL, 10) : 64;
  static void *kept[WARM];
  void *first = malloc(bytes);
  for (int i = 0; i < WARM; i++) kept[i] = malloc(bytes);
  for (int i = 0; i < WARM; i += 3) free(kept[i]);
  printf("%p", first);
  for (int i = 0; i < SHOWN; i++) printf(" %p", malloc(bytes));
  puts("");
  fflush(stdout);
  if (count > 2 && &hak_set_oom_handler != NULL) hak_set_oom_handler(never, NULL);
  char end;
  while (count > 2 && read(0, &end, 1) > 0) {
  }
  return 0;
}
