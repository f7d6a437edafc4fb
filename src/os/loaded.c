/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* loaded.c: the program and the libraries that the dynamic loader has mapped.
 *
 * what      See loaded.h.
 */
#define _GNU_SOURCE
#include "os/loaded.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "base/str.h"

HAK_RARE uint32_t g_loaded_opens;

struct list {
  struct hak_loaded *module;
  unsigned count, most;
};

static void take_extent(struct hak_loaded *module, const ElfW(Phdr) *part) {
  uint64_t first = module->base + part->p_vaddr, end = first + part->p_memsz;
  module->first = module->end == 0 ? first : hak_min(module->first, first);
  module->end = hak_max(module->end, end);
}

static unsigned copy_id(uint8_t id[HAK_BUILD_ID_BYTES], const char *text, size_t bytes) {
  if (bytes > HAK_BUILD_ID_BYTES) return 0;
  memcpy(id, text, bytes);
  return (unsigned)bytes;
}

/* A note is a header, a name and a text; name and text are padded to 4 bytes. */
unsigned hak_loaded_id(const char *at, size_t bytes, uint8_t id[HAK_BUILD_ID_BYTES]) {
  const char *end = at + bytes;
  while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
    const char *name = at + sizeof *note, *text = name + hak_round_up(note->n_namesz, 4);
    if (text > end || note->n_descsz > (size_t)(end - text)) return 0;
    bool is_id = note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof "GNU" && memcmp(name, "GNU", 4) == 0;
    if (is_id) return copy_id(id, text, note->n_descsz);
    at = text + hak_round_up(note->n_descsz, 4);
  }
  return 0;
}

static void take_notes(struct hak_loaded *module, const ElfW(Phdr) *part) {
  const char *notes = (const char *)(uintptr_t)(module->base + part->p_vaddr);
  unsigned bytes = hak_loaded_id(notes, part->p_memsz, module->id);
  if (bytes != 0) module->id_bytes = (uint8_t)bytes;
}

/* The loader gives the program itself an empty path. */
static void take_name(struct hak_loaded *module, const char *path) {
  const char *whole = path[0] != '\0' ? path : program_invocation_short_name;
  const char *slash = hak_strrchr(whole, '/'), *name = slash != NULL ? slash + 1 : whole;
  size_t n = 0;
  for (; name[n] != '\0' && n < HAK_LOADED_NAME_BYTES - 1; n++)
    module->name[n] = name[n] > ' ' && name[n] <= '~' ? name[n] : '_';
  if (n == 0) module->name[n++] = '_';
  module->name[n] = '\0';
}

static int add_module(struct dl_phdr_info *info, size_t bytes, void *to) {
  struct list *list = to;
  (void)bytes;
  if (list->count == list->most) return 1;
  struct hak_loaded *module = &list->module[list->count++];
  memset(module, 0, sizeof *module);
  module->base = info->dlpi_addr;
  take_name(module, info->dlpi_name);
  for (unsigned n = 0; n < info->dlpi_phnum; n++) {
    if (info->dlpi_phdr[n].p_type == PT_LOAD) take_extent(module, &info->dlpi_phdr[n]);
    if (info->dlpi_phdr[n].p_type == PT_NOTE) take_notes(module, &info->dlpi_phdr[n]);
  }
  return 0;
}

unsigned hak_loaded_all(struct hak_loaded *modules, unsigned most) {
  struct list list = {modules, 0, most};
  dl_iterate_phdr(add_module, &list);
  return list.count;
}
