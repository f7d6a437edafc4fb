/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* image.c: the pages of the file that this code came in.
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

/* The linker's only name for any of this that no library exports; not there where the headers are not loaded. */
extern HAK_HIDDEN const ElfW(Ehdr) __ehdr_start __attribute__((weak));

enum { MOST = 16 << 20, OF_LIBC = 4 << 10 /* more than any of its functions below has */ };

/* The pages from one address to another. */
static void populate_range(uintptr_t from, uintptr_t to, bool write) {
  size_t page = hak_os_page_bytes();
  from &= -(uintptr_t)page;
  if (to > from && to - from <= MOST) hak_os_populate((void *)from, hak_round_up(to - from, page), write);
}

/* Of what is written to, the zeroed data behind what the file holds. */
static void populate_part(uintptr_t at, const ElfW(Phdr) *part) {
  bool write = (part->p_flags & PF_W) != 0;
  if (write && part->p_memsz <= part->p_filesz) return;
  populate_range(at + (write ? part->p_filesz : 0), at + part->p_memsz, write);
}

/* Those that realloc and calloc call. The kernel maps a file's text by pieces of 64 KiB, and where in the text these
 * begin is chance. */
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
  uintptr_t bias = 0; /* what lies first in the file lies at the header */
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (part[i].p_type == PT_LOAD && part[i].p_offset == 0) bias = (uintptr_t)head - part[i].p_vaddr;
  }
  for (unsigned i = 0; i < head->e_phnum; i++) {
    if (part[i].p_type == PT_LOAD) populate_part(bias + part[i].p_vaddr, &part[i]);
  }
}
