/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crash.c: programs that crash in different ways: crash HOW.
 *
 * what      Prints the address of the coming access, if known, and accesses the address.
 * not here  The expected report: crash_test.py.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, BIG = 3 << 20, HAMMERS = 2, CHILDREN = 12 };

static void show(const volatile void *p) {
  printf("%#lx\n", (unsigned long)(uintptr_t)p);
  fflush(stdout);
}

static void touch(volatile char *p) {
  show(p);
  *p = 1;
}

static void look(volatile char *p) {
  show(p);
  (void)*p;
}

/* A block with an inaccessible page; returns offset 10 in the page. */
static char *forbidden(size_t n) {
  char *p = aligned_alloc(PAGE, n);
  memset(p, 0, n);
  mprotect(p, PAGE, PROT_NONE);
  return p;
}

static void null_read(void) { look((char *)8); }
static void wild(void) { touch((char *)0x123456789000); }
static void not_canonical(void) { look((char *)0x8000000000001234); }
static void live(void) { touch(forbidden(PAGE) + 10); }
static void live_big(void) { touch(forbidden(BIG) + 10); }
static void live_run(void) { look(forbidden(100000) + 10); }
static void by_abort(void) { abort(); }
static void by_raise(void) { raise(SIGSEGV); }
static void by_kill(void) { kill(getpid(), SIGABRT); }

static void freed(void) {
  volatile char *p = forbidden(PAGE) + 10;
  show(p); /* first: stdio's buffer would take the block */
  free((char *)p - 10);
  (void)*p;
}

static void kept(void) {
  char *p = forbidden(BIG);
  free(p);
  look(p + 10);
}

static void free_run(void) {
  volatile char *p = forbidden(900000) + 10;
  show(p); /* first, again */
  free((char *)p - 10);
  malloc_trim(0);
  (void)*p;
}

/* In the middle of a slab with one live block. */
static void hole(void) {
  enum { BLOCKS = 64 * 64, SLAB = 65536 };
  static char *block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(1000), 1, 1000);
  for (int i = 0; i < BLOCKS; i++) {
    if (i % 64 != 0) free(block[i]);
  }
  uintptr_t live_one = (uintptr_t)block[32 * 64], slab = live_one / SLAB * SLAB;
  char *p = (char *)(slab + (live_one - slab > SLAB / 2 ? SLAB / 4 : SLAB / 4 * 3));
  malloc_trim(0);
  mprotect(p, PAGE, PROT_NONE);
  look(p + 10);
}

static void sandboxed(void) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  null_read();
}

static void unmapped(void) {
  char *p = forbidden(BIG);
  free(p);
  malloc_trim(0);
  look(p + 10);
}

static void double_free(void) {
  void *p = malloc(BIG);
  free(p);
  free(p);
}

static void *work(void *own) {
  ((void (*)(void))(uintptr_t)own)();
  return NULL;
}

static pthread_t started(void (*how)(void)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)how) != 0) exit(3);
  return thread;
}

static void in_a_thread(void) { pthread_join(started(null_read), NULL); }

static void together(void) {
  enum { THREADS = 8 };
  pthread_t thread[THREADS];
  for (int i = 0; i < THREADS; i++) thread[i] = started(null_read);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static void bus(void) {
  FILE *file = tmpfile();
  look(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fileno(file), 0));
}

static void own_handler(int number) {
  (void)number;
  _exit(7);
}

static void handled(void) {
  signal(SIGSEGV, own_handler);
  null_read();
}

static void in_a_child(void) {
  int status;
  if (fork() == 0) null_read();
  wait(&status);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
}

/* The child shares the parent's memory until the child's end. */
static void in_both(void) {
  pid_t child = vfork();
  if (child == 0) abort();
  waitpid(child, NULL, 0);
  null_read();
}

__attribute__((noinline)) static int deeper(volatile int *n) {
  volatile char room[PAGE];
  room[0] = (char)*n;
  return ++*n == 0 ? 0 : deeper(n) + room[0];
}

static void overflow(void) {
  volatile int n = 0;
  deeper(&n);
}

static void overflow_aside(void) {
  stack_t aside = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
  sigaltstack(&aside, NULL);
  overflow();
}

/* Holds the locks of many classes; the crash happens inside. */
static void hammer(void) {
  for (;;) {
    void *block[300];
    for (size_t i = 0; i < 300; i++) block[i] = malloc(i * 200 + 1);
    for (size_t i = 0; i < 300; i++) free(block[i]);
  }
}

static void fault_beside_hammers(unsigned pause_us) {
  volatile char *p = forbidden(PAGE);
  pthread_t thread = 0;
  for (int i = 0; i < HAMMERS; i++) thread = started(hammer);
  usleep(pause_us);
  if (pause_us % 2 != 0) p[10] = 1;
  pthread_kill(thread, SIGSEGV);
  for (;;) pause();
}

/* Children that crash at different moments; then the parent crashes. */
static void inside_malloc(void) {
  for (unsigned i = 0; i < CHILDREN; i++) {
    int status;
    if (fork() == 0) fault_beside_hammers(3000 + 977 * i);
    wait(&status);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) exit(4);
  }
  raise(SIGSEGV);
}

static const struct how {
  const char *name;
  void (*crash)(void);
} hows[] = {
  {"null", null_read}, {"wild", wild}, {"not_canonical", not_canonical}, {"live", live}, {"live_big", live_big},
  {"live_run", live_run}, {"freed", freed}, {"kept", kept}, {"free_run", free_run},
  {"hole", hole}, {"sandboxed", sandboxed}, {"unmapped", unmapped}, {"abort", by_abort}, {"raise", by_raise},
  {"kill", by_kill}, {"double_free", double_free}, {"thread", in_a_thread}, {"together", together}, {"bus", bus}, {"handled", handled},
  {"child", in_a_child}, {"both", in_both}, {"overflow", overflow}, {"overflow_aside", overflow_aside}, {"inside_malloc", inside_malloc},
};

int main(int count, char **arguments) {
  for (size_t i = 0; count == 2 && i < sizeof hows / sizeof *hows; i++) {
    if (strcmp(hows[i].name, arguments[1]) == 0) hows[i].crash();
  }
  return 2;
}
