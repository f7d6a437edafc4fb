/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* between.c SIZE... : allocates blocks of these sizes, in turns, until 96 MiB are asked for, then replaces random
 * blocks, each byte written. Prints the MiB asked for, the size classes that were added, and the usable bytes of a
 * block of the first size. Before the sizes: `grow` replaces no block; with `fork` a child replaces the blocks. */
#include <sys/wait.h>

#include "observe.h"

enum { LIVE_MIB = 96, BLOCKS = 1 << 20 };

static char *g_block[BLOCKS];

static void take(int at, size_t n, int i) { g_block[at] = memset(malloc(n), i, n); }

static void replace_some(const size_t *size, int sizes, int blocks) {
  uint32_t state = 1;
  for (int i = 0; i < blocks; i++) {
    const int at = (int)(work_next(&state) % (uint32_t)blocks);
    free(g_block[at]);
    take(at, size[at % sizes], i);
  }
}

static void fork_and_wait(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) return;
  work_expect(waitpid(child, &status, 0) == child, "waitpid");
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int count, char **arguments) {
  const bool forks = strcmp(arguments[1], "fork") == 0, grows = strcmp(arguments[1], "grow") == 0;
  size_t size[16], bytes = 0;
  int sizes = 0, blocks = 0;
  for (int i = 1 + (forks || grows); i < count && sizes < 16; i++) size[sizes++] = strtoul(arguments[i], NULL, 10);
  for (; blocks < BLOCKS && bytes < LIVE_MIB * MIB; blocks++) {
    take(blocks, size[blocks % sizes], blocks);
    bytes += size[blocks % sizes];
  }
  if (forks) fork_and_wait();
  if (!grows) replace_some(size, sizes, blocks);
  printf("%zu %llu %zu\n", bytes / MIB, (unsigned long long)counter_now("learn_classes"),
         malloc_usable_size(malloc(size[0])));
  return 0;
}
