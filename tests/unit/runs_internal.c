/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_internal.c: runs/runs.c and runs_purge.c with their internals exposed.
 *
 * what      See internal.h. The predicate walks the unit table, then every bin and the queue, and compares the results.
 * owner     g_runs, as in the module.
 * failure   See internal.h.
 * not here  Tests.
 */
#include "fences.h"

#include "runs/runs.c"
#include "runs/runs_purge.c"

#include <string.h>

#include "internal.h"

uint32_t hak_inside_span_cut(size_t need, size_t *units, bool *clean) {
  hak_runs_lock();
  uint32_t first = hak_runs_cut_locked(need, units, clean);
  hak_runs_unlock();
  return first;
}

struct hak_lock *hak_inside_span_lock(void) { return &g_runs.lock; }
uint32_t *hak_inside_span_opening(void) { return &g_runs.opening; }

void hak_inside_span_damage(void) {
  memset(&g_runs.clean, 0x5a, sizeof g_runs.clean);
  memset(&g_runs.dirty, 0x5a, sizeof g_runs.dirty);
  memset(&g_runs_unmapped, 0x5a, sizeof g_runs_unmapped);
  g_runs.oldest = g_runs.youngest = 7;
  for (uint32_t u = 1; u < g_range.units; u++) {
    struct hak_unit *e = hak_range_entry(u);
    e->next = e->previous = 7;
    if (e->kind == HAK_UNIT_DIRTY) e->older = e->newer = 7;
  }
}

/* The two ends of a free run agree, and no free neighbour of the same sort is left unmerged. */
static const char *free_run_wrong(uint32_t u) {
  struct hak_unit *e = hak_range_entry(u), *last = hak_range_entry(u + e->length - 1);
  if (e->head != u || last->head != u) return "an end of a free run names another first unit";
  if (last->kind != e->kind) return "the ends of a free run are of two sorts";
  for (uint32_t i = 1; i + 1 < e->length; i++) {
    if (is_free(&e[i])) return "a unit inside a free run looks like the end of one";
  }
  if (u + e->length < g_range.units && last[1].kind == e->kind) return "neighbours of one sort were not merged";
  return NULL;
}

static const char *used_run_wrong(uint32_t u) {
  struct hak_unit *e = hak_range_entry(u);
  if (e->head != u) return "a used run's first unit names another";
  for (uint32_t i = 1; i < e->length; i++) {
    if (e[i].kind != HAK_UNIT_TAIL || e[i].head != u) return "a used run's rest is not marked";
  }
  return NULL;
}

struct census {
  size_t runs[HAK_RUNS_SORTS], units[HAK_RUNS_SORTS];
};

static const char *table_wrong(struct census *seen) {
  for (uint32_t u = 1; u < g_range.units;) {
    struct hak_unit *e = hak_range_entry(u);
    if (e->kind == HAK_UNIT_HOLE) {
      u++;
      continue;
    }
    if (e->length == 0 || u + e->length > g_range.units) return "a run has no right length";
    const char *wrong = is_free(e) ? free_run_wrong(u) : used_run_wrong(u);
    if (wrong != NULL) return wrong;
    if (is_free(e)) {
      seen->runs[e->kind - HAK_UNIT_CLEAN]++;
      seen->units[e->kind - HAK_UNIT_CLEAN] += e->length;
    }
    u += e->length;
  }
  return NULL;
}

static const char *bin_wrong(struct hak_runs_bins *bins, unsigned b, uint8_t kind, size_t *runs) {
  uint32_t before = HAK_NO_UNIT;
  for (uint32_t u = bins->first[b]; u != HAK_NO_UNIT; u = hak_range_entry(u)->next, ++*runs) {
    struct hak_unit *e = hak_range_entry(u);
    if (e->kind != kind) return "a run is in the other sort's bins";
    if (bin_of_length(e->length) != b) return "a run is in another length's bin";
    if (e->previous != before) return "a bin's links do not agree";
    before = u;
  }
  return (bins->filled[b / 64] >> b % 64 & 1) == (before != HAK_NO_UNIT) ? NULL : "a bin's bit is wrong";
}

static const char *bins_wrong(struct hak_runs_bins *bins, uint8_t kind, size_t runs) {
  size_t found = 0;
  for (unsigned b = 0; b < HAK_RUNS_BINS; b++) {
    const char *wrong = bin_wrong(bins, b, kind, &found);
    if (wrong != NULL) return wrong;
  }
  return found == runs ? NULL : "a free run is in no bin";
}

/* Every dirty run stands in the queue. */
static const char *queue_wrong(size_t runs) {
  uint32_t before = HAK_NO_UNIT;
  size_t found = 0;
  for (uint32_t u = g_runs.oldest; u != HAK_NO_UNIT; u = hak_range_entry(u)->newer, found++) {
    const struct hak_unit *e = hak_range_entry(u);
    if (e->kind != HAK_UNIT_DIRTY || e->head != u) return "something else than a dirty run stands in the queue";
    if (e->older != before) return "the queue's links do not agree";
    before = u;
  }
  if (g_runs.youngest != before) return "the queue's end is another run";
  return found == runs ? NULL : "a dirty run is not in the queue";
}

uint64_t hak_inside_runs_keep_limit(void) {
  hak_watermark_set_rent(&g_runs.level, hak_rent_ms((size_t)2 << 20));
  hak_watermark_note(&g_runs.level, g_runs.level.live, hak_load(&g_rent.now_ms));
  return hak_rent_keep_limit(&g_runs.level, 0);
}

const char *hak_inside_span_wrong(void) {
  struct census seen = {0};
  const char *wrong = table_wrong(&seen);
  struct hak_runs_bins *const bins[HAK_RUNS_SORTS] = {&g_runs.clean, &g_runs.dirty, &g_runs_unmapped};
  for (unsigned sort = 0; wrong == NULL && sort < HAK_RUNS_SORTS; sort++) {
    wrong = bins_wrong(bins[sort], (uint8_t)(HAK_UNIT_CLEAN + sort), seen.runs[sort]);
    if (wrong == NULL && g_runs.units[sort] != seen.units[sort]) wrong = "the sum of the free runs' units is wrong";
  }
  return wrong != NULL ? wrong : queue_wrong(seen.runs[HAK_UNIT_DIRTY - HAK_UNIT_CLEAN]);
}

uint64_t hak_inside_span_live(void) { return g_runs.level.live; }
