/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* causes.c: a program that holds memory for a known reason.
 *
 * what      causes CAUSE [ARGUMENT]: makes the state, prints "ready BYTES", the bytes that the cause holds and its process, and
 *           waits for its input to end. One function per cause; the table at the end has their names.
 * owner     The program.
 * failure   Status 1: an unknown cause, or no memory.
 * not here  The expected explanations: cli/tests/test_explain.py.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <hakmem/hakmem.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

enum { PAGE = 4096, THREADS = 8 };

static const char *argument;

__attribute__((always_inline)) static inline void *filled(size_t n) {
  char *p = malloc(n);
  if (p == NULL) exit(1);
  return memset(p, 1, n);
}

static void give(void **list, size_t count, size_t step, size_t first) {
  for (size_t i = 0; i < count; i++) {
    if (i % step >= first) free(list[i]);
  }
}

/* ---- live ---- */

enum { LEAK_BYTES = 100, LEAK_ROUND = 1000, NAP_US = 2000 };

__attribute__((noinline)) static void leak_some(void) {
  for (int i = 0; i < LEAK_ROUND; i++) filled(LEAK_BYTES);
}

static void *leak_on(void *unused) {
  for (;;) leak_some(), usleep(NAP_US);
  return unused;
}

/* Grows while the program waits. */
static size_t leak(void) {
  pthread_t thread;
  for (int i = 0; i < 400; i++) leak_some();
  if (pthread_create(&thread, NULL, leak_on, NULL) != 0) exit(1);
  return (size_t)400 * LEAK_ROUND * LEAK_BYTES;
}

static size_t rounding(void) {
  enum { BLOCKS = 3 << 20, LEAST = 16 };
  for (int i = 0; i < BLOCKS; i++) filled(1);
  return (size_t)BLOCKS * (LEAST - 1);
}

/* ---- freed ---- */

/* Pages of blocks of 20 KB, all freed at a price at which they stay. */
static size_t burst(void) {
  enum { BLOCKS = 4000, BYTES = 20000 };
  static void *block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = filled(BYTES);
  give(block, BLOCKS, 1, 0);
  return (size_t)BLOCKS * BYTES;
}

__attribute__((noinline)) static void *for_long(size_t n) {
  char *p = filled(n);
  p[0] = 2;
  return p;
}

__attribute__((noinline)) static void *for_a_moment(size_t n) {
  char *p = filled(n);
  p[0] = 3;
  return p;
}

/* Each 64th block stays: one a page of 4 KiB, nearly. */
static size_t fragments(void) {
  enum { BLOCKS = 1 << 20, BYTES = 64, STEP = PAGE / BYTES };
  static void *block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = i % STEP == 0 ? for_long(BYTES) : for_a_moment(BYTES);
  give(block, BLOCKS, STEP, 1);
  return (size_t)BLOCKS * BYTES / STEP * (STEP - 1);
}

static size_t big(void) {
  void *block[8];
  for (int i = 0; i < 8; i++) block[i] = filled(8 * MIB);
  give(block, 8, 1, 0);
  return 64 * MIB;
}

/* ---- caches ---- */

static pthread_barrier_t g_idle;

/* One thread after another: what one leaves in no cache the next uses. */
static void *fill_magazines(void *unused) {
  enum { SIZES = 24, BLOCKS = 200, ROUNDS = 20 };
  static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
  static void *block[BLOCKS];
  pthread_mutex_lock(&turn);
  for (int n = 0; n < SIZES * ROUNDS; n++) {
    for (int i = 0; i < BLOCKS; i++) block[i] = filled((size_t)(n % SIZES + 1) * 128);
    give(block, BLOCKS, 1, 0);
  }
  pthread_mutex_unlock(&turn);
  pthread_barrier_wait(&g_idle);
  pause();
  return unused;
}

static void start_threads(int count, void *(*run)(void *), size_t stack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack != 0) pthread_attr_setstacksize(&attributes, stack);
  pthread_barrier_init(&g_idle, NULL, (unsigned)count + 1);
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, run, NULL) != 0) exit(1);
  }
  pthread_barrier_wait(&g_idle);
}

