/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_modules.c: executable mappings, for readers of call sites.
 *
 * what      See trace_modules.h.
 * owner     g_modules.
 */
#include "record/trace_modules.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/lock.h"
#include "os/maps.h"
#include "os/os.h"
#include "record/trace_chunks.h"

enum { RANGES = 1024, LOOKS = 64 };

struct range {
  uint64_t first, end;
};

static HAK_RARE struct {
  struct hak_lock lock;
  unsigned looks; /* readings of /proc/self/maps left */
  unsigned ranges;
  struct range range[RANGES];
  char text[HAK_MAPS_TEXT_BYTES];
  struct hak_chunk chunk;      /* while records are written */
  struct hak_trace_head *head; /* the open record; NULL: no open record */
  size_t used;                 /* bytes of the open record */
} g_modules;

static bool is_site_known(uint64_t site) {
  unsigned n = hak_load_acquire(&g_modules.ranges);
  for (unsigned i = 0; i < n; i++) {
    if (site >= g_modules.range[i].first && site < g_modules.range[i].end) return true;
  }
  return false;
}

/* ---- records ---- */

static void close_modules(void) {
  if (g_modules.head != NULL) hak_chunks_close(&g_modules.chunk, g_modules.used);
  if (g_modules.chunk.base != NULL) hak_chunks_put(&g_modules.chunk);
  g_modules.head = NULL;
}

static bool open_modules(size_t bytes, uint64_t now) {
  struct hak_trace_head with = {.kind = HAK_TRACE_MODULES, .ns = now};
  close_modules();
  if (!hak_chunks_take(&g_modules.chunk, bytes, now)) return false;
  g_modules.head = hak_chunks_record(&g_modules.chunk, &with);
  g_modules.used = 0;
  return true;
}

static bool fits(size_t bytes) {
  if (g_modules.head == NULL) return false;
  size_t used = g_modules.chunk.used + sizeof *g_modules.head + g_modules.used;
  return used + bytes <= HAK_CHUNK_BYTES;
}

static bool write_line(const char *line, size_t bytes, uint64_t now) {
  if (!fits(bytes) && !open_modules(bytes, now)) return false;
  memcpy((char *)(g_modules.head + 1) + g_modules.used, line, bytes);
  g_modules.used += bytes;
  hak_chunks_grow(g_modules.head, g_modules.used, 0);
  return true;
}

/* ---- mappings ---- */

static bool is_noted(struct range range) {
  for (unsigned i = 0; i < g_modules.ranges; i++) {
    if (g_modules.range[i].first == range.first && g_modules.range[i].end == range.end) return true;
  }
  return false;
}

static void note_module(const struct hak_map *map, void *now) {
  struct range range = {map->first, map->end};
  if (!map->executable || is_noted(range) || g_modules.ranges == RANGES) return;
  if (!write_line(map->line, map->line_bytes, *(const uint64_t *)now)) return;
  g_modules.range[g_modules.ranges] = range;
  hak_store_release(&g_modules.ranges, g_modules.ranges + 1);
}

static void look(uint64_t now) {
  g_modules.looks--;
  hak_maps_visit(g_modules.text, note_module, &now);
  close_modules();
}

/* ---- begin, end, new sites ---- */

void hak_modules_begin(void) {
  hak_lock_take(&g_modules.lock);
  hak_store(&g_modules.ranges, 0);
  g_modules.looks = LOOKS;
  g_modules.head = NULL;
  g_modules.chunk = (struct hak_chunk){NULL, 0};
  look(hak_os_now_ns());
  hak_lock_drop(&g_modules.lock);
}

void hak_modules_end(void) {
  hak_lock_take(&g_modules.lock);
  hak_store(&g_modules.looks, 0);
  hak_lock_drop(&g_modules.lock);
}

bool hak_modules_are_known(uint64_t site) { return is_site_known(site) || hak_load(&g_modules.looks) == 0; }

void hak_modules_learn(uint64_t site, uint64_t now) {
  hak_lock_take(&g_modules.lock);
  if (!hak_modules_are_known(site)) look(now);
  hak_lock_drop(&g_modules.lock);
}
