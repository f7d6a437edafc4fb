/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* plugin.h: functions of plugin.c for a program that opens the plugin.
 *
 * what      Looked up with dlsym: the file is opened in many ways.
 * owner     plugin_take takes the block, plugin_make gives one away, plugin_resize both.
 * failure   plugin_neighbour is -1 when the neighbour cannot be opened.
 * not here  The opening programs: deep_host.c, early.c.
 */
#ifndef HAK_TESTS_LOADER_PLUGIN_H
#define HAK_TESTS_LOADER_PLUGIN_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void plugin_take_fn(void *p);
typedef void *plugin_resize_fn(void *p, size_t n);
typedef char *plugin_make_fn(void);
typedef int plugin_neighbour_fn(void);
typedef const char *plugin_malloc_file_fn(void);

static inline void plugin_expect(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "failed: %s\n", what);
  _Exit(1);
}

static inline void *plugin_symbol(void *plugin, const char *name) {
  void *found = dlsym(plugin, name);
  plugin_expect(found != NULL, name);
  return found;
}

/* The caller frees blocks of the plugin, and the plugin blocks of the caller, of all sizes. */
static inline void plugin_exchange(void *plugin) {
  plugin_take_fn *take = (plugin_take_fn *)plugin_symbol(plugin, "plugin_take");
  plugin_resize_fn *resize = (plugin_resize_fn *)plugin_symbol(plugin, "plugin_resize");
  plugin_make_fn *make = (plugin_make_fn *)plugin_symbol(plugin, "plugin_make");
  for (size_t n = 1; n < (size_t)8 << 20; n *= 3) {
    take(malloc(n));
    take(resize(malloc(n), n * 2));
    free(resize(malloc(n), n / 2 + 1));
  }
  char *text = make();
  plugin_expect(strcmp(text, "made by the plugin") == 0, "a block of the plugin's");
  free(text);
}

/* dlopen in the plugin searches the plugin's RUNPATH. */
static inline void plugin_open_neighbour(void *plugin) {
  plugin_neighbour_fn *neighbour = (plugin_neighbour_fn *)plugin_symbol(plugin, "plugin_neighbour");
  plugin_expect(neighbour() == 42, "the plugin opens its neighbour, which only its own RUNPATH leads to");
}

/* Expects the plugin's malloc in a library whose file name begins with `name`. */
static inline void plugin_expect_malloc_of(void *plugin, const char *name) {
  plugin_malloc_file_fn *file = (plugin_malloc_file_fn *)plugin_symbol(plugin, "plugin_malloc_file");
  const char *slash = strrchr(file(), '/');
  plugin_expect(slash != NULL && strncmp(slash + 1, name, strlen(name)) == 0, file());
}

#endif
