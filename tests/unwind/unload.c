/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unload.c: another thread takes a module's tables away and gives them back, while this one looks whether they are there.
 *
 * what      As an unload between the look and the read of a table: HAK_MODULE is open, and the page of its
 *           .eh_frame_hdr changes between readable and not, all the time. Each look is one of after an
 *           open.
 * failure   SIGSEGV. Exit status 1: called wrongly, or the tables were never found, or always.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/loaded.h"
#include "record/unwind_modules.h"

enum { LOOKS = 200000 };

static struct {
  const char *name;
  uintptr_t code, header;
} g_module;
static int g_end;

static int take_parts(struct dl_phdr_info *info, size_t bytes, void *none) {
  (void)bytes, (void)none;
  if (g_module.name == NULL || strcmp(info->dlpi_name, g_module.name) != 0) return 0;
  for (int n = 0; n < info->dlpi_phnum; n++) {
    if (info->dlpi_phdr[n].p_type == PT_GNU_EH_FRAME) g_module.header = info->dlpi_addr + info->dlpi_phdr[n].p_vaddr;
  }
  return 1;
}

static void *flip(void *none) {
  uintptr_t bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
  void *page = (void *)(g_module.header & -bytes);
  while (!__atomic_load_n(&g_end, __ATOMIC_RELAXED)) {
    if (mprotect(page, bytes, PROT_NONE) != 0 || mprotect(page, bytes, PROT_READ) != 0) abort();
  }
  return none;
}

static int look(void) {
  struct hak_unwind_module module;
  int found = 0;
  for (int n = 0; n < LOOKS; n++) {
    __atomic_fetch_add(&g_loaded_opens, 1, __ATOMIC_RELAXED);
    found += hak_unwind_module_at(g_module.code, false, &module) && module.table.header == g_module.header;
  }
  return found;
}

int main(void) {
  g_module.name = getenv("HAK_MODULE");
  void *module = g_module.name != NULL ? dlopen(g_module.name, RTLD_NOW) : NULL;
  if (module == NULL) return 1;
  g_module.code = (uintptr_t)dlsym(module, "module_call");
  dl_iterate_phdr(take_parts, NULL);
  if (g_module.code == 0 || g_module.header == 0) return 1;
  pthread_t thread;
  if (pthread_create(&thread, NULL, flip, NULL) != 0) return 1;
  int found = look();
  __atomic_store_n(&g_end, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  if (found == 0 || found == LOOKS) printf("tables found by %d of %d looks\n", found, LOOKS);
  return found == 0 || found == LOOKS;
}
