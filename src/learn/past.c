/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* past.c: what earlier runs of a program say of the next one; see past.h.
 *
 * what      Bytes that are out were given back and not fetched again; between two looks they change evenly.
 *           Runs and big blocks serve any size: what is out of these is what they are below their most. What comes back
 *           in was fetched again. Empty pages of slabs serve one size class: kept, they would lie beside all that other
 *           classes take. So they are out as long as they lie empty, and none of them counts as fetched again.
 */
#include "learn/past.h"

#include "base/atomic.h"
#include "base/bits.h"
#include "os/os.h"
#include "reclaim/peak_limit.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/huge.h"
#include "retain/rent.h"

enum {
  FOLLOWS = 4,
  AGAIN = 16,
  MEMORY = 4,       /* a run counts 1/4 in a mean */
  LEAST_US = 500,   /* paid: less is not worth a change, */
  LEAST_PART = 100, /* nor is less than 1 / LEAST_PART of a run's time: where blocks lie changes, and is worth more */
  LEAST_MS = 100, LONGEST_MS = 60000, /* of the time to keep */
  LOOK_NS = 50000,  /* a look takes at most so long, and a page's cost for each page given back, unless interrupted */
  MARGIN_PART = 4,  /* 3/4 of what was paid must be more than keeping would have cost */
  DOUBT = 4,        /* what keeping costs counts so much more after a run that grew by it */
  ROOM_PART = 4,    /* 1/4 more than the largest heap so far may be kept */
  SMALL_KIB = 2048, /* a heap that is left alone */
  US_NS = 1000, US_PER_MS = 1000, MS_NS = 1000000, KIB_SHIFT = 10, MIB_SHIFT = 20
};

#define UNMEASURED UINT32_MAX /* paid_us: the next run is the first that measures */

struct out {
  uint64_t given, bytes; /* [bytes] given back so far; of these out at the last look */
};

static HAK_RARE struct {
  bool begun, keeps;
  struct hak_past before;
  uint64_t begun_ms, since_ns; /* since_ns: the end of the last look */
  uint64_t most, most_runs; /* [bytes] of the footprint, and with the empty pages of slabs */
  struct out runs, pages;   /* of runs and big blocks; of pages of slabs */
  uint64_t again;           /* [bytes] of runs and big blocks fetched again */
  uint64_t kept;        /* [KiB x us] */
  uint64_t ns;          /* in looks */
} g_past;

/* ---- the next run ---- */

/* More paid than a run's time: a row that no run wrote. */
static bool pays(const struct hak_past *row) {
  if (row->paid_us == UNMEASURED || row->paid_us / US_PER_MS > row->life_ms) return false;
  if (row->paid_us < (uint64_t)row->life_ms * US_PER_MS / LEAST_PART) return false;
  uint64_t price = hak_min(hak_setting(price), UINT32_MAX); /* [ns per MiB and s]: 1e-6 us per MiB and ms */
  return row->paid_us >= LEAST_US && row->paid_us - row->paid_us / MARGIN_PART > row->kept_mib_ms * price / 1000000;
}

static uint64_t past_room(const struct hak_past *row) {
  uint64_t bytes = (uint64_t)row->peak_kib << KIB_SHIFT;
  return bytes + bytes / ROOM_PART;
}

static void keep(const struct hak_past *row, uint64_t now_ms) {
  uint64_t ms = hak_min(hak_max((uint64_t)row->life_ms * FOLLOWS, LEAST_MS), LONGEST_MS);
  hak_rent_keep_until(now_ms + ms, past_room(row));
}

void hak_past_begin(const struct hak_past *before, bool acts, bool always) {
  uint64_t now_ms = hak_os_now_ms();
  g_past.before = *before;
  g_past.begun_ms = now_ms;
  g_past.since_ns = now_ms * MS_NS;
  g_past.keeps = acts && pays(before) && (always || before->runs % AGAIN != AGAIN - 1);
  if (g_past.keeps) keep(before, now_ms);
  bool large = acts && before->peak_kib >= HAK_HUGE_LEAST >> KIB_SHIFT;
  if (large) hak_store(&g_footprint.foreseen, HAK_HUGE_LEAST - hak_os_huge_bytes());
  hak_store_release(&g_past.begun, true);
}

void hak_past_heed(void) {
  uint64_t mode = hak_setting(mode);
  if (mode == HAK_MODE_EVOLVING || mode == HAK_MODE_FROZEN) return;
  hak_rent_keep_until(0, 0);
  hak_store(&g_footprint.foreseen, 0);
}

/* ---- this run ---- */

static uint64_t mean_to(struct out *out, uint64_t bytes) {
  uint64_t before = out->bytes;
  out->bytes = hak_min(out->given, bytes);
  return (before + out->bytes) / 2;
}

