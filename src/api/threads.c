/* threads.c: pthread_create and thrd_create, as the program calls them.
 *
 * what      The real functions, and then a helper thread for a program that has threads.
 * owner     Nothing.
 * locks     None.
 * orders    The real functions' addresses are found by every thread alike.
 * hot path  No.
 * failure   As the real ones. A helper thread that cannot be made is done without.
 * not here  What the helper does: front/helper.h. Only the preloaded library has this file: an archive cannot stand
 *           in for libc's own.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>

#include "api/exports.h"
#include "base/atomic.h"
#include "front/helper.h"

typedef int create_c11(thrd_t *thread, thrd_start_t start, void *own);

static hak_os_create_fn *real_create(void) {
  static hak_os_create_fn *real;
  hak_os_create_fn *found = hak_load(&real);
  if (found == NULL) {
    *(void **)&found = dlsym(RTLD_NEXT, "pthread_create");
    hak_store(&real, found);
  }
  return found;
}

HAK_EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                              void *(*start)(void *), void *restrict own) {
  int error = real_create()(thread, attributes, start, own);
  if (error == 0) hak_helper_start(real_create());
  return error;
}

/* libc's own does not pass through the function above. */
HAK_EXPORT int thrd_create(thrd_t *thread, thrd_start_t start, void *own) {
  create_c11 *real;
  *(void **)&real = dlsym(RTLD_NEXT, "thrd_create");
  int error = real(thread, start, own);
  if (error == thrd_success) hak_helper_start(real_create());
  return error;
}
