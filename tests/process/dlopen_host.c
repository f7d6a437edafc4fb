/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* dlopen_host.c: opens libraries at run time.
 *
 *   dlopen_host open LIBRARY            opens the library, uses its hak_ names from several threads, closes, uses again
 *   dlopen_host late HOG... LIBRARY     the same after the HOGs used up the static TLS
 *   dlopen_host many PLUGIN...          opens each (its constructor and its threads allocate), closes each */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>

#include "workload.h"

static struct {
  void *(*allocate)(size_t);
  void (*release)(void *);
  size_t (*usable)(const void *);
  bool (*owns)(const void *);
  size_t (*in_use)(void);
} g_hak;

static void *symbol(void *library, const char *name) {
  void *address = dlsym(library, name);
  if (address == NULL) work_failed(dlerror());
  return address;
}

static void *open_or_fail(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) work_failed(dlerror());
  return library;
}

static void *use(void *seed) {
  static const size_t sizes[] = {1, 100, 1000, 30000, 200000, 2000000};
  uint32_t state = (uint32_t)(uintptr_t)seed;
  for (int i = 0; i < 2000; i++) {
    const size_t n = sizes[work_next(&state) % (i % 50 == 0 ? 6 : 4)];
    void *p = g_hak.allocate(n);
    work_expect(p != NULL && g_hak.owns(p) && g_hak.usable(p) >= n, "a wrong block");
    memset(p, 1, n);
    g_hak.release(p);
  }
  return NULL;
}

static void use_from_threads(void) {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, use, (void *)i);
  use(NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  work_expect(g_hak.in_use() == 0, "blocks left in use");
}

static void *open_allocator(const char *path) {
  void *library = open_or_fail(path);
  g_hak.allocate = (void *(*)(size_t))symbol(library, "hak_malloc");
  g_hak.release = (void (*)(void *))symbol(library, "hak_free");
  g_hak.usable = (size_t(*)(const void *))symbol(library, "hak_usable_size");
  g_hak.owns = (bool (*)(const void *))symbol(library, "hak_owns");
  g_hak.in_use = (size_t(*)(void))symbol(library, "hak_bytes_in_use");
  return library;
}

/* A thread that used the library outlives dlclose: the thread's exit hook must still be mapped. */
static void open_allocator_and_close(const char *path) {
  for (int i = 0; i < 3; i++) {
    void *library = open_allocator(path);
    use_from_threads();
    dlclose(library);
    use_from_threads();
  }
}

static void open_late(int count, char **paths) {
  int opened = 0;
  while (opened < count - 1 && dlopen(paths[opened], RTLD_NOW | RTLD_LOCAL) != NULL) opened++;
  work_expect(opened < count - 1, "the hogs did not use up the static TLS");
  open_allocator_and_close(paths[count - 1]);
}

static void open_many(int count, char **paths) {
  static void *libraries[200];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < count; i++) libraries[i] = open_or_fail(paths[i]);
    for (int i = 0; i < count; i++) ((void (*)(void))symbol(libraries[i], "plugin_use"))();
    for (int i = 0; i < count; i++) dlclose(libraries[i]);
    work((uint32_t)round);
  }
}

int main(int count, char **arguments) {
  work_expect(count >= 3 && count < 200, "usage: dlopen_host open|late|many LIBRARY...");
  if (strcmp(arguments[1], "open") == 0) open_allocator_and_close(arguments[2]);
  if (strcmp(arguments[1], "late") == 0) open_late(count - 2, arguments + 2);
  if (strcmp(arguments[1], "many") == 0) open_many(count - 2, arguments + 2);
  puts("done");
  return 0;
}
