/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mark.c: libhakmark.so, preloaded to tell a heap from the rest: marks the mappings of an allocator.
 *
 * what      Stands in front of mmap. A private anonymous mapping requested by the library HAKMARK_LIBRARY (the return
 *           address lies in its code) gets MADV_RANDOM, which changes nothing for pages without a file, and which
 *           /proc/PID/smaps shows as the flag "rr":
 *
 *              program, other libraries --> mmap ----------------------> kernel
 *              libhakmem.so -------------> mmap, madvise(MADV_RANDOM) -> kernel      VmFlags: rd wr mr mw me ac rr
 *
 *           The flag stays with the pages through mremap, fork and splits. A new mapping inside (MAP_FIXED) passes
 *           here again.
 * owner     The process.
 * locks     None.
 * orders    `high` is released after `low`; each thread that looks for the library's bounds finds the same bounds.
 * hot path  No; for an untimed run.
 * failure   Without the library, calls are passed on unchanged.
 * not here  Reading smaps: the Python package of the laboratory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct bounds {
  uintptr_t low, high;
};
static struct bounds library;

static int note_bounds(struct dl_phdr_info *module, size_t size, void *wanted)
{
  (void)size;
  if (module->dlpi_name == NULL || strcmp(module->dlpi_name, wanted) != 0)
    return 0;
  for (int i = 0; i < module->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &module->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0)
      continue;
    library.low = module->dlpi_addr + part->p_vaddr;
    __atomic_store_n(&library.high, library.low + part->p_memsz, __ATOMIC_RELEASE);
  }
  return 1;
}

/* Before main, when all libraries are mapped. HAKMEM may map memory earlier: such a call finds the bounds too. */
__attribute__((constructor)) static void find_library(void)
{
  char *wanted = getenv("HAKMARK_LIBRARY");
  if (wanted != NULL && wanted[0] != '\0')
    dl_iterate_phdr(note_bounds, wanted);
}

static bool is_of_library(const void *caller)
{
  uintptr_t at = (uintptr_t)caller;
  if (__atomic_load_n(&library.high, __ATOMIC_ACQUIRE) == 0)
    find_library();
  return at >= library.low && at < library.high;
}

static void *map(void *at, size_t bytes, int protection, int flags, int file, off_t offset, const void *caller)
{
  long mapped = syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
  if (mapped != -1 && (flags & MAP_ANONYMOUS) != 0 && is_of_library(caller)) {
    int kept = errno;
    syscall(SYS_madvise, mapped, bytes, MADV_RANDOM);
    errno = kept;
  }
  return (void *)mapped;
}

__attribute__((visibility("default"))) void *mmap(void *at, size_t bytes, int protection, int flags, int file,
                                                  off_t offset)
{
  return map(at, bytes, protection, flags, file, offset, __builtin_return_address(0));
}

__attribute__((visibility("default"))) void *mmap64(void *at, size_t bytes, int protection, int flags, int file,
                                                    off_t offset)
{
  return map(at, bytes, protection, flags, file, offset, __builtin_return_address(0));
}
