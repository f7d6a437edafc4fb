/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* locked.c: the kernel takes no page back, as mlockall locks every page: madvise(MADV_DONTNEED) fails with EINVAL. The
 * program goes on: blocks keep their bytes, calloc's memory is zero, a trim returns 0, and no memory is lost. With an
 * argument the program has a second thread, and so a background thread. */
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

/* Allocates the missing blocks, frees most again. */
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

static int g_ready;

static void *wait_for_ever(void *unused) {
  free(malloc(100));
  __atomic_store_n(&g_ready, 1, __ATOMIC_RELEASE);
  for (;;) rest_ms(PATIENCE_MS);
  return unused;
}

static void get_helper(void) {
  pthread_t thread;
  pthread_attr_t small; /* mlockall fetches every page of a stack */
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 512 << 10);
  work_expect(pthread_create(&thread, &small, wait_for_ever, NULL) == 0, "pthread_create");
  while (!__atomic_load_n(&g_ready, __ATOMIC_ACQUIRE)) rest_ms(1);
  free_much();
  work_expect(comes_true(one_helper), "no helper thread");
}

/* After a refusal neither the frees nor the background thread repeat the kernel call for a second, however busy the
 * machine is. */
static void expect_few_questions(void) {
  enum { FREES = 20000, FEW = 500 };
  const uint64_t before = counter_now("kernel_advise"), begin_ms = now_ms();
  for (int i = 0; i < FREES; i++) free(memset(malloc(150000), 1, 150000));
  rest_ms(500);
  const uint64_t asked = counter_now("kernel_advise") - before;
  const uint64_t seconds = (now_ms() - begin_ms) / 1000;
  printf("%d frees of locked pages: the kernel was asked %llu times in %llu s\n", FREES, (unsigned long long)asked,
         (unsigned long long)seconds);
  work_expect(asked <= FEW * (1 + seconds), "the kernel is asked for locked pages again and again");
}

/* The background thread may hold some runs that the kernel refused to take back: a later trim finds these runs. Memory
 * that was mapped and unused at mlockall may be gone as well. */
static size_t g_goal;

static bool is_small(void) {
  malloc_trim(0);
  return anonymous_bytes() < g_goal;
}

int main(int count, char **arguments) {
  uint32_t state = 3;
  (void)arguments;
  const size_t base = anonymous_bytes();
  if (count > 1) get_helper();
  for (int round = 0; round < 2; round++) do_round(&state); /* later growth of the range is locked, used or not */
  work_expect(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall");
  work_expect(kernel_refuses(), "the kernel takes locked pages back");
  size_t first = 0;
  for (int round = 0; round < ROUNDS; round++) {
    do_round(&state);
    malloc_trim(0);
    const size_t resident = anonymous_bytes() - base;
    if (round == 0) first = resident;
    work_expect(resident <= 2 * first, "memory is lost where the kernel takes none back");
  }
  expect_few_questions();
  work_expect(munlockall() == 0, "munlockall");
  for (size_t i = 0; i < BLOCKS; i++) {
    if (g_block[i].p != NULL) give(&g_block[i]);
  }
  g_goal = base + first / 4;
  work_expect(comes_true(is_small), "memory that is not locked any more stays");
  printf("%zu MiB, and %zu MiB when it may go\n", (base + first) / MIB, anonymous_bytes() / MIB);
  return 0;
}
