/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* threads.c HOW: threads that live briefly, on small stacks as those of musl (128 KiB), fork and end.
 *
 *   flood   3,000 threads are born, allocate and die, 30 at a time: their memory serves the next, and goes back when asked
 *   stack   how much of its stack a thread uses that calls malloc, free and realloc: painted before, looked at after
 *   fork    threads allocate while another forks a hundred times; each child allocates, starts a thread and ends
 *   grow    a big block grows in steps, and moves
 *   keys    the destructors of 100 keys free and allocate, before and after HAKMEM's own destructor of the thread
 *
 * Prints "done", or what was expected.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

int malloc_trim(size_t pad) __attribute__((weak)); /* HAKMEM's; not one of musl's names */

static void expect(int is_so, const char *what) {
  if (is_so) return;
  printf("expected: %s\n", what);
  exit(1);
}

/* Blocks of all kinds: slabs, runs, pages, a mapping; freed out of order. */
static void *allocate(void *seed) {
  enum { SLOTS = 200 };
  void *slot[SLOTS] = {0};
  uint32_t x = (uint32_t)(uintptr_t)seed * 2654435761u + 1;
  for (int n = 0; n < 1000; n++) {
    x = x * 1664525 + 1013904223;
    void **at = &slot[(x >> 8) % SLOTS];
    size_t bytes = (x >> 16) % 64 == 0 ? 200000 : (x >> 16) % 2000;
    *at = (x >> 4) % 3 ? realloc(*at, bytes + 1) : (free(*at), malloc(bytes + 1));
    memset(*at, (int)n, bytes + 1);
  }
  for (int n = 0; n < SLOTS; n++) free(slot[n]);
  return NULL;
}

/* [bytes] Anonymous memory that is resident. Not text, which faults bring in as it is run: 1.7 MiB of libc's, the loader's
 * and HAKMEM's; nor statm's sum, which lacks up to 64 pages of each thread. */
static long resident(void) {
  char line[200];
  long kib = -1;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL) sscanf(line, "Anonymous: %ld", &kib);
  expect(kib >= 0, "smaps_rollup");
  fclose(file);
  return kib << 10;
}

static void start_and_join(int threads) {
  pthread_t thread[threads];
  for (long n = 0; n < threads; n++) expect(pthread_create(&thread[n], NULL, allocate, (void *)n) == 0, "a thread");
  for (int n = 0; n < threads; n++) pthread_join(thread[n], NULL);
}

static void flood(void) {
  enum { AT_ONCE = 30, ROUNDS = 100, EARLY = 20, MAY_GROW = 16 * MIB, MAY_STAY = 2 * MIB };
  long first = resident(), early = 0;
  for (int n = 0; n < ROUNDS; n++) {
    start_and_join(AT_ONCE);
    if (n == EARLY) early = resident();
  }
  long last = resident(); /* what the next threads of a loop may need stays */
  malloc_trim(0);
  long trimmed = resident();
  printf("%ld KiB first, %ld early, %ld last, %ld trimmed: ", first >> 10, early >> 10, last >> 10, trimmed >> 10);
  expect(last < early + MAY_GROW + 256 * sysconf(_SC_PAGESIZE), "no more after 3,000 threads than after 600");
  expect(trimmed < first + MAY_STAY, "what 3,000 threads held has gone");
}

/* ---- stack ---- */

static void *touch_allocator(void *unused) {
  void *p[300];
  for (int round = 0; round < 20; round++) {
    for (int n = 0; n < 300; n++) p[n] = malloc((size_t)(n * n * 7 + 1));
    for (int n = 0; n < 300; n++) p[n] = realloc(p[n], (size_t)(n * n * 9 + 1));
    for (int n = 0; n < 300; n++) free(p[n]);
  }
  return unused;
}

static void *touch_nothing(void *unused) {
  void *p[300];
  for (int n = 0; n < 300; n++) p[n] = unused;
  __asm__ volatile("" : : "r"(p) : "memory");
  return unused;
}

/* Bytes of a painted stack that a thread wrote to. */
static long stack_used(void *(*run)(void *)) {
  enum { STACK = 128 << 10, PAINT = 0x5a };
  unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(stack, PAINT, STACK);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  expect(pthread_attr_setstack(&attributes, stack, STACK) == 0, "a stack of 128 KiB");
  expect(pthread_create(&thread, &attributes, run, NULL) == 0, "a thread");
  pthread_join(thread, NULL);
  long untouched = 0;
  while (untouched < STACK && stack[untouched] == PAINT) untouched++;
  munmap(stack, STACK);
  return STACK - untouched;
}

static void stack(void) {
  enum { MOST = 2048 }; /* 1.5 KiB, and the frames of the exit hook's callers */
  long used = stack_used(touch_allocator) - stack_used(touch_nothing);
  if (used > MOST) printf("the allocator used %ld bytes of stack\n", used);
  expect(used <= MOST, "at most 2 KiB");
}

/* ---- fork ---- */

static atomic_bool g_stop;

static void *allocate_on(void *seed) {
  while (!g_stop) allocate(seed);
  return NULL;
}

static void live_as_child(void) {
  alarm(60);
  allocate((void *)1);
  start_and_join(2);
  _exit(7);
}

static void fork_often(void) {
  enum { THREADS = 3, FORKS = 100 };
  pthread_t thread[THREADS];
  for (long n = 0; n < THREADS; n++) pthread_create(&thread[n], NULL, allocate_on, (void *)n);
  for (int n = 0; n < FORKS; n++) {
    int status = 0;
    pid_t child = fork();
    if (child == 0) live_as_child();
    expect(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "a child that ends");
  }
  g_stop = 1;
  for (int n = 0; n < THREADS; n++) pthread_join(thread[n], NULL);
}

/* ---- keys ---- */

enum { KEYS = 100 };
static pthread_key_t g_key[KEYS];
static atomic_int g_destroyed;

static void destroy(void *block) {
  free(block);
  void *p = malloc(300);
  free(p);
  g_destroyed++;
}

static void *use_keys(void *unused) {
  for (int n = 0; n < KEYS; n++) pthread_setspecific(g_key[n], malloc((size_t)(n * 50)));
  return unused;
}

static void keys(void) {
  enum { THREADS = 100 };
  pthread_t thread;
  for (int n = 0; n < KEYS; n++) expect(pthread_key_create(&g_key[n], destroy) == 0, "a key");
  for (int n = 0; n < THREADS; n++) {
    pthread_create(&thread, NULL, use_keys, NULL);
    pthread_join(thread, NULL);
  }
  expect(g_destroyed == KEYS * THREADS, "each destructor once");
}

/* ---- grow ---- */

static void grow(void) {
  enum { STEPS = 60 };
  char *p = NULL, *other[STEPS];
  for (size_t n = 1; n < STEPS; n++) {
    p = realloc(p, n * MIB);
    p[n * MIB - 1] = (char)n;
    other[n] = malloc(3 * MIB); /* in the way */
  }
  for (size_t n = 1; n < STEPS; n++) {
    expect(p[n * MIB - 1] == (char)n, "what was written");
    free(other[n]);
  }
  free(p);
}

int main(int count, char **arguments) {
  const char *how = count == 2 ? arguments[1] : "";
  if (strcmp(how, "flood") == 0) flood();
  else if (strcmp(how, "stack") == 0) stack();
  else if (strcmp(how, "fork") == 0) fork_often();
  else if (strcmp(how, "keys") == 0) keys();
  else if (strcmp(how, "grow") == 0) grow();
  else return 2;
  puts("done");
  return 0;
}
