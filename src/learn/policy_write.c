/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy_write.c: learnt rows, as text.
 *
 * what      See policy.h.
 */
#include <errno.h>
#include <string.h>

#include "base/fmt.h"
#include "learn/policy_internal.h"
#include "os/text.h"
#include "os/trusted.h"
#include "reclaim/release.h"
#include "tables/site.h"

/* The state of the file so far. */
struct writer {
  struct hak_draft *draft;
  struct hak_line line;
  uint64_t sum;
  unsigned lines;
};

static void end_policy_line(struct writer *w) {
  hak_line_text(&w->line, "\n");
  w->sum = hak_sum(w->sum, w->line.text, w->line.used);
  w->lines++;
  hak_draft_put(w->draft, w->line.text, w->line.used);
  hak_line_start(&w->line);
}

static void put_number(struct writer *w, uint64_t value) {
  hak_line_text(&w->line, " ");
  hak_line_dec(&w->line, value);
}

/* ARM WAITS PAID x 8, and the line's end. */
static void put_row(struct writer *w, const struct hak_learnt *learnt) {
  put_number(w, learnt->arm);
  put_number(w, learnt->row.weight);
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) put_number(w, learnt->row.paid[arm]);
  end_policy_line(w);
}

/* ---- the process and its bins ---- */

/* No look at free memory meanwhile. */
static void add_run(struct hak_past *row) {
  if (!hak_release_hold()) return;
  if (hak_past_counts()) hak_past_add(row);
  hak_release_let_go();
}

/* row: of the file now, so that runs at the same time count one after the other. */
static void put_past(struct writer *w, struct hak_past row, bool add) {
  if (add) add_run(&row);
  if (row.runs == 0) return;
  hak_line_text(&w->line, "past");
  put_number(w, row.runs);
  put_number(w, row.life_ms);
  put_number(w, row.peak_kib);
  put_number(w, row.paid_us);
  put_number(w, row.kept_mib_ms);
  end_policy_line(w);
}

static void put_general(struct writer *w) {
  unsigned n = hak_big_learnt(0, g_policy.row);
  for (unsigned i = 0; i < n; i++) {
    const struct hak_learnt *learnt = &g_policy.row[i];
    hak_line_text(&w->line, learnt->bin == HAK_ANY ? "process" : "bin");
    if (learnt->bin != HAK_ANY) put_number(w, learnt->bin);
    put_row(w, learnt);
  }
}

/* ---- learners ---- */

static void put_learner(struct writer *w, const struct hak_row_kind *kind) {
  uint64_t number[HAK_ROW_NUMBERS];
  for (unsigned place = 0; place < kind->places; place++) {
    if (!hak_row_out(kind, place, number)) continue;
    hak_line_text(&w->line, kind->word);
    for (unsigned i = 0; i < kind->numbers; i++) put_number(w, number[i]);
    end_policy_line(w);
  }
}

static void put_learners(struct writer *w) {
  const struct hak_row_kind *kind;
  for (unsigned n = 0; (kind = hak_row_kind(n)) != NULL; n++) put_learner(w, kind);
}

/* ---- sites ---- */

static void put_module(struct writer *w, const struct hak_loaded *module) {
  hak_line_text(&w->line, module->id_bytes != 0 ? "module " : "module -");
  hak_line_hex_bytes(&w->line, module->id, module->id_bytes);
  hak_line_text(&w->line, " ");
  hak_line_text(&w->line, module->name);
  end_policy_line(w);
}

static void put_site(struct writer *w, const struct hak_learnt *learnt, uint64_t base) {
  hak_line_text(&w->line, "site ");
  hak_line_hex(&w->line, learnt->address - base);
  put_number(w, learnt->depth);
  put_number(w, learnt->bin);
  put_row(w, learnt);
}

static bool has(const struct hak_loaded *module, uint64_t address) {
  return address >= module->first && address < module->end;
}

/* A module's line is written before the module's first site. */
static void put_sites_of(struct writer *w, const struct hak_loaded *module) {
  bool named = false;
  for (unsigned n = 1; n < hak_site_end() && w->lines < HAK_POLICY_LINES - HAK_LEADER_BINS - 2; n++) {
    unsigned rows = has(module, hak_load(&g_site[n].address)) ? hak_big_learnt(n, g_policy.row) : 0;
    if (rows != 0 && !has(module, g_policy.row[0].address)) continue; /* another site's record since */
    if (rows != 0 && !named) put_module(w, module);
    named |= rows != 0;
    for (unsigned i = 0; i < rows; i++) put_site(w, &g_policy.row[i], module->base);
  }
}

/* ---- rows of further programs ---- */

static void put_other(void *to, const char *line, size_t bytes) {
  struct writer *w = to;
  if (w->lines >= HAK_POLICY_LINES - 1 || bytes >= sizeof w->line.text) return;
  memcpy(w->line.text, line, bytes);
  w->line.text[bytes] = '\0';
  w->line.used = bytes;
  end_policy_line(w);
}

static void put_end(struct writer *w) {
  uint64_t sum = __builtin_bswap64(w->sum);
  hak_line_text(&w->line, "end");
  put_number(w, w->lines);
  hak_line_text(&w->line, " ");
  hak_line_hex_bytes(&w->line, (const uint8_t *)&sum, sizeof sum);
  end_policy_line(w);
}

static int write_alone(const char *path, bool past) {
  static HAK_RARE struct writer w; /* under the lock, as the stack may be small */
  struct hak_policy_read before = hak_policy_join_locked(path);
  if (before.error == EPROTONOSUPPORT) return before.error;
  w.draft = &g_policy.draft;
  w.sum = HAK_SUM_FIRST;
  w.lines = 0;
  hak_line_start(&w.line);
  hak_draft_begin(w.draft, path);
  hak_line_text(&w.line, "hakmem-policy");
  put_number(&w, HAK_POLICY_FORMAT);
  end_policy_line(&w);
  put_past(&w, before.past, past);
  put_general(&w);
  put_learners(&w);
  for (unsigned i = 0; i < g_policy.modules; i++) put_sites_of(&w, &g_policy.module[i]);
  hak_policy_visit_others_locked(path, put_other, &w);
  put_end(&w);
  int error = (int)-hak_draft_end(w.draft, path);
  if (error != 0) return error;
  if (!hak_policy_goes_on_from(path)) return 0;
  g_policy.sum = hak_policy_sum(w.sum);
  hak_rows_are_in_file();
  return 0;
}

/* Processes that write the same file take turns, so each finds the rows of earlier writers. */
int hak_policy_write_locked(const char *path, bool past) {
  long folder = hak_trusted_lock(path);
  int error = write_alone(path, past);
  if (folder >= 0) hak_text_close(folder);
  return error;
}