static void give(struct out *out, uint64_t bytes) {
  out->given += bytes;
  out->bytes += bytes;
}

static uint64_t runs_of(const struct hak_look *look) { return look->footprint + look->empty; }

/* To the beginning of a look. The time of looks is no time out: a run that keeps does not spend it. */
static void pass_to(const struct hak_look *look) {
  uint64_t us = hak_less(look->begun_ns, g_past.since_ns) / US_NS, before = g_past.runs.bytes;
  g_past.most = hak_max(g_past.most, hak_max(look->footprint, hak_load(&g_peak.bytes)));
  g_past.most_runs = hak_max(g_past.most_runs, runs_of(look));
  uint64_t out = mean_to(&g_past.runs, g_past.most_runs - runs_of(look)) + mean_to(&g_past.pages, look->empty);
  g_past.again += hak_less(before, g_past.runs.bytes);
  g_past.kept += (out >> KIB_SHIFT) * us;
  g_past.since_ns = look->begun_ns;
}

static struct hak_look look_now(void) {
  return (struct hak_look){hak_os_now_ns(), hak_footprint(), hak_load(&g_footprint.empty)};
}

/* [ns] */
static uint64_t time_between(const struct hak_look *begin, const struct hak_look *end) {
  uint64_t pages = hak_less(begin->footprint, end->footprint) / hak_os_page_bytes();
  return hak_min(hak_less(end->begun_ns, begin->begun_ns), LOOK_NS + pages * hak_cost_page());
}

void hak_past_looked(const struct hak_look *look) {
  if (!hak_load_acquire(&g_past.begun)) return;
  struct hak_look end = look_now();
  pass_to(look);
  give(&g_past.runs, hak_less(runs_of(look), runs_of(&end)));
  give(&g_past.pages, hak_less(end.empty, look->empty));
  g_past.ns += time_between(look, &end);
  g_past.since_ns = end.begun_ns;
}

/* ---- means ---- */

static void fold(uint32_t *mean, uint64_t value, uint32_t runs) {
  uint64_t weight = hak_min(runs, (uint32_t)MEMORY - 1) + 1;
  *mean = (uint32_t)((*mean * (weight - 1) + hak_min(value, UINT32_MAX)) / weight);
}

/* A page's cost has the time to give it back, so the looks' time counts as far as pages were not fetched again. */
static uint64_t paid_us(void) {
  uint64_t given = (g_past.runs.given + g_past.pages.given) >> KIB_SHIFT;
  uint64_t again = hak_min(g_past.again >> KIB_SHIFT, given), us = g_past.ns / US_NS;
  uint64_t again_us = g_past.again / hak_os_page_bytes() * hak_cost_page() / US_NS;
  return again_us + (given != 0 ? us * (given - again) / given : us);
}

/* A run that kept its memory measured nothing. After one that lived longer or grew larger than foreseen the next one
 * measures: it was of another script, or grew by what it kept. */
static void fold_kept(struct hak_past *row, uint64_t life_ms) {
  bool outgrown = g_past.most > past_room(&g_past.before);
  bool outlived = life_ms > (uint64_t)g_past.before.life_ms * FOLLOWS + LEAST_MS;
  if (outgrown || outlived) row->paid_us = UNMEASURED;
  if (outgrown) row->kept_mib_ms = (uint32_t)hak_min((uint64_t)row->kept_mib_ms * DOUBT, UINT32_MAX);
  else fold(&row->peak_kib, g_past.most >> KIB_SHIFT, row->runs);
}

static void fold_measured(struct hak_past *row, uint64_t life_ms) {
  uint64_t most_us = hak_min(life_ms * US_PER_MS, UNMEASURED - 1);
  fold(&row->paid_us, hak_min(paid_us(), most_us), row->paid_us == UNMEASURED ? 0 : row->runs);
  fold(&row->kept_mib_ms, (g_past.kept >> (MIB_SHIFT - KIB_SHIFT)) / US_PER_MS, row->runs);
  fold(&row->peak_kib, g_past.most >> KIB_SHIFT, row->runs);
}

bool hak_past_counts(void) {
  uint64_t most = hak_max(hak_max(g_past.most, hak_load(&g_peak.bytes)), hak_footprint());
  return g_past.begun && most >> KIB_SHIFT >= SMALL_KIB;
}

void hak_past_add(struct hak_past *row) {
  struct hak_look end = look_now();
  uint64_t life_ms = hak_less(end.begun_ns / MS_NS, g_past.begun_ms);
  pass_to(&end);
  if (g_past.keeps) fold_kept(row, life_ms);
  else fold_measured(row, life_ms);
  fold(&row->life_ms, life_ms, row->runs);
  row->runs += row->runs != UINT32_MAX;
}
