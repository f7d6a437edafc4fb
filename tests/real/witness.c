/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* witness.c: reports, from inside each process, which library's malloc the process uses.
 *
 * what      A tiny library preloaded beside the allocator under test. At load the library looks up the names of the
 *           malloc family as the program would, finds the file of each address, and appends a line to $WITNESS_FILE:
 *             <pid> <program> malloc=<file> free=<file> ...
 * owner     tests/real; the harness reads the lines (harness/proof.py).
 * locks     None: one write(2) in append mode per process, atomic in the kernel.
 * hot path  None; no call is intercepted.
 * failure   Silent: a missing line is the harness's failure message.
 * not here  Counting calls.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const names[] = {"malloc", "free", "calloc", "realloc", "memalign", "posix_memalign",
                                    "aligned_alloc", "malloc_usable_size"};

/* In a program linked at a fixed address a function's address is the program's jump stub: the symbol at that address is
 * then undefined. */
static bool is_stub(void *where) {
  Dl_info info;
  ElfW(Sym) *symbol = NULL;
  return dladdr1(where, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol && symbol->st_shndx == SHN_UNDEF;
}

static const char *file_of(const char *name) {
  Dl_info info;
  void *where = dlsym(RTLD_DEFAULT, name);
  if (where && is_stub(where)) where = dlsym(RTLD_NEXT, name);
  return where && dladdr(where, &info) && info.dli_fname ? info.dli_fname : "none";
}

static size_t described(char *line, size_t size) {
  size_t used = (size_t)snprintf(line, size, "%d %s", (int)getpid(), program_invocation_short_name);
  for (size_t i = 0; i < sizeof names / sizeof *names && used < size; i++)
    used += (size_t)snprintf(line + used, size - used, " %s=%s", names[i], file_of(names[i]));
  if (used < size) used += (size_t)snprintf(line + used, size - used, "\n");
  return used < size ? used : size;
}

__attribute__((constructor)) static void testify(void) {
  char line[4096];
  const char *path = getenv("WITNESS_FILE");
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  size_t length = described(line, sizeof line);
  if (write(fd, line, length) < 0) errno = 0;
  close(fd);
}
