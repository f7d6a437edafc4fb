/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* libc_glibc.c: libc.h for glibc. Not compiled for musl.
 *
 * what      Whether glibc made the calling thread.
 * not here  The rest: libc_glibc.h.
 */
#include <stddef.h>
#include <sys/syscall.h>

#include "os/call.h"
#include "os/libc.h"

/* glibc registers a robust list for each thread made by glibc and in the children of fork and _Fork, not in a child of
 * vfork. */
bool hak_libc_has_thread(void) {
  void *robust_list = NULL;
  size_t bytes;
  return HAK_KERNEL(SYS_get_robust_list, 0, &robust_list, &bytes) == 0 && robust_list != NULL;
}
