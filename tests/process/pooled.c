/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pooled.c: errors at guarded blocks (guard_bytes=1: each block of a page or less is one, while slots are free), and
 * honest programs: pooled HOW.
 *
 * not here  The expected report: pooled_test.py.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hakmem/hakmem.h"

enum { BYTES = 24, PAGE = 4096, THREADS = 4, ROUNDS = 4000, KEPT = 64 };

static void need(int holds, const char *what) {
  if (holds) return;
  printf("wrong: %s\n", what);
  fflush(stdout);
  _exit(1);
}

#define NEED(what) need((what) != 0, #what)

__attribute__((noinline)) static volatile char *take(size_t n) { return malloc(n); }
__attribute__((noinline)) static void drop(volatile char *p) { free((char *)p); }

/* A block whose page ends behind it; another one lies at the begin of its page. */
static volatile char *at_end(void) {
  for (;;) {
    volatile char *p = take(BYTES);
    if (((uintptr_t)p + BYTES + 8) % PAGE == 0) return p;
    drop(p);
  }
}

static volatile char *at_begin(void) {
  for (;;) {
    volatile char *p = take(BYTES);
    if ((uintptr_t)p % PAGE == 0) return p;
    drop(p);
  }
}

/* ---- errors ---- */

static void overflow_write(void) { at_end()[BYTES + 8] = 1; }
static void overflow_read(void) { (void)at_end()[BYTES + 8]; }
static void underflow_write(void) { at_begin()[-3] = 1; }

static void overflow_found_later(void) {
  volatile char *p = at_end();
  p[BYTES + 2] = 1;
  drop(p);
}

static void underflow_found_later(void) {
  volatile char *p = at_end();
  p[-2] = 1;
  drop(p);
}

static void use_after_free_write(void) {
  volatile char *p = take(BYTES);
  drop(p);
  p[3] = 1;
}

static void use_after_free_read(void) {
  volatile char *p = take(BYTES);
  drop(p);
  (void)p[3];
}

static void free_twice(void) {
  volatile char *p = take(BYTES);
  drop(p);
  drop(p);
}

static void *drop_there(void *p) {
  drop(p);
  return NULL;
}

static void free_twice_by_threads(void) {
  pthread_t thread;
  volatile char *p = take(BYTES);
  pthread_create(&thread, NULL, drop_there, (void *)p);
  pthread_join(thread, NULL);
  drop(p);
}

static void resize_freed(void) {
  volatile char *p = take(BYTES);
  drop(p);
  p = realloc((char *)p, 100);
}

static void free_inside(void) { drop(take(BYTES) + 8); }
static void free_between(void) { drop(at_end() + BYTES + 8); }

/* ---- honest ---- */

static void sizes(void) {
  for (size_t n = 0; n <= 2 * PAGE; n += 1 + n / 8) {
    char *p = malloc(n);
    NEED(p);
    NEED((uintptr_t)p % 16 == 0);
    NEED(malloc_usable_size(p) >= n);
    memset(p, 7, malloc_usable_size(p));
    NEED(hak_owns(p) && (n == 0 || hak_owns(p + n - 1)));
    free(p);
  }
}

static void other_calls(void) {
  char *zeros = calloc(3, 40), *aligned = aligned_alloc(256, 512), *grown = malloc(10);
  for (int i = 0; i < 120; i++) NEED(zeros[i] == 0);
  NEED((uintptr_t)aligned % 256 == 0);
  memset(aligned, 1, 512);
  memcpy(grown, "123456789", 10);
  for (size_t n = 11; n < 70000; n = n * 3 / 2) {
    grown = realloc(grown, n);
    NEED(memcmp(grown, "123456789", 10) == 0);
  }
  grown = realloc(grown, 10);
  NEED(memcmp(grown, "123456789", 10) == 0);
  free(zeros), free(aligned), free(grown);
}

static void *churn(void *seed) {
  char *kept[KEPT] = {NULL};
  uint32_t state = (uint32_t)(uintptr_t)seed;
  for (int i = 0; i < ROUNDS; i++) {
    state = state * 1664525 + 1013904223;
    char **slot = &kept[state >> 16 & (KEPT - 1)];
    if (*slot != NULL) need(**slot == (char)(slot - kept), "bytes of a block");
    free(*slot);
    *slot = malloc(1 + (state >> 8 & 511));
    **slot = (char)(slot - kept);
  }
  for (int i = 0; i < KEPT; i++) free(kept[i]);
  return NULL;
}

