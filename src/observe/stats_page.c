/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stats_page.c: the state of the process in a file, for other processes to read.
 *
 * what      See stats_page.h.
 * owner     g_stats_page.
 */
#include "observe/stats_page.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/str.h"
#include "base/time_budget.h"
#include "blocks/big.h"
#include "cache/account.h"
#include "hakmem/hakmem.h"
#include "observe/stats.h"
#include "os/claim.h"
#include "os/fork.h"
#include "os/os.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/huge.h"
#include "tables/counters.h"
#include "tables/extents.h"
#include "tables/meta.h"
#include "tables/range.h"
#include "tables/settings.h"
#include "tables/shared_file.h"
#include "tables/site.h"
#include "tables/snapshot.h"
#include "tables/threshold.h"

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

enum kind { COUNTED, STATE };
enum unit { UNIT_pieces, UNIT_bytes, UNIT_ns };
enum { TIMES = 8 };

enum state {
#define STAT(name, label, unit, help) STATE_##name,
#define STATE(name, unit, help) STATE_##name,
#include "tables/stats.def"
#undef STAT
#undef STATE
  STATES
};
enum { ROWS = (int)HAK_COUNTERS + (int)STATES, EXTENTS = 4096 };

struct row {
  uint32_t kind, unit;
  uint64_t value;
  char name[HAK_STATE_NAME_BYTES], help[HAK_STATE_HELP_BYTES];
};

static_assert((int)STATES == (int)HAK_STATES, "stats_page.h");

struct page {
  char magic[8];
  uint32_t rows, row_bytes;
  uint64_t sequence, when_ns;
  char version[HAK_VERSION_BYTES];
  uint32_t extents, extent_bytes;
  uint64_t left_out;
  struct row row[ROWS];
  struct hak_extent_row extent[EXTENTS];
};
static_assert(offsetof(struct page, row) == 64 && sizeof(struct row) == 136, "stats_page.h");
static_assert(offsetof(struct page, extent) == 64 + ROWS * sizeof(struct row), "stats_page.h");

