/* locked.c: the kernel takes no page back, as mlockall locks them all: madvise(MADV_DONTNEED) says EINVAL. The program
 * goes on: blocks keep their bytes, calloc's are zero, a trim says no, and nothing is lost. With an argument it has a
 * second thread, and so a helper. */
#include <pthread.h>
#include <sys/mman.h>

#include "observe.h"

enum { BLOCKS = 30000, ROUNDS = 6 };

struct block {
  unsigned char *p;
  size_t n;
};

static struct block g_block[BLOCKS];

static void expect_zero(const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) work_expect(p[i] == 0, "calloc's memory is not zero");
}

static void take(struct block *block, uint32_t *state) {
  const uint32_t dice = work_next(state) % 1000;
  block->n = 1 + work_next(state) % (dice == 0 ? 400000 : dice < 20 ? 30000 : 600);
  const int zero = work_next(state) % 4 == 0;
  block->p = zero ? calloc(1, block->n) : malloc(block->n);
  work_expect(block->p != NULL, "no memory");
  if (zero) expect_zero(block->p, block->n);
  memset(block->p, (int)(block->n % 251), block->n);
}

static void give(struct block *block) {
  for (size_t i = 0; i < block->n; i++) work_expect(block->p[i] == block->n % 251, "a block lost a byte");
  free(block->p);
  block->p = NULL;
}

/* Takes what is not there, frees most of it again. */
static void do_round(uint32_t *state) {
  for (size_t i = 0; i < BLOCKS; i++) {
    if (g_block[i].p == NULL) take(&g_block[i], state);
  }
  for (size_t i = 0; i < BLOCKS; i++) {
    if (work_next(state) % 10 != 0) give(&g_block[i]);
  }
}

static bool kernel_refuses(void) {
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page != MAP_FAILED && madvise(page, 4096, MADV_DONTNEED) != 0;
}

static void *wait_for_ever(void *unused) {
  for (;;) rest_ms(PATIENCE_MS);
  return unused;
}

static void get_helper(void) {
  pthread_t thread;
  work_expect(pthread_create(&thread, NULL, wait_for_ever, NULL) == 0, "pthread_create");
  work_expect(comes_true(one_helper), "no helper thread");
}

int main(int count, char **arguments) {
  uint32_t state = 3;
  (void)arguments;
  if (count > 1) get_helper();
  work_expect(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall");
  work_expect(kernel_refuses(), "the kernel takes locked pages back");
  size_t peak = 0, base = anonymous_bytes();
  for (int round = 0; round < ROUNDS; round++) {
    do_round(&state);
    malloc_trim(0);
    const size_t resident = anonymous_bytes() - base;
    work_expect(round < 2 || resident <= peak + peak / 8, "memory is lost where the kernel takes none back");
    if (resident > peak) peak = resident;
  }
  work_expect(munlockall() == 0, "munlockall");
  for (size_t i = 0; i < BLOCKS; i++) {
    if (g_block[i].p != NULL) give(&g_block[i]);
  }
  work_expect(malloc_trim(0) == 1, "memory that is not locked any more did not go");
  const size_t left = anonymous_bytes() - base;
  printf("%zu MiB, and %zu MiB when it may go\n", peak / MIB, left / MIB);
  work_expect(left < peak / 4, "memory that is not locked any more stays");
  return 0;
}
