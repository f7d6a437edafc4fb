/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* closing.c MODULE: a thread opens and closes a module, while another thread's walks look at all modules. Where a page
 * is asked for first and read then, the module goes in between: here each such question takes long. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/atomic.h"
#include "os/loaded.h"
#include "record/unwind.h"
#include "record/unwind_modules.h"

enum { MOST = 64, ROUNDS = 1000, NEAR = 64 << 10 };

static bool g_ended;

bool __real_hak_os_is_readable(const void *p);
bool __wrap_hak_os_is_readable(const void *p);

bool __wrap_hak_os_is_readable(const void *p) {
  const struct timespec pause = {0, 100000};
  bool readable = __real_hak_os_is_readable(p);
  bool own_stack = (uintptr_t)p - (uintptr_t)&pause < NEAR;
  if (readable && !own_stack) nanosleep(&pause, NULL);
  return readable;
}

static __attribute__((noinline)) unsigned look(void) {
  uint64_t frame[MOST];
  return hak_unwind(frame, MOST, (uintptr_t)__builtin_return_address(0), false);
}

static void *look_often(void *unused) {
  unsigned frames = 0;
  while (!hak_load(&g_ended)) frames += look();
  printf("%s\n", frames != 0 ? "walked" : "not walked");
  return unused;
}

int main(int count, char **words) {
  pthread_t thread;
  if (count != 2 || pthread_create(&thread, NULL, look_often, NULL) != 0) return 2;
  for (int n = 0; n < ROUNDS; n++) {
    void *module = dlopen(words[1], RTLD_NOW);
    if (module == NULL) return puts(dlerror()), 1;
    hak_unwind_modules_read();
    hak_add(&g_loaded_opens, 1); /* as the library's dlopen */
    nanosleep(&(struct timespec){0, n % 10 * 100000}, NULL);
    dlclose(module);
  }
  hak_store(&g_ended, true);
  return pthread_join(thread, NULL);
}
