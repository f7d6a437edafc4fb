/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* plugin.c: a library that is opened at run time, frees and resizes its host's blocks, and opens a second library
 * itself. */
#include "plugin.h"

void plugin_take(void *p) { free(p); }

void *plugin_resize(void *p, size_t n) { return realloc(p, n); }

char *plugin_make(void) { return strdup("made by the plugin"); }

/* Found by this library's RUNPATH only. */
int plugin_neighbour(void) {
  void *neighbour = dlopen("libloader_neighbour.so", RTLD_NOW | RTLD_DEEPBIND);
  int (*answer)(void) = neighbour != NULL ? (int (*)(void))dlsym(neighbour, "neighbour_answer") : NULL;
  return answer != NULL ? answer() : -1;
}

const char *plugin_malloc_file(void) {
  Dl_info info = {0};
  dladdr((void *)malloc, &info);
  return info.dli_fname;
}
