/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* twice.c: a program in which two HAKMEMs live: the one that serves malloc, and one that is linked or opened.
 *
 * what      twice [open FILE | apart FILE]: three threads and a fork's child use malloc and the second library's hak_ names
 *           side by side, blocks of each under its own free. LINKED: the hak_ names are linked; open: FILE is opened by
 *           dlopen; apart: by dlmopen, in a namespace of its own. Prints the file that malloc lies in, and "done".
 * failure   Exit 1 with a line on stdout.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, STEPS = 20000, SLOTS = 400 };

typedef void *take_function(size_t n);
typedef void give_function(void *p);

#ifdef LINKED
void *hak_malloc(size_t n);
void hak_free(void *p);
static take_function *g_take = hak_malloc;
static give_function *g_give = hak_free;
#else
static take_function *g_take = malloc;
static give_function *g_give = free;
#endif

static void end(const char *what) {
  printf("%s\n", what);
  fflush(stdout);
  _exit(1);
}

static void open_second(const char *how, const char *file) {
  void *library = strcmp(how, "open") == 0 ? dlopen(file, RTLD_NOW) : dlmopen(LM_ID_NEWLM, file, RTLD_NOW);
  if (library == NULL) end(dlerror());
  g_take = (take_function *)(uintptr_t)dlsym(library, "hak_malloc");
  g_give = (give_function *)(uintptr_t)dlsym(library, "hak_free");
  if (g_take == NULL || g_give == NULL) end("the second library has no hak_malloc");
}

static void check(const unsigned char *p, size_t n, unsigned char mark) {
  if (p[0] != mark || p[n - 1] != mark) end("a block has another's bytes");
}

static void *work(void *seed) {
  static _Thread_local struct slot {
    unsigned char *p;
    size_t n;
  } slots[SLOTS];
  uint32_t x = (uint32_t)(uintptr_t)seed;
  for (unsigned step = 0; step < STEPS; step++) {
    x = x * 1664525 + 1013904223;
    unsigned at = (x >> 8) % SLOTS;
    struct slot *slot = &slots[at];
    unsigned char mark = (unsigned char)at;
    if (slot->p != NULL) {
      check(slot->p, slot->n, mark);
      (at % 2 ? g_give : free)(slot->p);
    }
    slot->n = (size_t)1 << (x >> 28) | (x >> 20 & 15);
    slot->p = (at % 2 ? g_take : malloc)(slot->n);
    if (slot->p == NULL) end("no memory");
    memset(slot->p, mark, slot->n);
  }
  for (unsigned at = 0; at < SLOTS; at++) {
    if (slots[at].p != NULL) (at % 2 ? g_give : free)(slots[at].p);
    slots[at].p = NULL;
  }
  return NULL;
}

static void work_in_threads(void) {
  pthread_t threads[THREADS];
  for (int n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, work, (void *)(uintptr_t)(n + 1));
  work((void *)(uintptr_t)99);
  for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
}

int main(int count, char **words) {
  Dl_info info = {0};
  int status = 0;
  if (count == 3) open_second(words[1], words[2]);
  if (dladdr((void *)(uintptr_t)malloc, &info) != 0) printf("malloc of %s\n", info.dli_fname);
  fflush(stdout);
  work_in_threads();
  pid_t child = fork();
  if (child == 0) {
    work_in_threads();
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) end("the child failed");
  printf("done\n");
  return 0;
}
