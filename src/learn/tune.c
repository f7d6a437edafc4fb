/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* tune.c: windows in, arms for the whole process out.
 *
 * what      See tune.h.
 * owner     g_tune.
 */
#include "learn/tune.h"

#include <stddef.h>
#include <string.h>

#include "blocks/big.h"
#include "learn/bill.h"
#include "os/fork.h"
#include "os/os.h"
#include "reclaim/release.h"
#include "retain/cost.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "runs/runs.h"
#include "tables/counters.h"
#include "tables/shared_file.h"
#include "tables/snapshot.h"

enum { LOG_BYTES = 16 << 20, NS_PER_US = 1000, US_PER_MS = 1000 };

#define SAME(tuned, decided) static_assert((int)HAK_TUNED_##tuned == (int)HAK_DECIDED_##decided, "tables/snapshot.h")
SAME(THRESHOLD, threshold);
SAME(SLACK, slack);
SAME(PLACE, place);

struct log {
  char magic[8];
  uint32_t row_bytes, zero;
  uint64_t count;
  char zeros[sizeof(struct hak_window) - 24];
  struct hak_window row[LOG_BYTES / sizeof(struct hak_window) - 1];
};
static_assert(sizeof(struct log) == LOG_BYTES, "tune.h");

static HAK_RARE struct {
  struct hak_controller controller;
  struct hak_changes own;        /* the ring without a file */
  uint64_t begun;                /* 1 + the generation of forks; 0: not begun */
  uint64_t slow_calls, rent;     /* sums since the process began */
  uint64_t kept;                 /* [bytes] at the last window's end */
  /* since the last window: slow calls were not counted, so that window and the next are not judged */
  bool stopped;
  uint64_t asked_long, asked_lasting; /* the counters at the last window's end */
  struct hak_window noted; /* the last window */
  struct hak_bill bill;
} g_tune;

/* Set at start; NULL without a file. */
static HAK_RARE struct {
  struct hak_changes *ring;
  struct log *log; /* written, never read */
  uint64_t logged; /* rows in the log */
} g_tune_files;

/* ---- the record ---- */

static uint64_t kept_bytes(void) {
  return hak_load(&g_footprint.dirty) + hak_load(&g_footprint.big_cached) + hak_release_slab_bytes();
}

/* [KiB x us] The mean of the bytes kept free at the window's start and end, for the window's length; at most for the
 * break-even time, as memory is released then although no window ended. */
static uint64_t rent_of_window(uint64_t elapsed_ns) {
  uint64_t then = g_tune.kept, now = kept_bytes();
  uint64_t us = hak_min(elapsed_ns / NS_PER_US, hak_rent_piece_ms() * US_PER_MS);
  g_tune.kept = now;
  return ((then + now) / 2 >> 10) * us;
}

static uint64_t since_last(uint64_t *last, enum hak_counter_id id) {
  uint64_t now = hak_counter_value(id), since = now - *last;
  *last = now;
  return since;
}

static uint64_t kernel_calls(void) {
  return hak_counter_value(HAK_COUNTER_kernel_map) + hak_counter_value(HAK_COUNTER_kernel_unmap) +
         hak_counter_value(HAK_COUNTER_kernel_advise) + hak_counter_value(HAK_COUNTER_kernel_remap);
}

/* Purged holes in slabs count if used again within a second; later uses are not known. */
static uint64_t pages_fetched(void) {
  return hak_counter_value(HAK_COUNTER_fetched_bytes) / hak_os_page_bytes() + hak_counter_value(HAK_COUNTER_hole_again);
}

static bool is_frozen(void) { return hak_setting(mode) == HAK_MODE_FROZEN; }

/* big_threshold is tried only while not set by the user, whose value holds. */
uint64_t hak_tune_may(void) {
  uint64_t all = is_frozen(), threshold = (hak_setting(learn_threshold) | all) && hak_setting_is_default(big_threshold);
  return threshold << HAK_TUNED_THRESHOLD | (hak_setting(learn_slack) | all) << HAK_TUNED_SLACK |
         (hak_setting(learn_place) | all) << HAK_TUNED_PLACE;
}

static struct hak_window record(const struct hak_learner_window *window) {
  g_tune.slow_calls += window->slow_calls;
  g_tune.rent += rent_of_window(window->elapsed_ns);
  return (struct hak_window){
      .now_ns = window->now_ns,
      .slow_calls = g_tune.slow_calls,
      .calls = kernel_calls(),
      .pages = pages_fetched(),
      .moved = hak_counter_value(HAK_COUNTER_pages_moved),
      .rent = g_tune.rent,
      .price = hak_setting(price),
      .call_ns = hak_cost_call(),
      .page_ns = hak_cost_page(),
      .move_ns = hak_cost_move(),
      .asked = {[HAK_TUNED_THRESHOLD] = since_last(&g_tune.asked_long, HAK_COUNTER_asked_long),
                [HAK_TUNED_SLACK] = hak_runs_misfit() + hak_big_misfit(),
                [HAK_TUNED_PLACE] = since_last(&g_tune.asked_lasting, HAK_COUNTER_asked_lasting)},
      .tries = hak_tune_may(),
  };
}