#define FITS(name, help)                                                                 \
  static_assert(sizeof #name <= HAK_STATE_NAME_BYTES, "name too long: " #name); \
  static_assert(sizeof help <= HAK_STATE_HELP_BYTES, "help too long: " #name);
#define STAT(name, label, unit, help) FITS(name, help)
#define STATE(name, unit, help) FITS(name, help)
#include "tables/stats.def"
#undef STAT
#undef STATE

static HAK_RARE struct {
  struct page *page;             /* NULL: no page. Written only, never read */
  uint64_t sequence;             /* the page's present sequence */
  struct hak_extent_row *extent; /* filled with locks held; copied without: a store into a file may wait for a disk */
  struct hak_claim claim;        /* held while writing */
  uint64_t written_ns, rest_ns; /* begin of the last write; least time to the next */
  uint64_t took_ns[TIMES], writes; /* durations of the last TIMES writes; all writes */
  struct hak_time_budget budget;
} g_stats_page;

/* ---- names, written at start ---- */

HAK_RARE_CONSTANT const struct hak_state_told hak_states_told[STATES] = {
#define STAT(name, label, unit, help) {UNIT_##unit, #name, help},
#define STATE(name, unit, help) {UNIT_##unit, #name, help},
#include "tables/stats.def"
#undef STAT
#undef STATE
};

HAK_RARE_CONSTANT const char hak_version_text[HAK_VERSION_BYTES] =
    VERSION_TEXT(HAK_VERSION_MAJOR, HAK_VERSION_MINOR, HAK_VERSION_PATCH);

static void name_counter(struct row *row, enum hak_counter_id id) {
  row->kind = COUNTED;
  hak_strcpy(row->name, hak_counter_name(id));
  hak_strcpy(row->help, hak_counter_help(id));
}

static void name_state(struct row *row, const struct hak_state_told *of) {
  row->kind = STATE;
  row->unit = of->unit;
  hak_strcpy(row->name, of->name);
  hak_strcpy(row->help, of->help);
}

static void name_all(struct page *page) {
  memset(page, 0, offsetof(struct page, extent));
  for (unsigned n = 0; n < HAK_COUNTERS; n++) name_counter(&page->row[n], (enum hak_counter_id)n);
  for (unsigned n = 0; n < STATES; n++) name_state(&page->row[HAK_COUNTERS + n], &hak_states_told[n]);
  page->rows = ROWS;
  page->row_bytes = sizeof(struct row);
  page->extent_bytes = sizeof(struct hak_extent_row);
  hak_strcpy(page->version, hak_version_text);
  memcpy(page->magic, "HAKSTA02", sizeof page->magic);
}

/* ---- values ---- */

static void read_states(uint64_t value[STATES]) {
  struct hak_stats stats = {0};
  hak_stats_read(&stats);
#define STAT(name, label, unit, help) value[STATE_##name] = stats.name;
#define STATE(name, unit, help)
#include "tables/stats.def"
#undef STAT
#undef STATE
  value[STATE_footprint] = hak_footprint();
  value[STATE_slab_empty] = hak_load(&g_footprint.empty);
  value[STATE_counted] = hak_setting(count_calls);
  value[STATE_mode] = hak_setting(mode);
  value[STATE_price] = hak_setting(price);
  value[STATE_cost_call] = hak_cost_call();
  value[STATE_cost_page] = hak_cost_page();
  value[STATE_cost_huge] = hak_huge_cost();
  value[STATE_huge_state] = hak_huge_state();
  value[STATE_threshold] = hak_threshold();
  value[STATE_policies] = hak_load(&g_snapshot) >> 48;
}

static struct hak_extents find_extents(void) {
  struct hak_extents list = {.row = g_stats_page.extent, .most = g_stats_page.extent != NULL ? EXTENTS : 0};
  hak_range_extents(&list);
  hak_meta_extents(&list);
  hak_site_extents(&list);
  hak_big_extents(&list);
  return list;
}

static void write_extents(struct page *page, const struct hak_extents *list) {
  for (size_t n = 0; n < list->n; n++) {
    hak_store(&page->extent[n].address, list->row[n].address);
    hak_store(&page->extent[n].bytes, list->row[n].bytes);
    hak_store(&page->extent[n].kind, list->row[n].kind);
  }
  hak_store(&page->extents, (uint32_t)list->n);
  hak_store(&page->left_out, list->left_out);
}

static void write_page(struct page *page, uint64_t now_ns) {
  uint64_t value[STATES], sequence = g_stats_page.sequence;
  read_states(value);
  struct hak_extents list = find_extents();
  hak_store(&page->sequence, sequence + 1);
  hak_fence();
  hak_store(&page->when_ns, now_ns);
  for (unsigned n = 0; n < HAK_COUNTERS; n++)
    hak_store(&page->row[n].value, hak_counter_value((enum hak_counter_id)n));
  for (unsigned n = 0; n < STATES; n++) hak_store(&page->row[HAK_COUNTERS + n].value, value[n]);
  write_extents(page, &list);
  hak_store_release(&page->sequence, sequence + 2);
  g_stats_page.sequence = sequence + 2;
}

/* ---- times ---- */

/* Processor time of a write [ns]: the least of the last TIMES. A write whose thread was preempted took far longer, and
 * the page would rest for 256 times as long. */
static uint64_t least_of_last(uint64_t took_ns) {
  g_stats_page.took_ns[g_stats_page.writes++ % TIMES] = took_ns;
  for (unsigned n = 0; n < TIMES && n < g_stats_page.writes; n++) took_ns = hak_min(took_ns, g_stats_page.took_ns[n]);
  return took_ns;
}

static void write_timed(uint64_t now_ns) {
  write_page(g_stats_page.page, now_ns);
  hak_time_budget_time(&g_stats_page.budget, least_of_last(hak_os_now_ns() - now_ns));
  uint64_t took_ns = hak_time_budget_note_ns(&g_stats_page.budget);
  hak_store(&g_stats_page.written_ns, now_ns);
  hak_store(&g_stats_page.rest_ns, HAK_BUDGET_SHARE * took_ns);
}

/* False in a fork's child, whose page is the parent's. */
static bool may_write_page(void) { return hak_load(&g_fork.generation) == 0 && hak_claim_take(&g_stats_page.claim); }

void hak_stats_page_write(void) {
  uint64_t now_ns = hak_os_now_ns();
  if (now_ns - hak_load(&g_stats_page.written_ns) < hak_load(&g_stats_page.rest_ns) || !may_write_page()) return;
  write_timed(now_ns);
  hak_claim_drop(&g_stats_page.claim);
}

static bool has_time_left(struct hak_time_budget *budget, uint64_t now_ns) {
  uint64_t now_ms = now_ns / HAK_BUDGET_MS_NS;
  if (hak_time_budget_is_over(budget, now_ms)) hak_time_budget_begin(budget, now_ms);
  return budget->left != 0;
}

void hak_stats_page_write_soon(void) {
  uint64_t now_ns = hak_os_now_ns();
  if (!may_write_page()) return;
  if (has_time_left(&g_stats_page.budget, now_ns)) {
    g_stats_page.budget.left--;
    write_timed(now_ns);
  }
  hak_claim_drop(&g_stats_page.claim);
}

void hak_stats_page_start(const char *path) {
  struct page *page = hak_shared_file(
      &(struct hak_shared_file_order){.setting = "stats_file", .path = path, .ending = "", .bytes = sizeof *page});
  if (page == NULL) return;
  name_all(page);
  g_stats_page.extent = hak_os_map(hak_round_up(sizeof page->extent, hak_os_page_bytes()));
  g_stats_page.page = page;
  hak_account_show();
}
