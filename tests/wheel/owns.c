/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* owns.c: prints the file that malloc comes from, and whether HAKMEM owns a block of it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int hak_owns(const void *) __attribute__((weak));

int main(void) {
  Dl_info where = {0};
  void *block = malloc(99), *address = dlsym(RTLD_DEFAULT, "malloc");
  if (block == NULL || address == NULL || dladdr(address, &where) == 0) return 1;
  printf("%s %s\n", where.dli_fname, hak_owns != NULL && hak_owns(block) ? "owned" : "not owned");
  free(block);
  return 0;
}
