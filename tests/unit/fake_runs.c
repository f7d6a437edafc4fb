/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fake_runs.c: runs of units out of an inaccessible arena.
 *
 * what      See fake_runs.h.
 * owner     fake_span.
 * locks     A mutex of this file.
 * orders    Under the lock.
 * failure   See fake_runs.h.
 */
#include "fake_runs.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "blocks/slab.h"
#include "runs/region.h"
#include "runs/runs.h"

struct fake_span fake_span;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hak_unit entries[FAKE_SPAN_UNITS];
static uint8_t map[FAKE_SPAN_UNITS];
static bool used[FAKE_SPAN_UNITS];

void fake_span_start(void) {
  size_t bytes = FAKE_SPAN_UNITS * HAK_UNIT_BYTES;
  char *p = mmap(NULL, bytes + HAK_UNIT_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) abort();
  g_range.base = hak_round_up((uintptr_t)p, HAK_UNIT_BYTES);
  g_range.map = map;
  g_range.unit = entries;
  g_range.mapped = bytes;
  hak_store_release(&g_range.units, FAKE_SPAN_UNITS);
  used[0] = true;
  fake_span.permits = UINT64_MAX;
}

static uint32_t find(size_t units) {
  size_t run = 0;
  for (uint32_t u = 1; u < FAKE_SPAN_UNITS; u++) {
    run = used[u] ? 0 : run + 1;
    if (run == units) return u + 1 - (uint32_t)units;
  }
  return HAK_NO_UNIT;
}

static void mark(uint32_t first, size_t units, enum hak_unit_kind kind, unsigned c) {
  for (uint32_t u = first; u < first + units; u++) {
    used[u] = kind != HAK_UNIT_CLEAN;
    entries[u].head = first;
    hak_store(&entries[u].kind, (uint8_t)(u == first || kind == HAK_UNIT_CLEAN ? kind : HAK_UNIT_TAIL));
  }
  entries[first].size_class = (uint8_t)c;
  entries[first].length = (uint32_t)units;
}

uint32_t hak_runs_get(size_t units, size_t align, enum hak_unit_kind kind, unsigned c, bool *clean,
                      struct hak_opened *opened) {
  pthread_mutex_lock(&lock);
  if (align != 1 || kind != HAK_UNIT_SLAB) fake_span.wrong = "a slab asked for something odd";
  uint32_t first = fake_span.permits == 0 ? HAK_NO_UNIT : find(units);
  if (first != HAK_NO_UNIT) {
    fake_span.gets++;
    fake_span.permits -= fake_span.permits != UINT64_MAX;
    fake_span.units_out += units;
    fake_span.runs_out++;
    mark(first, units, kind, c);
    *clean = !fake_span.dirty;
    if (opened != NULL && fake_span.opens) *opened = (struct hak_opened){first, first + (uint32_t)units, 1, false};
  }
  pthread_mutex_unlock(&lock);
  return first;
}

/* Hangs if the caller holds the lock of the slab's class. */
bool hak_runs_fetch_opened(const struct hak_opened *opened) {
  uint64_t units;
  hak_slab_handed_out(entries[opened->region].size_class, &units);
  fake_span.fetches++;
  return true;
}

void hak_runs_close_opened(struct hak_opened *opened) {
  fake_span.closes++;
  opened->units = 0;
}

size_t hak_runs_put(uint32_t first) {
  pthread_mutex_lock(&lock);
  size_t units = entries[first].length;
  for (size_t i = 0; i < units; i++) {
    if (map[first + i] != 0) fake_span.wrong = "a unit went back that the class map still names";
  }
  if (entries[first].words != NULL) fake_span.wrong = "a slab went back with its bitmap";
  fake_span.puts++;
  fake_span.units_out -= units;
  fake_span.runs_out--;
  mark(first, units, HAK_UNIT_CLEAN, 0);
  pthread_mutex_unlock(&lock);
  return units << HAK_UNIT_SHIFT;
}

void hak_runs_put_clean(uint32_t first) {
  hak_runs_put(first);
  fake_span.clean_puts++;
}

bool hak_runs_extend(uint32_t first, size_t more) { return first == 0 && more == 0; }
void hak_runs_shorten(uint32_t first, size_t units) { entries[first].length = (uint32_t)units; }
size_t hak_runs_purge(size_t keep) { return keep * 0; }
void hak_runs_bytes(uint64_t *dirty, uint64_t *clean) { *dirty = *clean = 0; }
bool hak_region_keep(uint32_t first, size_t units) { return fake_span.dense && first != 0 && units != 0; }
void hak_region_break(uint32_t first, size_t units) { fake_span.breaks += first != 0 && units != 0; }
