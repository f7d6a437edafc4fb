/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peek.c: copies and compares memory of this process that may be gone.
 *
 * what      See peek.h.
 */
#define _GNU_SOURCE
#include "os/peek.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/uio.h>

#include "os/call.h"
#include "os/os.h"
#include "os/text.h"

static bool peek_by_file(void *to, uint64_t address, size_t bytes) {
  long memory = hak_text_open("/proc/self/mem");
  bool read = memory >= 0 && hak_text_read_at(memory, to, bytes, address) == (long)bytes;
  hak_text_close(memory);
  return read;
}

bool hak_os_peek(void *to, uint64_t address, size_t bytes) {
  struct iovec own = {to, bytes}, from = {(void *)(uintptr_t)address, bytes};
  long n = HAK_KERNEL(SYS_process_vm_readv, hak_os_process_id(), &own, 1, &from, 1, 0);
  if (n == -ENOSYS || n == -EPERM) return peek_by_file(to, address, bytes);
  return n == (long)bytes;
}

/* 0: the word at the address is equal; -EAGAIN: it is not. */
static long compare(uint64_t address, uint32_t word) {
  void *at = (void *)(uintptr_t)address;
  return HAK_KERNEL(SYS_futex, at, FUTEX_CMP_REQUEUE_PRIVATE, 0, 0, at, word);
}

bool hak_os_holds(uint64_t address, const uint32_t *word, size_t words) {
  for (size_t n = 0; n < words && !hak_os_is_strict(); n++) {
    if (compare(address + n * sizeof *word, word[n]) != 0) return false;
  }
  return true;
}

bool hak_os_differs(uint64_t address, uint32_t word) {
  return !hak_os_is_strict() && compare(address, word) == -EAGAIN;
}
