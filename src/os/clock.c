/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* clock.c: the kernel's clock, read as libc reads the clock.
 *
 * what      Reads the symbol table of the vdso; see clock.h. Linkers place the string table behind the symbol table:
 *           the distance gives the number of symbols. The hash tables would also give the number, but differ from
 *           kernel to kernel.
 * owner     g_clock.
 */
#define _GNU_SOURCE
#include "os/clock.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/str.h"
#include "os/call.h"
#include "os/given.h"
#include "os/seal.h"

HAK_SEALED struct hak_clock g_clock;

/* ---- the vdso ---- */

struct image {
  uintptr_t shift; /* address in memory - address in the file */
  const ElfW(Dyn) *dynamic;
  const ElfW(Sym) *symbols;
  const char *names;
  size_t name_bytes;
};

static void take_part(struct image *image, const char *begin, const ElfW(Phdr) *part, bool *loaded) {
  if (part->p_type == PT_LOAD && !*loaded) {
    image->shift = (uintptr_t)begin + part->p_offset - part->p_vaddr;
    *loaded = true;
  }
  if (part->p_type == PT_DYNAMIC) image->dynamic = (const ElfW(Dyn) *)(const void *)(begin + part->p_offset);
}

static void take_tables(struct image *image) {
  for (const ElfW(Dyn) *row = image->dynamic; row->d_tag != DT_NULL; row++) {
    void *place = (void *)(image->shift + row->d_un.d_ptr);
    if (row->d_tag == DT_SYMTAB) image->symbols = place;
    if (row->d_tag == DT_STRTAB) image->names = place;
    if (row->d_tag == DT_STRSZ) image->name_bytes = row->d_un.d_val;
  }
}

static bool read_image(struct image *image, const char *begin) {
  const ElfW(Ehdr) *head = (const ElfW(Ehdr) *)(const void *)begin;
  const ElfW(Phdr) *parts = (const ElfW(Phdr) *)(const void *)(begin + head->e_phoff);
  bool loaded = false;
  for (unsigned n = 0; n < head->e_phnum; n++) take_part(image, begin, &parts[n], &loaded);
  if (loaded && image->dynamic != NULL) take_tables(image);
  return image->symbols != NULL && (uintptr_t)image->names > (uintptr_t)image->symbols;
}

static bool is_function_named(const struct image *image, const ElfW(Sym) *symbol, const char *name) {
  bool function = (symbol->st_info & 0xf) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
  return function && symbol->st_name < image->name_bytes && hak_strcmp(image->names + symbol->st_name, name) == 0;
}

void *hak_clock_find(const void *begin, const char *name) {
  struct image image = {0};
  const char *text = begin;
  if (text == NULL || text[0] != ELFMAG0 || hak_strncmp(text + 1, "ELF", 3) != 0) return NULL;
  if (!read_image(&image, text)) return NULL;
  size_t count = ((uintptr_t)image.names - (uintptr_t)image.symbols) / sizeof image.symbols[0];
  for (size_t n = 0; n < count; n++) {
    if (is_function_named(&image, &image.symbols[n], name)) return (void *)(image.shift + image.symbols[n].st_value);
  }
  return NULL;
}

/* ---- reading the clock ---- */

int hak_clock_first(clockid_t which, struct timespec *out) {
  void *found = hak_clock_find((const void *)hak_given(AT_SYSINFO_EHDR), HAK_ARCH_CLOCK);
  hak_clock_function *function = found != NULL ? (hak_clock_function *)found : hak_kernel_clock;
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) hak_store(&g_clock.function, function);
  hak_reseal(seal);
  return function(which, out);
}

void hak_clock_stay_coarse(void) {
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) hak_store(&g_clock.coarse, true);
  hak_reseal(seal);
}

struct timespec hak_clock_called(clockid_t which) {
  struct timespec t = {0};
  hak_kernel_clock(which, &t);
  return t;
}
