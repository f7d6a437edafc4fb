/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* past.c: what earlier runs of a program say of the next one; see past.h.
 *
 * what      Bytes that are out are those given back, as far as the footprint is below its most; between two looks they
 *           change evenly.
 */
#include "learn/past.h"

#include "base/bits.h"
#include "os/os.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/huge.h"
#include "retain/rent.h"

enum {
  FOLLOWS = 4,
  AGAIN = 16,
  MEMORY = 4,       /* a run counts 1/4 in a mean */
  LEAST_US = 500,   /* paid: less is not worth a change */
  LEAST_MS = 100,   /* the shortest time to keep */
  SMALL_KIB = 2048, /* a heap that is left alone */
  US_NS = 1000, MS_NS = 1000000, KIB_SHIFT = 10, MIB_SHIFT = 20
};

static HAK_RARE struct {
  bool begun, keeps;
  struct hak_past before;
  uint64_t begun_ms, since_ms;
  uint64_t most, out;   /* [bytes] at the last look */
  uint64_t given, again; /* [bytes] given back; of these fetched again */
  uint64_t kept;        /* [KiB x ms] */
  uint64_t ns;          /* in looks */
} g_past;

/* ---- the next run ---- */

static bool pays(const struct hak_past *row) {
  uint64_t price = hak_min(hak_setting(price), UINT32_MAX); /* [ns per MiB and s]: 1e-6 us per MiB and ms */
  return row->paid_us >= LEAST_US && row->paid_us > row->kept_mib_ms * price / 1000000;
}

void hak_past_begin(const struct hak_past *before, bool acts, bool always) {
  uint64_t now_ms = hak_os_now_ms();
  g_past.begun = true;
  g_past.before = *before;
  g_past.begun_ms = g_past.since_ms = now_ms;
  g_past.keeps = acts && pays(before) && (always || before->runs % AGAIN != AGAIN - 1);
  if (g_past.keeps) hak_rent_keep_until(now_ms + hak_max((uint64_t)before->life_ms * FOLLOWS, LEAST_MS));
  bool large = acts && before->peak_kib >= HAK_HUGE_LEAST >> KIB_SHIFT;
  if (large) hak_store(&g_footprint.foreseen, HAK_HUGE_LEAST - hak_os_huge_bytes());
}

/* ---- this run ---- */

static uint64_t out_at(uint64_t footprint) { return hak_min(g_past.given, hak_less(g_past.most, footprint)); }

static void count_idle(uint64_t footprint, uint64_t now_ms) {
  g_past.most = hak_max(g_past.most, footprint);
  uint64_t out = out_at(footprint);
  g_past.kept += ((g_past.out + out) / 2 >> KIB_SHIFT) * hak_less(now_ms, g_past.since_ms);
  g_past.again += hak_less(g_past.out, out);
  g_past.out = out;
  g_past.since_ms = now_ms;
}

void hak_past_looked(uint64_t footprint, uint64_t begun_ns) {
  if (!g_past.begun) return;
  uint64_t after = hak_footprint();
  count_idle(footprint, begun_ns / MS_NS);
  g_past.given += hak_less(footprint, after);
  g_past.out = out_at(after);
  g_past.ns += hak_less(hak_os_now_ns(), begun_ns);
}

/* ---- means ---- */

static void fold(uint32_t *mean, uint64_t value, uint32_t runs) {
  uint64_t weight = hak_min(runs, (uint32_t)MEMORY - 1) + 1;
  *mean = (uint32_t)((*mean * (weight - 1) + hak_min(value, UINT32_MAX)) / weight);
}

static uint64_t paid_us(void) {
  uint64_t again_ns = g_past.again / hak_os_page_bytes() * hak_cost_page();
  return (g_past.ns + again_ns) / US_NS;
}

/* A run that kept its memory measured nothing; one that lived longer than foreseen makes the next one measure. */
static void fold_cost(struct hak_past *row, uint64_t life_ms) {
  bool outlived = g_past.keeps && life_ms > (uint64_t)g_past.before.life_ms * FOLLOWS + LEAST_MS;
  if (outlived) row->paid_us = 0;
  if (g_past.keeps) return;
  fold(&row->paid_us, paid_us(), row->runs);
  fold(&row->kept_mib_ms, g_past.kept >> (MIB_SHIFT - KIB_SHIFT), row->runs);
}

bool hak_past_counts(void) {
  return g_past.begun && hak_max(g_past.most, hak_footprint()) >> KIB_SHIFT >= SMALL_KIB;
}

void hak_past_add(struct hak_past *row) {
  uint64_t now_ms = hak_os_now_ms(), life_ms = hak_less(now_ms, g_past.begun_ms);
  count_idle(hak_footprint(), now_ms);
  fold_cost(row, life_ms);
  fold(&row->life_ms, life_ms, row->runs);
  fold(&row->peak_kib, g_past.most >> KIB_SHIFT, row->runs);
  row->runs += row->runs != UINT32_MAX;
}
