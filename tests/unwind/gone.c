/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gone.c HOW MODULE: a module is closed whose tables HAKMEM knows, and code without tables comes in its place and calls
 * malloc, where the list of modules cannot be read again. Nothing is read of tables that are no longer mapped.
 *   limit     the address space has no room left (RLIMIT_AS)
 *   sandbox   the program has said that it enters a sandbox
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hakmem/hakmem.h"

enum { CODE_BYTES = 32 };
typedef void calls(void (*f)(void));

static void need(int holds, const char *what) {
  if (holds) return;
  perror(what);
  exit(1);
}

static void use(void) {
  for (int i = 0; i < 4; i++) {
    void *volatile p = malloc(100);
    free(p);
  }
}

/* Puts the first bytes of the module's function where they were, and nothing else of the module. */
static void replace(void *module, calls *call) {
  uint8_t code[CODE_BYTES];
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *at = (char *)((uintptr_t)call & -page);
  memcpy(code, (const void *)call, sizeof code);
  need(dlclose(module) == 0, "dlclose");
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  need(mmap(at, page, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0) == at, "mmap");
  memcpy((void *)call, code, sizeof code);
  __builtin___clear_cache((char *)call, (char *)call + CODE_BYTES);
}

static void leave_no_room(void) {
  long pages = 0;
  FILE *sizes = fopen("/proc/self/statm", "r");
  need(sizes != NULL && fscanf(sizes, "%ld", &pages) == 1, "statm");
  fclose(sizes);
  const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
  need(setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes}) == 0, "setrlimit");
}

int main(int count, char **words) {
  if (count != 3) return 2;
  void *module = dlopen(words[2], RTLD_NOW);
  calls *call = module != NULL ? (calls *)dlsym(module, "module_call") : NULL;
  need(call != NULL, "dlopen");
  need(hak_profile_start(1) == 0, "hak_profile_start");
  use();
  if (strcmp(words[1], "sandbox") == 0) need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  replace(module, call);
  if (strcmp(words[1], "limit") == 0) leave_no_room();
  call(use);
  return 0;
}
