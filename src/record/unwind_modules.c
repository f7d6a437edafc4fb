/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* unwind_modules.c: which module an instruction lies in, and where its tables are.
 *
 * what      See unwind_modules.h.
 * owner     g_unwind_modules.
 */
#include "record/unwind_modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/loaded.h"
#include "os/lock.h"
#include "os/maps.h"
#include "os/os.h"
#include "os/peek.h"

struct module_list {
  unsigned count;
  struct hak_unwind_module module[HAK_UNWIND_MODULES];
};

static HAK_RARE struct {
  struct hak_lock lock;
  struct module_list *list; /* NULL: not read yet */
  uint64_t generation;
  uint32_t opens, looked; /* g_loaded_opens when an unknown instruction came; when all were looked at */
  uint32_t unknown, due; /* instructions in no module since the list was read; at how many it is read again */
} g_unwind_modules;

/* ---- reading ---- */

enum { HEAD_BYTES = 1024 };
struct reading {
  struct module_list *list;
  uint64_t head; /* address of the last mapping of a file's beginning */
  bool parsed;   /* the three below are of this file */
  uint64_t image_first, image_end;
  struct hak_unwind_table table;
  uint8_t mark[HAK_UNWIND_MARK_BYTES];
  uint64_t bytes[HEAD_BYTES / sizeof(uint64_t)];
  char text[HAK_MAPS_TEXT_BYTES];
};

static void take_header(struct reading *reading, uint64_t header) {
  uint32_t count;
  struct hak_unwind_table *table = &reading->table;
  bool inside = header % sizeof(uint32_t) == 0 && header >= table->first && header < table->end &&
                table->end - header >= sizeof reading->mark;
  if (!inside || !hak_os_peek(reading->mark, header, sizeof reading->mark)) return;
  if (!hak_unwind_takes_header(reading->mark, &count)) return;
  if (count > (table->end - header - HAK_UNWIND_HEADER_BYTES) / 8) return;
  table->count = count;
  table->header = header;
}

/* The segment that has this address becomes the table's. */
static void take_segment(struct reading *reading, const ElfW(Phdr) *part, unsigned parts, uint64_t base, uint64_t at) {
  for (unsigned n = 0; n < parts; n++) {
    uint64_t first = base + part[n].p_vaddr;
    if (part[n].p_type != PT_LOAD || at - first >= part[n].p_filesz) continue;
    reading->table.first = first;
    reading->table.end = first + part[n].p_filesz;
  }
}

/* The loaded segment with the lowest address has the headers; all segments are shifted by the same distance. */
static void parse_parts(struct reading *reading, const ElfW(Phdr) *part, unsigned parts) {
  uint64_t base = 0, header = 0;
  for (unsigned n = parts; n-- > 0;) {
    if (part[n].p_type == PT_LOAD) base = reading->head - (part[n].p_vaddr - part[n].p_offset);
  }
  for (unsigned n = 0; n < parts; n++) {
    uint64_t first = base + part[n].p_vaddr;
    if (part[n].p_type == PT_LOAD) reading->image_end = hak_max(reading->image_end, first + part[n].p_memsz);
    if (part[n].p_type == PT_GNU_EH_FRAME) header = first;
  }
  reading->image_first = reading->head;
  if (header == 0) return;
  take_segment(reading, part, parts, base, header);
  take_header(reading, header);
}

static void parse_head(struct reading *reading) {
  const ElfW(Ehdr) *head = (const void *)reading->bytes;
  reading->parsed = true;
  reading->image_first = reading->image_end = 0;
  reading->table = (struct hak_unwind_table){0, 0, 0, 0};
  if (reading->head == 0 || !hak_os_peek(reading->bytes, reading->head, HEAD_BYTES)) return;
  if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_phentsize != sizeof(ElfW(Phdr))) return;
  size_t room = HEAD_BYTES - sizeof *head;
  if (head->e_phoff != sizeof *head || head->e_phnum > room / sizeof(ElfW(Phdr))) return;
  parse_parts(reading, (const void *)((const char *)reading->bytes + sizeof *head), head->e_phnum);
}

