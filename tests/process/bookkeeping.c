/* bookkeeping.c HOW: what HAKMEM believes of its memory is true after the kernel, or a fork, came between.
 *   mappings   the kernel gives no more mappings and splits none: big blocks come from runs, what is freed goes, a trim
 *              tells the truth, and a helper does not try for ever
 *   claims     under HAKMEM_HARD_LIMIT=256M: children of forks that cut another thread's mmap have all the room there is
 *   refused    with HAKMEM_LIMITS_FOLDER a folder for it to write into: 64 TiB that are not to be had are no reason to
 *              read limits */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "observe.h"

enum { BIGS = 100, BIG = 2 << 20 };

/* ---- mappings ---- */

static char *g_big[BIGS];

static void take_bigs(size_t bytes, int step) {
  for (int i = 0; i < BIGS; i += step) {
    g_big[i] = malloc(bytes);
    work_expect(g_big[i] != NULL, "no memory for a big block");
    memset(g_big[i], i, bytes);
  }
}

static void free_bigs(int step) {
  for (int i = 0; i < BIGS; i += step) free(g_big[i]);
}

/* Neighbours of other rights are mappings of their own. */
static void use_up_mappings(void) {
  for (int n = 0;; n++) {
    const int rights = n % 2 != 0 ? PROT_READ : PROT_READ | PROT_WRITE;
    if (mmap(NULL, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return;
  }
}

static atomic_int g_ready, g_over;

static void *allocate_and_wait(void *own) {
  free(malloc(100));
  atomic_store(&g_ready, 1);
  while (!atomic_load(&g_over)) rest_ms(1);
  return own;
}

static void mappings(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocate_and_wait, NULL);
  while (!atomic_load(&g_ready)) rest_ms(1);
  take_bigs(BIG, 1);
  use_up_mappings();
  const size_t before = anonymous_bytes();
  free_bigs(2); /* every other one: each would be a mapping more between two that stay */
  malloc_trim(0);
  work_expect(anonymous_bytes() < before - 80 * MIB, "pages of mappings that may not be split did not go");
  for (int i = 0; i < 3; i++) work_expect(malloc_trim(0) == 0, "a trim says that memory went, and none did");
  free_much();
  work_expect(comes_true(no_helper), "the helper thread goes on for ever");
  take_bigs(BIG + 12345, 2);
  for (int i = 1; i < BIGS; i += 2) work_expect(g_big[i][BIG / 2] == i, "a block lost a byte");
  free_bigs(1);
  atomic_store(&g_over, 1);
  pthread_join(thread, NULL);
}

/* ---- claims ---- */

enum { CHILDREN = 1500, LIMIT_MIB = 256, WORKER_MIB = 100, SPARE_MIB = 4 };

static void *map_and_unmap(void *own) {
  while (!atomic_load(&g_over)) free(malloc(WORKER_MIB * MIB));
  return own;
}

/* The room that is left is to be had: whatever is live, kept or HAKMEM's own counts; nothing else does. */
static int child_has_its_room(void) {
  struct hak_stats stats = {.version = HAK_STATS_VERSION, .size = sizeof stats};
  free(malloc(100));
  work_expect(hak_get_stats(&stats) == 0, "hak_get_stats");
  const size_t room = LIMIT_MIB * MIB - stats.mapped - SPARE_MIB * MIB;
  return malloc(room) != NULL;
}

static void claims(void) {
  pthread_t thread;
  int refused = 0;
  pthread_create(&thread, NULL, map_and_unmap, NULL);
  for (int n = 0; n < CHILDREN; n++) {
    const pid_t child = fork();
    work_expect(child >= 0, "fork");
    if (child == 0) _exit(child_has_its_room() ? 0 : 7);
    int status = 1;
    work_expect(waitpid(child, &status, 0) == child, "waitpid");
    work_expect(status == 0 || WEXITSTATUS(status) == 7, "a child died");
    refused += status != 0;
  }
  atomic_store(&g_over, 1);
  pthread_join(thread, NULL);
  if (refused != 0) dprintf(STDERR_FILENO, "%d of %d children had less room\n", refused, CHILDREN);
  work_expect(refused == 0, "a child believes what another thread claimed before the fork");
}

/* ---- refused ---- */

static void write_limit(const char *text) {
  char path[512];
  snprintf(path, sizeof path, "%s/memory.max", getenv("HAKMEM_LIMITS_FOLDER"));
  FILE *file = fopen(path, "w");
  work_expect(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "write a limit");
}

static void refused(void) {
  take_bigs(BIG, 1);
  write_limit("this is read by whoever looks at limits\n");
  for (int i = 0; i < 10; i++) {
    work_expect(malloc((size_t)1 << 46) == NULL && errno == ENOMEM, "64 TiB");
    free(malloc(3 * MIB));
  }
  free_bigs(1);
}

int main(int count, char **arguments) {
  const char *how = count == 2 ? arguments[1] : "";
  if (strcmp(how, "mappings") == 0) mappings();
  else if (strcmp(how, "claims") == 0) claims();
  else if (strcmp(how, "refused") == 0) refused();
  else work_failed("usage: bookkeeping mappings|claims|refused");
  puts("done");
  return 0;
}
