/* ageing.c: free memory grows old and goes back.
 *
 * what      See ageing.h.
 * owner     g_ageing.
 * locks     See ageing.h.
 * orders    See ageing.h.
 * hot path  No.
 * failure   See ageing.h.
 * not here  Learning other times than the rent's.
 */
#include "front/ageing.h"

#include "box/big.h"
#include "box/slab.h"
#include "core/footprint.h"
#include "core/rent.h"
#include "front/drain.h"
#include "front/magazine.h"
#include "os/fork.h"
#include "os/os.h"
#include "span/region.h"
#include "span/span.h"

enum {
  SLACK_LEAST = 1 << 20,  /* so many bytes in slabs may be freed again before empty pages are looked for at once, */
  SLACK_SHARE = 10,       /* besides one tenth of what is live */
  STEP_UNITS = 128,       /* that a step looks at, */
  PASS_UNITS = 4096,      /* that a pass looks at before it looks whether it is to stop */
  STEP_BYTES = 256 << 10, /* and frees until the next one */
  PATIENCE = 100,         /* pages that went for one that was used again at once: fewer, and the next wait longer */
  BUSY_TICKS = 1024,      /* pages of slabs stay for so long while the program is at work, unless they are too many */
  QUIET_MS = 500,         /* nothing was taken from slabs or given back for so long: it is not at work */
  PASS_LEAST_MS = 10,
  PASS_MOST_MS = 1000,
  PASSES_PER_RENT = 4
};

static struct {
  uint64_t claimed;               /* 1 + the generation of forks it was claimed in; 0: it is not */
  uint64_t weighed_ms;            /* when it was last asked whether pages come back */
  struct hak_sweep sweep;
  bool sweeping, urgent;          /* a sweep is under way; it may not wait for pages to grow old, */
  uint32_t wait_ticks;            /* but for so long */
  uint64_t swept_ms;              /* when the last one began */
  uint64_t swept_bytes;           /* that it has brought */
  uint64_t begun_out;             /* bytes of blocks out of slabs when it began */
  uint64_t most_out;              /* the same of the last urgent sweep, or more since */
  uint64_t loose_until_ms;        /* much was freed of late: until then pages need not grow older than their rent */
  struct hak_slab_returns late, seen; /* pages of late; as last seen */
  uint64_t state;                 /* of the heap, as the last pass found it */
  uint64_t changed_ms;            /* when it was last another one */
} g_ageing = {.wait_ticks = 1};

/* What a fork left claimed is nobody's. */
static bool claim(void) {
  uint64_t seen = hak_load(&g_ageing.claimed), mine = 1 + hak_load(&g_fork.generation);
  return seen != mine && hak_cas_acquire(&g_ageing.claimed, &seen, mine);
}

static void give_up_claim(void) { hak_store_release(&g_ageing.claimed, 0); }

/* ---- runs and big blocks ---- */

/* One batch of each, while there are more than may stay; bytes that went. */
static size_t age_runs(void) {
  size_t gone = hak_big_trim(SIZE_MAX);
  return gone + hak_span_age();
}

/* ---- sweeps ---- */

static uint64_t page_rent_ms(void) { return hak_rent_ms(hak_os_page_bytes()); }
static uint32_t page_rent_ticks(void) { return (uint32_t)(page_rent_ms() / HAK_TICK_MS) + 1; }

/* Do pages that went come back at once? Then the next ones wait twice as long, up to a page's rent; else half as long.
 * What was long ago counts less. */
static void weigh_returns(void) {
  struct hak_slab_returns now = hak_slab_returned(), *late = &g_ageing.late;
  uint64_t pages = now.pages - g_ageing.seen.pages, again = now.again - g_ageing.seen.again;
  g_ageing.seen = now;
  late->pages += pages - late->pages / 8;
  late->again += again - late->again / 8;
  if (again * PATIENCE > pages) g_ageing.wait_ticks = (uint32_t)hak_min(g_ageing.wait_ticks * 2, page_rent_ticks());
  else if (late->again * PATIENCE <= late->pages) g_ageing.wait_ticks /= 2;
  g_ageing.wait_ticks = (uint32_t)hak_max(g_ageing.wait_ticks, 1);
}

static void read_clock(void) {
  uint64_t now = hak_os_now_ms();
  hak_store(&g_rent.now_ms, now);
  if (g_ageing.weighed_ms == 0) g_ageing.weighed_ms = g_ageing.swept_ms = now;
  if (now - g_ageing.weighed_ms < hak_rent_piece_ms()) return;
  g_ageing.weighed_ms = now;
  weigh_returns();
}

static uint64_t bytes_out(void) { return hak_slab_bytes() - hak_slab_free_bytes(); }

/* So many more bytes may go back to slabs before pages must go, however young; 0: they must. A steady load never comes
 * so far: what it frees it takes again. */
static uint64_t slack_left(void) {
  uint64_t out = bytes_out(), slack = out / SLACK_SHARE + SLACK_LEAST;
  g_ageing.most_out = hak_max(g_ageing.most_out, out);
  uint64_t freed = g_ageing.most_out - out;
  return freed < slack ? slack - freed : 0;
}

static bool sweep_is_due(void) {
  return hak_load(&g_rent.now_ms) - g_ageing.swept_ms >= page_rent_ms() / PASSES_PER_RENT;
}