static void threads(void) {
  pthread_t thread[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, churn, (void *)(i + 1));
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

static void forks(void) {
  pthread_t thread[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, churn, (void *)(i + 1));
  for (int i = 0; i < 20; i++) {
    int status = 1;
    pid_t child = fork();
    if (child == 0) churn((void *)9), _exit(0);
    waitpid(child, &status, 0);
    NEED(status == 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

/* libc keeps the text of an error until the thread's next lookup, which frees it: the first free of the process, in the
 * middle of a lookup. HAKMEM's own lookups were made when the text was allocated. */
static void names_that_are_not_there(void) {
  for (int i = 0; i < 3; i++) NEED(dlsym(RTLD_DEFAULT, "no_such_name") == NULL);
}

static void at_run_time(void) {
  NEED(hak_set("guard_bytes", "1") == 0);
  overflow_write();
}

static void off_again(void) {
  NEED(hak_set("guard_bytes", "1") == 0);
  char *p = malloc(BYTES);
  NEED(hak_set("guard_bytes", "0") == 0);
  free(p);
  churn((void *)3);
}

static uint64_t guarded_now(void) {
  const char *name;
  uint64_t value;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++) {
    if (strcmp(name, "guarded") == 0) return value;
  }
  return 0;
}

/* A magazine serves each of these requests. */
static void take_often(void) {
  for (int i = 0; i < 8 * ROUNDS; i++) drop(take(1000));
}

/* A thread that was sampled already heeds what is set later: of each, the calls after it was set. */
static void one_after_the_other(void) {
  NEED(hak_set("profile_bytes", "1000") == 0);
  NEED(hak_set("profile", "on") == 0);
  take_often();
  NEED(guarded_now() == 0);
  NEED(hak_set("guard_bytes", "100000") == 0);
  take_often();
  NEED(guarded_now() > 0);
  NEED(hak_set("profile", "off") == 0);
  take_often();
  NEED(hak_set("profile", "on") == 0);
  take_often();
  NEED(hak_profile_dump(getenv("HAK_PROFILE")) == 0);
}

/* The profile is asked for after blocks were guarded. */
static void profile_after_guards(void) {
  NEED(hak_set("guard_bytes", "100000") == 0);
  take_often();
  NEED(guarded_now() > 0);
  NEED(hak_profile_start(1000) == 0);
  take_often();
  NEED(hak_profile_dump(getenv("HAK_PROFILE")) == 0);
}

/* ---- in a sandbox ---- */

#define ENDS_FOR(name) \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* The process ends for a handler, for a look at a page of a stack, for a look at code, and for a file. */
static void enter_sandbox(void) {
  static struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ENDS_FOR(rt_sigaction), ENDS_FOR(rt_sigprocmask), ENDS_FOR(process_vm_readv), ENDS_FOR(openat),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  NEED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  NEED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* Guarded before and after; another setting is set in between. */
static void set_in_sandbox(void) {
  NEED(hak_set("guard_bytes", "1000") == 0);
  take_often();
  enter_sandbox();
  uint64_t before = guarded_now();
  NEED(hak_set_limit(0, (size_t)1 << 40) == 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  take_often();
  NEED(guarded_now() > before);
}

/* Both are asked for in the sandbox first. */
static void guarded_in_sandbox(void) {
  enter_sandbox();
  NEED(hak_set("guard_bytes", "1000") == 0);
  take_often();
  NEED(guarded_now() > 0);
}

static void profiled_in_sandbox(void) {
  enter_sandbox();
  NEED(hak_profile_start(1000) == 0);
  take_often();
}

static const struct {
  const char *name;
  void (*run)(void);
} way[] = {
#define WAY(name) {#name, name}
    WAY(overflow_write), WAY(overflow_read), WAY(underflow_write), WAY(overflow_found_later), WAY(underflow_found_later),
    WAY(use_after_free_write), WAY(use_after_free_read), WAY(free_twice), WAY(free_twice_by_threads), WAY(free_inside),
    WAY(resize_freed), WAY(free_between), WAY(sizes), WAY(other_calls), WAY(threads), WAY(forks), WAY(at_run_time),
    WAY(off_again), WAY(one_after_the_other), WAY(profile_after_guards), WAY(set_in_sandbox), WAY(guarded_in_sandbox),
    WAY(profiled_in_sandbox), WAY(names_that_are_not_there),
};

int main(int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i < sizeof way / sizeof way[0]; i++) {
    if (strcmp(way[i].name, argv[1]) == 0) return way[i].run(), puts("ended"), 0;
  }
  return 2;
}
