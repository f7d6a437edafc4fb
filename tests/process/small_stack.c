/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* small_stack.c: blocks of all kinds are had and freed on a stack of 4 KiB, as coroutines have, from the process's
 * first block on. */
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "observe.h"

enum { STACK = 4096, BLOCKS = 40, PAIRS = 20 };

static ucontext_t g_own, g_small;
static char *g_block[BLOCKS];

static void take_and_free(size_t bytes) {
  for (int i = 0; i < BLOCKS; i++) g_block[i] = memset(malloc(bytes), i, bytes);
  for (int i = 0; i < BLOCKS; i++) g_block[i] = realloc(g_block[i], 3 * bytes);
  for (int i = 0; i < BLOCKS; i++) free(g_block[i]);
}

static void on_small_stack(void) {
  take_and_free(100);
  take_and_free(40000);
  take_and_free(300000);
  take_and_free(3 * MIB);
  free(aligned_alloc(MIB, MIB));
  free(calloc(1, 5 * MIB));
  malloc_trim(0);
  for (int i = 0; i < PAIRS; i++) free(memset(malloc((size_t)(2 + i) * MIB), i, 2 * MIB));
  work_expect(malloc((size_t)1 << 46) == NULL, "a failure");
  malloc_trim(0);
}

/* Memory below the stack is not writable. */
static char *stack_with_guard(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *p = mmap(NULL, page + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  work_expect(p != MAP_FAILED && mprotect(p, page, PROT_NONE) == 0, "a stack");
  return p + page;
}

int main(void) {
  getcontext(&g_small);
  g_small.uc_stack.ss_sp = stack_with_guard();
  g_small.uc_stack.ss_size = STACK;
  g_small.uc_link = &g_own;
  makecontext(&g_small, on_small_stack, 0);
  work_expect(swapcontext(&g_own, &g_small) == 0, "a context");
  puts("done");
  return 0;
}
