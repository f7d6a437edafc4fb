/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* text.c: reads the small text files of /proc and /sys.
 *
 * what      Bare kernel calls; see text.h.
 * failure   A negative errno.
 * not here  Parsing.
 */
#define _GNU_SOURCE
#include "os/text.h"

#include <fcntl.h>

#include "base/bytes.h"
#include "os/call.h"

static long open_as(const char *path, int flags) {
  return HAK_KERNEL(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags);
}

long hak_text_open(const char *path) { return open_as(path, O_NONBLOCK | O_NOCTTY); }

long hak_text_read(long descriptor, char *text, size_t size) {
  return HAK_KERNEL(SYS_read, descriptor, text, size);
}

long hak_text_read_at(long descriptor, void *out, size_t size, uint64_t offset) {
  return HAK_KERNEL(SYS_pread64, descriptor, out, size, offset);
}

void hak_text_close(long descriptor) {
  if (descriptor >= 0) HAK_KERNEL(SYS_close, descriptor);
}

long hak_text_of(const char *path, char *text, size_t size) {
  long descriptor = hak_text_open(path);
  if (descriptor < 0) return descriptor;
  long n = hak_text_read(descriptor, text, size - 1);
  hak_text_close(descriptor);
  text[n < 0 ? 0 : n] = '\0';
  return n < 0 ? n : 0;
}

/* Returns 0 if the path can be opened with `flags`. Opens and closes, as every program does while being loaded: a
 * seccomp filter may end the process for rarer calls. */
static long find_as(const char *path, int flags) {
  long descriptor = open_as(path, flags);
  if (descriptor < 0) return descriptor;
  hak_text_close(descriptor);
  return 0;
}

long hak_text_find(const char *path) { return find_as(path, O_PATH); }

long hak_text_folder(const char *path) { return find_as(path, O_DIRECTORY); }