static void begin_sweep(bool urgent, uint32_t ticks) {
  g_ageing.sweeping = true;
  g_ageing.urgent = urgent;
  g_ageing.swept_ms = hak_load(&g_rent.now_ms);
  g_ageing.swept_bytes = 0;
  if (!urgent) hak_region_sweep();
  g_ageing.begun_out = bytes_out();
  g_ageing.sweep = (struct hak_sweep){.idle_ticks = ticks};
}

/* Begins a sweep if one is due: for the amount that is free, or because time has passed. */
static void begin_due_sweep(bool too_much) {
  if (too_much) begin_sweep(true, g_ageing.wait_ticks);
  else if (sweep_is_due()) begin_sweep(false, BUSY_TICKS);
}

static void go_on_sweeping(uint32_t units) {
  g_ageing.sweep.units = units;
  g_ageing.swept_bytes += hak_slab_sweep(&g_ageing.sweep);
  g_ageing.sweeping = g_ageing.sweep.at != 0;
  if (!g_ageing.sweeping && g_ageing.urgent) g_ageing.most_out = g_ageing.begun_out;
}

/* Goes on with a sweep, or begins one that is due; how many bytes may become free before the next step. */
static uint64_t sweep_some(void) {
  uint64_t slack = slack_left();
  if (!g_ageing.sweeping) begin_due_sweep(slack == 0);
  if (g_ageing.sweeping) go_on_sweeping(STEP_UNITS);
  return g_ageing.sweeping ? STEP_BYTES : hak_max(slack, STEP_BYTES);
}

bool hak_ageing_pays(void) { return hak_knob(price) != 0 && !hak_rent_is_refused(hak_os_now_ms()); }

uint64_t hak_ageing_step(void) {
  if (!hak_ageing_pays()) return INT64_MAX;
  if (!claim()) return STEP_BYTES;
  read_clock();
  age_runs();
  uint64_t bytes = sweep_some();
  give_up_claim();
  return bytes;
}

/* ---- the helper's pass ---- */

static uint64_t pass_ms(void) {
  return hak_max(hak_min(page_rent_ms() / (2 * PASSES_PER_RENT), PASS_MOST_MS), PASS_LEAST_MS);
}

/* Something that is the same as long as the program neither allocates nor frees beyond its magazines. */
static uint64_t heap_state(void) {
  uint64_t kept = hak_load(&g_footprint.kept), dirty = hak_load(&g_footprint.dirty);
  return hak_slab_free_bytes() * 31 + hak_slab_bytes() * 17 + kept * 7 + dirty * 5 + hak_footprint();
}

/* For how long the heap has been as it is. */
static uint64_t unchanged_ms(void) {
  uint64_t now = hak_load(&g_rent.now_ms), state = heap_state();
  if (state != g_ageing.state) g_ageing.changed_ms = now;
  g_ageing.state = state;
  return now - g_ageing.changed_ms;
}

/* Has that been so long that all that may go has gone? */
static bool is_quiet(uint64_t unchanged) {
  bool none = hak_load(&g_footprint.kept) == 0 && hak_load(&g_footprint.dirty) == 0;
  return none && g_ageing.swept_bytes == 0 && unchanged > QUIET_MS + 2 * page_rent_ms();
}

/* For how long nothing may have been taken from a slab whose pages go. */
static uint32_t idle_ticks(uint64_t unchanged) {
  uint64_t now = hak_load(&g_rent.now_ms);
  if (slack_left() == 0) {
    g_ageing.loose_until_ms = now + 2 * page_rent_ms();
    g_ageing.most_out = bytes_out();
  }
  return unchanged >= QUIET_MS || now < g_ageing.loose_until_ms ? page_rent_ticks() : BUSY_TICKS;
}

static void sweep_all(uint64_t unchanged, struct hak_fault *fault, bool (*is_stopped)(void)) {
  uint32_t idle = idle_ticks(unchanged);
  if (!sweep_is_due()) return;
  begin_sweep(false, idle);
  hak_magazine_age_depot(fault);
  hak_drain_idle(fault);
  while (g_ageing.sweeping && !is_stopped()) go_on_sweeping(PASS_UNITS);
}

uint64_t hak_ageing_pass(bool (*is_stopped)(void)) {
  struct hak_fault fault = {HAK_ERRORS, NULL};
  if (!hak_ageing_pays()) return UINT64_MAX;
  if (!claim()) return pass_ms();
  read_clock();
  while (!is_stopped() && age_runs() != 0) {
  }
  uint64_t unchanged = unchanged_ms();
  sweep_all(unchanged, &fault, is_stopped);
  bool quiet = is_quiet(unchanged);
  give_up_claim();
  hak_slab_report(&fault, NULL);
  return quiet ? UINT64_MAX : pass_ms();
}

/* ---- at once ---- */

size_t hak_ageing_release(size_t pad) {
  struct hak_fault fault = {HAK_ERRORS, NULL};
  struct hak_sweep sweep = {.units = UINT32_MAX};
  if (hak_context != &g_empty_context) hak_magazine_close_all(hak_context, &fault);
  hak_drain_all(&fault);
  hak_magazine_drain_depot(&fault);
  hak_slab_report(&fault, NULL); /* while the slab is still there, and its class known */
  hak_slab_trim();
  size_t gone = hak_big_trim(pad);
  hak_big_retry();
  uint64_t kept = hak_load(&g_footprint.kept);
  gone += hak_span_purge(pad > kept ? pad - kept : 0);
  do {
    gone += hak_slab_sweep(&sweep);
  } while (sweep.at != 0);
  return gone;
}