static void append(const struct hak_window *window) {
  struct log *log = g_tune_files.log;
  bool full = g_tune_files.logged >= sizeof log->row / sizeof *log->row;
  if (log == NULL || hak_load(&g_fork.generation) != 0 || full) return;
  log->row[g_tune_files.logged] = *window;
  hak_store_release(&log->count, ++g_tune_files.logged);
}

/* ---- arms ---- */

static struct hak_changes *ring_of_changes(void) {
  bool first = hak_load(&g_fork.generation) == 0;
  if (g_tune_files.ring != NULL && first) return g_tune_files.ring;
  hak_changes_start(&g_tune.own);
  return &g_tune.own;
}

/* Restarts the controller in a fork's child, as the fork may have cut an update in the middle. */
static void begin_if_new(void) {
  uint64_t mine = 1 + hak_load(&g_fork.generation);
  if (g_tune.begun == mine) return;
  hak_controller_begin(&g_tune.controller, ring_of_changes());
  hak_store(&g_tune.begun, mine);
}

static void count_changes(const uint64_t before[HAK_CHANGES]) {
  static const uint8_t counter[HAK_CHANGES] = {
      [HAK_CHANGE_PROMOTED] = HAK_COUNTER_learn_changes,
      [HAK_CHANGE_ROLLED_BACK] = HAK_COUNTER_learn_rolled_back,
      [HAK_CHANGE_FROZEN] = HAK_COUNTER_learn_frozen,
      [HAK_CHANGE_ALARM] = HAK_COUNTER_learn_alarms,
  };
  for (unsigned kind = 0; kind < HAK_CHANGES; kind++) {
    uint64_t more = g_tune.controller.told[kind] - before[kind];
    if (more != 0 && counter[kind] != 0) hak_count(counter[kind], more);
  }
}

enum { TUNED_BITS = 8 * HAK_TUNED };

static void publish(uint64_t arms) {
  hak_snapshot_publish((hak_load(&g_snapshot) >> TUNED_BITS << TUNED_BITS) | arms);
}

/* Of these arms those of decisions that may be learnt, or used in mode frozen. */
static uint64_t allowed_arms(uint64_t arms) {
  uint64_t mask = 0, may = hak_tune_may();
  for (unsigned what = 0; what < HAK_TUNED; what++) mask |= (may >> what & 1) * 255 << 8 * what;
  return arms & mask;
}

static uint64_t incumbents(void) {
  uint64_t arms = 0;
  for (unsigned what = 0; what < HAK_TUNED; what++)
    arms |= (uint64_t)hak_load(&g_tune.controller.arm[what]) << 8 * what;
  return allowed_arms(arms);
}

void hak_tune_go_on(void) { publish(allowed_arms(hak_load(&g_snapshot))); }

void hak_tune_stop(void) {
  bool known = hak_load(&g_tune.begun) != 0;
  hak_store(&g_tune.stopped, true);
  publish(known && is_frozen() ? incumbents() : 0);
}

void hak_tune_publish(void) {
  if (hak_learner_acts() || is_frozen()) publish(incumbents());
}

struct hak_controller *hak_tune_controller(bool begins) {
  if (begins) begin_if_new();
  return &g_tune.controller;
}

/* The mode may change while the window ends, so the mode is checked again after publishing. */
static void publish_if_acting(uint32_t arms) {
  if (!hak_learner_acts()) return;
  publish(arms);
  hak_fence();
  if (!hak_learner_acts()) hak_tune_stop();
}

void hak_tune_window(const struct hak_learner_window *window) {
  uint64_t before[HAK_CHANGES];
  begin_if_new();
  struct hak_window now = record(window);
  hak_bill_note(&g_tune.bill, hak_window_paid(&g_tune.noted, &now), window->elapsed_ns);
  g_tune.noted = now;
  if (hak_load(&g_tune.stopped)) now.tries = 0;
  hak_store(&g_tune.stopped, false);
  if (now.tries == 0 && g_tune.controller.last.tries == 0) return;
  hak_count(HAK_COUNTER_learn_windows, 1);
  if (now.tries != 0 && hak_bill_is_small(&g_tune.bill)) return; /* the arms stay as they are */
  append(&now);
  memcpy(before, g_tune.controller.told, sizeof before);
  publish_if_acting(hak_controller_window(&g_tune.controller, &now));
  count_changes(before);
}

void hak_tune_write_changes(struct hak_changes *ring) {
  hak_changes_start(ring);
  g_tune_files.ring = ring;
}

void hak_tune_log_to_file(const char *path) {
  struct log *log = hak_shared_file(
      &(struct hak_shared_file_order){"lab_learn_log", .path = path, .ending = ".windows", .bytes = sizeof *log});
  if (log == NULL) return;
  memcpy(log->magic, "HAKWIN02", sizeof log->magic);
  log->row_bytes = sizeof(struct hak_window);
  g_tune_files.log = log;
}