/* Code of no file: pieces that lie near each other are one module. */
static bool lengthens_last(struct module_list *list, const struct hak_map *map) {
  enum { NEAR = 1 << 20 };
  struct hak_unwind_module *last = list->count != 0 ? &list->module[list->count - 1] : NULL;
  if (last == NULL || last->table.header != 0 || map->first - last->end > NEAR) return false;
  last->end = map->end;
  return true;
}

static void add_code(struct reading *reading, const struct hak_map *map) {
  struct module_list *list = reading->list;
  if (!reading->parsed) parse_head(reading);
  uint64_t image_end = hak_round_up(reading->image_end, hak_os_page_bytes());
  bool in_file = map->first >= reading->image_first && map->end <= image_end;
  if (!in_file && lengthens_last(list, map)) return;
  if (list->count == HAK_UNWIND_MODULES) return;
  struct hak_unwind_module *module = &list->module[list->count++];
  *module = (struct hak_unwind_module){.first = map->first, .end = map->end};
  if (!in_file) return;
  module->table = reading->table;
  memcpy(module->mark, reading->mark, sizeof module->mark);
}

static void take_mapping(const struct hak_map *map, void *to) {
  struct reading *reading = to;
  if (map->path_bytes != 0 && map->offset == 0) {
    reading->head = map->first;
    reading->parsed = false;
  }
  if (map->executable) add_code(reading, map);
}

static size_t bytes_in_pages(size_t bytes) { return hak_round_up(bytes, hak_os_page_bytes()); }

/* NULL: no memory, or no file could be opened. */
static struct module_list *read_modules(void) {
  struct module_list *list = hak_os_map(bytes_in_pages(sizeof *list));
  struct reading *reading = list != NULL ? hak_os_map(bytes_in_pages(sizeof *reading)) : NULL;
  if (reading == NULL) {
    if (list != NULL) hak_os_unmap(list, bytes_in_pages(sizeof *list));
    return NULL;
  }
  reading->list = list;
  hak_maps_visit(reading->text, take_mapping, reading);
  hak_os_unmap(reading, bytes_in_pages(sizeof *reading));
  if (list->count != 0) return list;
  hak_os_unmap(list, bytes_in_pages(sizeof *list));
  return NULL;
}

/* ---- finding ---- */

/* NULL: none. */
static const struct hak_unwind_module *bisect_modules(const struct module_list *list, uint64_t pc) {
  unsigned low = 0, high = list != NULL ? list->count : 0;
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (list->module[middle].end <= pc) low = middle + 1; else high = middle;
  }
  return list != NULL && low < list->count && list->module[low].first <= pc ? &list->module[low] : NULL;
}

static bool find_known(uint64_t pc, struct hak_unwind_module *module) {
  hak_lock_take(&g_unwind_modules.lock); /* nothing to rebuild: a list is replaced by one store */
  const struct hak_unwind_module *found = bisect_modules(g_unwind_modules.list, pc);
  if (found != NULL) *module = *found;
  hak_lock_drop(&g_unwind_modules.lock);
  return found != NULL;
}

static bool is_among(const struct module_list *list, const struct hak_unwind_module *module) {
  const struct hak_unwind_module *now = bisect_modules(list, module->first);
  return now != NULL && now->first == module->first && now->table.header == module->table.header &&
         memcmp(now->mark, module->mark, sizeof now->mark) == 0;
}

/* True if each module with tables is where it was. */
static bool keeps_all(const struct module_list *now, const struct module_list *before) {
  for (unsigned n = 0; before != NULL && n < before->count; n++) {
    if (before->module[n].table.header != 0 && !is_among(now, &before->module[n])) return false;
  }
  return true;
}

static void read_anew(void) {
  struct module_list *now = read_modules();
  if (now == NULL) return;
  hak_lock_take(&g_unwind_modules.lock);
  struct module_list *before = g_unwind_modules.list;
  if (!keeps_all(now, before)) hak_store(&g_unwind_modules.generation, g_unwind_modules.generation + 1);
  g_unwind_modules.list = now;
  hak_lock_drop(&g_unwind_modules.lock);
  if (before != NULL) hak_os_unmap(before, bytes_in_pages(sizeof *before));
}

