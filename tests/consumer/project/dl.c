/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Loads libhakmem-dl.so while running: hak_ names work, malloc stays libc's. */
#include <dlfcn.h>
#include <hakmem/hakmem.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    puts(dlerror());
    return 1;
  }
  void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(library, "hak_malloc");
  void (*give_back)(void *) = (void (*)(void *))dlsym(library, "hak_free");
  bool (*owns)(const void *) = (bool (*)(const void *))dlsym(library, "hak_owns");
  if (!allocate || !give_back || !owns || dlsym(library, "free") != (void *)free) {
    puts("wrong: the names of libhakmem-dl.so");
    return 1;
  }
  void *own = allocate(1000);
  void *plain = malloc(1000);
  int right = owns(own) && !owns(plain);
  give_back(own);
  free(plain);
  return !right;
}
