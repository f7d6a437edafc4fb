/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* early.c: a library whose constructor runs before the constructor of a preloaded libhakmem.so, and opens a plugin and
 * starts threads there. HAK_TEST_PLUGIN names the plugin, HAK_TEST_MALLOC the library of the expected malloc. */
#include "plugin.h"

#include <pthread.h>
#include <threads.h>

static int count_up(void *counter) {
  ++*(int *)counter;
  return 0;
}

static void *make_thread(void *counter) {
  thrd_t thread;
  plugin_expect(thrd_create(&thread, count_up, counter) == thrd_success, "thrd_create");
  thrd_join(thread, NULL);
  return NULL;
}

__attribute__((constructor)) static void run_early(void) {
  int counter = 0;
  pthread_t thread;
  plugin_expect(pthread_create(&thread, NULL, make_thread, &counter) == 0, "pthread_create");
  pthread_join(thread, NULL);
  plugin_expect(counter == 1, "the threads ran");
  void *plugin = dlopen(getenv("HAK_TEST_PLUGIN"), RTLD_NOW | RTLD_DEEPBIND);
  plugin_expect(plugin != NULL, "the plugin cannot be opened early");
  plugin_expect_malloc_of(plugin, getenv("HAK_TEST_MALLOC"));
}

void early_is_there(void);
void early_is_there(void) { puts("done"); }
