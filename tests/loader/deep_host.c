/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* deep_host.c: opens a plugin with RTLD_DEEPBIND.
 *
 *   deep_host dlopen PLUGIN        the plugin's malloc is the library's: blocks are freed across the border
 *   deep_host dlmopen PLUGIN       the same by dlmopen into the program's namespace
 *   deep_host namespace PLUGIN     in a separate namespace the plugin has libc's malloc, whatever the flag
 *   deep_host left PLUGIN          (HAKMEM_DEEPBIND=on) the flag is left: the plugin has libc's malloc */
#include "plugin.h"

static void *open_plugin(const char *how, const char *path) {
  const int mode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
  void *plugin = strcmp(how, "dlmopen") == 0     ? dlmopen(LM_ID_BASE, path, mode)
                 : strcmp(how, "namespace") == 0 ? dlmopen(LM_ID_NEWLM, path, mode)
                                                 : dlopen(path, mode);
  plugin_expect(plugin != NULL, "the plugin cannot be opened");
  return plugin;
}

int main(int count, char **arguments) {
  plugin_expect(count == 3, "usage: deep_host dlopen|dlmopen|namespace|left PLUGIN");
  const char *how = arguments[1];
  const int apart = strcmp(how, "namespace") == 0 || strcmp(how, "left") == 0;
  void *plugin = open_plugin(how, arguments[2]);
  plugin_expect_malloc_of(plugin, apart ? "libc.so" : "libhakmem.so");
  plugin_open_neighbour(plugin);
  if (!apart) plugin_exchange(plugin);
  plugin_expect(dlopen("libloader_neighbour.so", RTLD_NOW | RTLD_NOLOAD) != NULL || apart, "the neighbour stays open");
  plugin_expect(dlopen("/nowhere/at/all.so", RTLD_NOW) == NULL && strstr(dlerror(), "/nowhere") != NULL, "dlerror");
  puts("done");
  return 0;
}