static size_t cached(void) {
  int (*stats)(struct hak_stats *);
  *(void **)&stats = dlsym(RTLD_DEFAULT, "hak_get_stats");
  struct hak_stats s = {.version = HAK_STATS_VERSION, .size = sizeof s};
  return stats != NULL && stats(&s) == 0 ? s.cached : 0;
}

static size_t magazines(void) {
  start_threads(THREADS, fill_magazines, 0);
  return cached();
}

/* ---- huge pages ---- */

/* One byte of each 2 MiB is written. */
static size_t huge(void) {
  size_t bytes = 96 * MIB;
  char *p = malloc(bytes);
  if (p == NULL) exit(1);
  for (size_t at = 0; at < bytes; at += 2 * MIB) ((volatile char *)p)[at] = 1;
  return bytes;
}

/* ---- not the allocator's ---- */

static void *use_stack(void *unused) {
  volatile char deep[4 * MIB];
  for (size_t at = 0; at < sizeof deep; at += PAGE) deep[at] = 1;
  pthread_barrier_wait(&g_idle);
  pause();
  return unused;
}

static size_t stacks(void) {
  start_threads(THREADS, use_stack, 8 * MIB);
  return THREADS * 4 * MIB;
}

/* The file of the argument. */
static size_t file(void) {
  int fd = open(argument, O_RDONLY);
  off_t bytes = lseek(fd, 0, SEEK_END);
  const volatile char *p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) exit(1);
  for (off_t at = 0; at < bytes; at += PAGE) (void)p[at];
  return (size_t)bytes;
}

static size_t anonymous(void) {
  char *p = mmap(NULL, 48 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  memset(p, 1, 48 * MIB);
  return 48 * MIB;
}

static size_t shared(void) {
  int fd = memfd_create("causes", 0);
  if (fd < 0 || ftruncate(fd, 32 * MIB) != 0) exit(1);
  char *p = mmap(NULL, 32 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) exit(1);
  memset(p, 1, 32 * MIB);
  return 32 * MIB;
}

enum { INHERITED = 400, INHERITED_BYTES = 100000 };

static char *inherited[INHERITED];

/* The child waits, too, and it is the one that prints. */
static size_t child(void) {
  for (int i = 0; i < INHERITED; i++) inherited[i] = filled(INHERITED_BYTES);
  return (size_t)INHERITED * INHERITED_BYTES;
}

/* The child writes to each page that it has from its parent. */
static void copy_inherited(void) {
  for (int i = 0; i < INHERITED; i++) memset(inherited[i], 2, INHERITED_BYTES);
}

static const struct cause {
  const char *name;
  size_t (*make)(void);
} causes[] = {
    {"leak", leak},   {"rounding", rounding}, {"burst", burst}, {"fragments", fragments}, {"big", big},
    {"magazines", magazines}, {"huge", huge}, {"stacks", stacks}, {"file", file}, {"anonymous", anonymous},
    {"shared", shared}, {"child", child}, {"copies", child},
};

/* A "t" asks for a trim. */
static void wait_for_end(void) {
  for (int c = getchar(); c != EOF; c = getchar()) {
    if (c == 't') malloc_trim(0), puts("trimmed"), fflush(stdout);
  }
}

static size_t make(const char *name) {
  for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
    if (strcmp(causes[i].name, name) == 0) return causes[i].make();
  }
  exit(1);
}

int main(int argc, char **argv) {
  static char input[PAGE];
  if (argc < 2) return 1;
  if (argc > 2) argument = argv[2];
  setvbuf(stdin, input, _IOFBF, sizeof input); /* no buffer is allocated during the wait */
  size_t bytes = make(argv[1]);
  int copies = strcmp(argv[1], "copies") == 0;
  pid_t forked = copies || strcmp(argv[1], "child") == 0 ? fork() : 0;
  if (forked == 0 && copies) copy_inherited();
  if (forked == 0) printf("ready %zu %d\n", bytes, (int)getpid());
  fflush(stdout);
  wait_for_end();
  return 0;
}
