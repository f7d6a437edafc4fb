/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fork_in_malloc.c: fork from a signal handler that interrupted malloc or free inside the kernel.
 *
 * what      For every kernel call of the allocator: the handler forks there and returns, in parent and child; then the
 *           interrupted call completes and later calls work. "waiting": a second thread is stopped inside such a call
 *           and holds a lock; the handler forks while the first thread waits for the lock; in the child no thread will
 *           ever drop the lock, and the child must not wait.
 * owner     Blocks belong to the thread that took them.
 * failure   A child that hangs is ended by an alarm; a kernel call that did not happen is an error too.
 * not here  The same at a random moment (fork_from_signal.c).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "inside_malloc.h"
#include "workload.h"

enum { HELD = 4000 };

static volatile pid_t g_child;
static __thread void *g_held[HELD];

static void fork_here(void) {
  g_child = fork();
  if (g_child == 0) alarm(60);
}

static void fork_here_bare(void) {
  g_child = _Fork();
  if (g_child == 0) alarm(60);
}

/* Grows the range; maps big blocks. */
static void map_something(void) {
  for (int i = 0; i < 400 && !inside_happened(); i++) g_held[i] = malloc(i % 2 == 0 ? 500000 : 40);
  for (int i = 0; i < 400; i++) free(g_held[i]);
  memset(g_held, 0, sizeof g_held);
}

static void map_big(void) {
  malloc_trim(0); /* the block of the last round may be cached */
  free(malloc(200u << 20));
}

static void unmap_something(void) {
  void *p = malloc(200u << 20);
  free(p);
  malloc_trim(0); /* a part of the block may be cached */
}

static void advise_something(void) {
  for (int i = 0; i < HELD; i++) g_held[i] = memset(malloc(1000), 1, 1000);
  for (int i = 0; i < HELD; i++) free(g_held[i]);
  malloc_trim(0);
  memset(g_held, 0, sizeof g_held);
}

static void remap_something(void) {
  malloc_trim(0); /* a block cached in the last round would lie behind the new block */
  char *p = malloc(8u << 20);
  memset(p, 5, 8u << 20);
  for (size_t n = 16u << 20; n <= 512u << 20; n *= 2) p = realloc(p, n);
  for (size_t at = 0; at < 8u << 20; at += 4096) work_expect(p[at] == 5, "mremap lost a byte");
  free(p);
}

static const struct {
  const char *name;
  long call;
  void (*provoke)(void);
} g_cases[] = {{"mmap, range", SYS_mmap, map_something},
               {"mmap, big", SYS_mmap, map_big},
               {"munmap", SYS_munmap, unmap_something},
               {"madvise", SYS_madvise, advise_something},
               {"mremap", SYS_mremap, remap_something}};

static void finish_child(void) {
  for (uint32_t seed = 0; seed < 10; seed++) work(seed);
  malloc_trim(0);
  const pid_t grandchild = fork();
  work(1);
  if (grandchild == 0) exit(0);
  int status = 1;
  work_expect(waitpid(grandchild, &status, 0) == grandchild && status == 0, "the grandchild failed");
  exit(0);
}

static void reap(const char *what) {
  int status = 1;
  work_expect(waitpid(g_child, &status, 0) == g_child, "no child");
  if (status != 0) dprintf(STDERR_FILENO, "%s: child's status %#x\n", what, (unsigned)status);
  work_expect(status == 0, "a child failed");
}

static void run_case(size_t i, void (*fork_there)(void)) {
  inside_arm(g_cases[i].call, fork_there);
  g_cases[i].provoke();
  if (!inside_happened()) printf("no %s came\n", g_cases[i].name);
  work_expect(inside_happened(), "the kernel call waited for never came");
  if (g_child == 0) finish_child();
  work(5);
  reap(g_cases[i].name);
}

static void in_kernel_calls(void) {
  for (size_t i = 0; i < sizeof g_cases / sizeof g_cases[0]; i++) {
    run_case(i, fork_here);
    run_case(i, fork_here_bare);
  }
}

/* ---- waiting ---- */

static atomic_int g_stopped, g_go_on, g_done;

static void stop_here(void) {
  atomic_store(&g_stopped, 1);
  while (!atomic_load(&g_go_on)) usleep(1000);
}

/* Never ends: a thread ends with all signals blocked, so that no handler could serve the trapped system calls. */
static void *stop_inside(void *number) {
  const size_t i = (size_t)number;
  inside_arm(g_cases[i].call, stop_here);
  g_cases[i].provoke();
  work_expect(inside_happened(), g_cases[i].name);
  atomic_store(&g_done, 1);
  while (pause() != 0) continue;
  return NULL;
}

static void fork_and_let_go(void) {
  fork_here();
  if (g_child != 0) atomic_store(&g_go_on, 1);
}

static void fork_bare_and_let_go(void) {
  fork_here_bare();
  if (g_child != 0) atomic_store(&g_go_on, 1);
}

/* Takes the slow path of every block layer, under its lock. */
static void open_every_path(void) {
  void *big = malloc(2u << 20);
  void *large = malloc(300000);
  for (int i = 0; i < 400; i++) g_held[i] = malloc(1000);
  for (int i = 0; i < 400; i++) free(g_held[i]);
  free(large);
  free(big);
}

/* True if this thread had to wait for the stopped thread. */
static int wait_for_stopped(size_t i, void (*fork_there)(void)) {
  pthread_t thread;
  atomic_store(&g_stopped, 0);
  atomic_store(&g_go_on, 0);
  atomic_store(&g_done, 0);
  pthread_create(&thread, NULL, stop_inside, (void *)i);
  while (!atomic_load(&g_stopped)) usleep(1000);
  inside_arm(SYS_futex, fork_there);
  open_every_path();
  const int waited = inside_happened();
  inside_disarm();
  if (waited && g_child == 0) finish_child();
  atomic_store(&g_go_on, 1);
  while (!atomic_load(&g_done)) usleep(1000);
  if (waited) reap(g_cases[i].name);
  return waited;
}

static void while_waiting(void) {
  int waits = 0;
  for (size_t i = 0; i < sizeof g_cases / sizeof g_cases[0]; i++)
    waits += wait_for_stopped(i, fork_and_let_go) + wait_for_stopped(i, fork_bare_and_let_go);
  work_expect(waits > 0, "nothing had to wait: this shows nothing");
}

int main(int count, char **arguments) {
  setvbuf(stdout, NULL, _IONBF, 0);
  work(1);
  inside_install();
  if (count == 2 && strcmp(arguments[1], "waiting") == 0) while_waiting();
  else in_kernel_calls();
  puts("done");
  return 0;
}
