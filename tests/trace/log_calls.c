/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* log_calls.c: preloaded, writes a line for each call of malloc, calloc, posix_memalign, realloc and free to the file
 * $HAK_LOG: thread, call, arguments and result. The calls are glibc's.
 *
 *     allocate 12 32 0x55d0
 *
 * what      Fails on request: by HAK_FAIL=N allocations of N bytes; by HAK_NO_PEAK=1 opening /proc/self/clear_refs.
 * failure   Without HAK_LOG nothing is written.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void *__libc_realloc(void *p, size_t n);
void __libc_free(void *p);

static int log_file = -1;
static size_t failing;

__attribute__((constructor)) static void open_log(void)
{
  const char *path = getenv("HAK_LOG");
  const char *fail = getenv("HAK_FAIL");
  failing = fail == NULL ? 0 : strtoul(fail, NULL, 10);
  if (path != NULL)
    log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

int open(const char *path, int flags, ...)
{
  va_list more;
  va_start(more, flags);
  unsigned mode = flags & O_CREAT ? va_arg(more, unsigned) : 0;
  va_end(more);
  if (getenv("HAK_NO_PEAK") != NULL && strcmp(path, "/proc/self/clear_refs") == 0) {
    errno = EACCES;
    return -1;
  }
  return openat(AT_FDCWD, path, flags, mode);
}

static void *logged(const char *what, void *old, size_t a, size_t b, void *came)
{
  char line[200];
  int bytes = snprintf(line, sizeof line, "%d %s %p %zu %zu %p\n", (int)gettid(), what, old, a, b, came);
  if (log_file >= 0 && write(log_file, line, (size_t)bytes) != bytes)
    abort();
  return came;
}

void *malloc(size_t n)
{
  return logged("malloc", NULL, 1, n, n == failing && failing != 0 ? NULL : __libc_malloc(n));
}

void *calloc(size_t count, size_t n)
{
  return logged("calloc", NULL, count, n, __libc_calloc(count, n));
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
  void *came = logged("memalign", NULL, alignment, n, __libc_memalign(alignment, n));
  *out = came == NULL ? *out : came;
  return came == NULL ? ENOMEM : 0;
}

void *realloc(void *p, size_t n)
{
  return logged("realloc", p, 1, n, __libc_realloc(p, n));
}

void free(void *p)
{
  logged("free", p, 0, 0, NULL);
  __libc_free(p);
}
