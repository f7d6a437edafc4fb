/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* image.c: populates the pages of the file that contains this code.
 *
 * what      See image.h.
 */
#include "os/image.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/os.h"

/* The ELF header of this file: the linker's only such name that no library exports. NULL if the headers are not
 * loaded. */
extern HAK_HIDDEN const ElfW(Ehdr) __ehdr_start __attribute__((weak));

enum { MOST = 16 << 20, OF_LIBC = 4 << 10 /* [bytes] longer than memcpy and memset of libc */ };

/* Populates the pages of [from, to), if at most MOST bytes. */
static void populate_range(uintptr_t from, uintptr_t to, bool write) {
  size_t page = hak_os_page_bytes();
  from &= -(uintptr_t)page;
  if (to > from && to - from <= MOST) hak_os_populate((void *)from, hak_round_up(to - from, page), write);
}

/* Populates all of a read-only part, and of a writable part the zeroed data behind the bytes from the file. */
static void populate_part(uintptr_t at, const ElfW(Phdr) *part) {
  bool write = (part->p_flags & PF_W) != 0;
  if (write && part->p_memsz <= part->p_filesz) return;
  populate_range(at + (write ? part->p_filesz : 0), at + part->p_memsz, write);
}

/* Populates memcpy and memset of libc, which realloc and calloc call, separately: the kernel maps a file's text in
 * pieces of 64 KiB that begin at unpredictable places. */
static void populate_libc(void) {
  const uintptr_t function[] = {(uintptr_t)hak_libc_memcpy, (uintptr_t)hak_libc_memset};
  for (unsigned i = 0; i < sizeof function / sizeof function[0]; i++)
    populate_range(function[i], function[i] + OF_LIBC, false);
}

void hak_image_populate(void) {
  populate_libc();
  const ElfW(Ehdr) *head = &__ehdr_start;
  if (head == NULL) return;
  const ElfW(Phdr) *part = (const ElfW(Phdr) *)((uintptr_t)head + head->e_phoff);
  uintptr_t bias = 0; /* address in memory - address in the file */
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (part[i].p_type == PT_LOAD && part[i].p_offset == 0) bias = (uintptr_t)head - part[i].p_vaddr;
  }
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (part[i].p_type == PT_LOAD) populate_part(bias + part[i].p_vaddr, &part[i]);
  }
}