void hak_unwind_modules_read(void) { read_anew(); }

/* Two threads may give them at a time: the second list goes. */
void hak_unwind_modules_give(const struct hak_unwind_module *modules, unsigned count) {
  struct module_list *list = count <= HAK_UNWIND_MODULES ? hak_os_map(bytes_in_pages(sizeof *list)) : NULL;
  if (list == NULL) return;
  list->count = count;
  memcpy(list->module, modules, count * sizeof *modules);
  hak_lock_take(&g_unwind_modules.lock);
  bool taken = g_unwind_modules.list == NULL;
  if (taken) g_unwind_modules.list = list;
  hak_lock_drop(&g_unwind_modules.lock);
  if (!taken) hak_os_unmap(list, bytes_in_pages(sizeof *list));
}

/* True if the module's tables are the ones that were found. The kernel reads: another thread may unload the module. */
static bool is_still_there(const struct hak_unwind_module *module) {
  uint32_t mark[HAK_UNWIND_MARK_BYTES / sizeof(uint32_t)];
  memcpy(mark, module->mark, sizeof mark);
  return hak_os_holds(module->table.header, mark, HAK_UNWIND_MARK_BYTES / sizeof *mark);
}

/* ---- when to read ---- */

enum { DUE_MOST = 1024 };

/* True if the list is due for an instruction that it does not know. */
static bool is_reading_due(void) {
  uint32_t opens = hak_load(&g_loaded_opens);
  if (opens != hak_load(&g_unwind_modules.opens)) {
    hak_store(&g_unwind_modules.opens, opens);
    hak_store(&g_unwind_modules.due, 0);
  }
  uint32_t unknown = hak_add(&g_unwind_modules.unknown, 1);
  return unknown >= hak_load(&g_unwind_modules.due);
}

/* Reads the list for pc, and waits longer for the next time if pc is in no module with tables all the same. */
static bool read_for(uint64_t pc, struct hak_unwind_module *module) {
  read_anew();
  bool found = find_known(pc, module), has_table = found && module->table.header != 0;
  uint32_t due = hak_load(&g_unwind_modules.due);
  hak_store(&g_unwind_modules.unknown, 0);
  hak_store(&g_unwind_modules.due, has_table ? 0 : (uint32_t)hak_min(2 * due + 1, DUE_MOST));
  return found;
}

/* Where the list could not be read again, code is left without the tables that went. */
bool hak_unwind_module_at(uint64_t pc, bool bare, struct hak_unwind_module *module) {
  bool found = find_known(pc, module), has_table = found && module->table.header != 0;
  if (has_table && is_still_there(module)) return true;
  if (!bare && (has_table || is_reading_due())) found = read_for(pc, module);
  if (found && module->table.header != 0 && !is_still_there(module)) module->table.header = 0;
  return found;
}

static bool copy_module(unsigned n, struct hak_unwind_module *module) {
  hak_lock_take(&g_unwind_modules.lock);
  const struct module_list *list = g_unwind_modules.list;
  bool has = list != NULL && n < list->count;
  if (has) *module = list->module[n];
  hak_lock_drop(&g_unwind_modules.lock);
  return has;
}

static bool are_all_there(void) {
  struct hak_unwind_module module;
  for (unsigned n = 0; copy_module(n, &module); n++) {
    if (module.table.header != 0 && !is_still_there(&module)) return false;
  }
  return true;
}

uint64_t hak_unwind_generation(bool bare) {
  uint32_t opens = hak_load(&g_loaded_opens);
  if (HAK_UNLIKELY(!bare && opens != hak_load(&g_unwind_modules.looked))) {
    hak_store(&g_unwind_modules.looked, opens);
    if (!are_all_there()) read_anew();
  }
  return hak_load(&g_unwind_modules.generation);
}
