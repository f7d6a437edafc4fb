/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_samples.c: sampled blocks, and the stacks that asked for them.
 *
 * what      See profile_samples.h. Rows by linear probing, at most half of the rows in use; a deletion moves later rows
 *           into the hole (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
 * owner     g_samples; g_holder, of each thread.
 * locks     g_samples.lock. In a fork's child that takes the lock over from a thread of its parent, all rows are
 *           entered into a new table. A stack is complete before the stack can be found.
 */
#include "record/profile_samples.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/seal.h"
#include "record/profile_ages.h"
#include "record/profile_places.h"
#include "record/profile_samples_file.h"
#include "tables/counters.h"

enum { FIRST_ROWS = 1024, ARENA_BYTES = 256 << 10 };

HAK_RARE struct hak_samples g_samples;

static __thread struct {
  bool busy;
  int signal;
  uintptr_t later; /* void (*)(int), by hak_seal_mangle */
} g_holder;

/* ---- sums ---- */

static void add_to(struct hak_sums *sums, const struct hak_sample *sample) {
  sums->blocks += sample->weight;
  sums->bytes += sample->weight * (double)sample->bytes;
  sums->asked += sample->weight * (double)sample->asked;
}

/* A sample's share of the variance: a sampled block of weight w was drawn by itself with probability 1 / w. */
static double variance_of(const struct hak_sample *sample) {
  double bytes = (double)sample->bytes;
  return sample->weight * (sample->weight - 1) * bytes * bytes;
}

static void add_live(const struct hak_sample *sample) {
  struct hak_evidence *evidence = &sample->stack->evidence;
  add_to(&sample->stack->live, sample);
  evidence->samples++;
  evidence->bytes += sample->bytes;
  evidence->variance += variance_of(sample);
}

static void forget_live(struct hak_backtrace *stack) {
  stack->live = (struct hak_sums){0, 0, 0};
  stack->evidence = (struct hak_evidence){0, 0, 0};
}

/* Keeps the live sums as those of the peak, if they are. In the file, too, before a row changes. */
static void settle_peak(struct hak_backtrace *stack) {
  const struct hak_sums *live = &stack->live;
  if (stack->peak.number == g_samples.peak.number) return;
  stack->peak = (struct hak_at_peak){live->blocks, live->bytes, stack->evidence, g_samples.peak.number};
  hak_samples_file_settle(stack);
}

static void join_live(const struct hak_sample *sample) {
  settle_peak(sample->stack);
  add_live(sample);
}

/* Differences of floating-point sums are rounded: the last sample leaves zeros, and no variance is negative. */
static void leave_live(const struct hak_sample *sample) {
  struct hak_sample minus = *sample;
  struct hak_evidence *evidence = &sample->stack->evidence;
  settle_peak(sample->stack);
  minus.weight = -sample->weight;
  add_to(&sample->stack->live, &minus);
  evidence->samples--;
  evidence->bytes -= sample->bytes;
  double variance = evidence->variance - variance_of(sample);
  evidence->variance = variance > 0 ? variance : 0;
  if (evidence->samples == 0) forget_live(sample->stack);
}

/* ---- rows ---- */

static size_t home_of_sample(const struct hak_rows *rows, uint64_t address) {
  return (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & rows->mask;
}

static size_t bytes_for(size_t rows) {
  return hak_round_up(sizeof(struct hak_rows) + rows * sizeof(struct hak_sample), hak_os_page_bytes());
}

/* The row with this address, or the free row where the address belongs. */
static struct hak_sample *find_sample(struct hak_rows *rows, uint64_t address) {
  size_t i = home_of_sample(rows, address);
  while (rows->row[i].address != 0 && rows->row[i].address != address) i = (i + 1) & rows->mask;
  return &rows->row[i];
}

static void fill_row(struct hak_sample *row, const struct hak_sample *sample) {
  row->bytes = sample->bytes;
  row->asked = sample->asked;
  row->weight = sample->weight;
  row->stack = sample->stack;
  row->taken_ns = sample->taken_ns;
  row->kept = sample->kept;
  hak_store_release(&row->address, sample->address);
}

/* Enters all rows into a new table of `count` rows, and unmaps the old table. False: no memory. */
static bool enter_anew_locked(size_t count) {
  struct hak_rows *old = g_samples.rows, *rows = hak_os_map(bytes_for(count));
  if (rows == NULL) return false;
  uint64_t live = 0;
  rows->mask = count - 1;
  for (size_t i = 0; old != NULL && i <= old->mask; i++) {
    struct hak_sample *row = old->row[i].address != 0 ? find_sample(rows, old->row[i].address) : NULL;
    live += row != NULL && row->address == 0;
    if (row != NULL) fill_row(row, &old->row[i]);
  }
  hak_store_release(&g_samples.rows, rows);
  g_samples.live = live;
  if (old != NULL) hak_os_unmap(old, bytes_for(old->mask + 1));
  return true;
}

static bool has_room_locked(void) {
  if (g_samples.rows == NULL) return enter_anew_locked(FIRST_ROWS);
  size_t count = g_samples.rows->mask + 1;
  if (g_samples.live < count / 2) return true;
  return g_samples.live < HAK_SAMPLES_MOST && enter_anew_locked(count * 2);
}

static void drop_row_locked(struct hak_sample *row) {
  leave_live(row);
  hak_samples_file_drop(row);
}

static bool enter_sample_locked(const struct hak_sample *sample) {
  if (!has_room_locked()) return false;
  struct hak_sample *row = find_sample(g_samples.rows, sample->address);
  g_samples.live += row->address == 0;
  if (row->address != 0) drop_row_locked(row);
  join_live(sample);
  fill_row(row, sample);
  hak_samples_file_enter(row);
  return true;
}

/* True if the row at i may move to the hole: the hole lies between the row's home and i, cyclically. */
static bool may_fill(const struct hak_rows *rows, size_t hole, size_t i) {
  size_t home = home_of_sample(rows, rows->row[i].address);
  return ((i - home) & rows->mask) >= ((i - hole) & rows->mask);
}

static void fill_hole_locked(struct hak_rows *rows, size_t hole) {
  for (size_t i = (hole + 1) & rows->mask; rows->row[i].address != 0; i = (i + 1) & rows->mask) {
    if (!may_fill(rows, hole, i)) continue;
    fill_row(&rows->row[hole], &rows->row[i]);
    hak_store_release(&rows->row[i].address, 0);
    hole = i;
  }
}

/* ---- stacks ---- */

/* FNV-1a by words. */
static uint64_t hash_of_stack(const uint64_t *frames, unsigned depth) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned n = 0; n < depth; n++) hash = (hash ^ frames[n]) * 0x100000001b3u, hash ^= hash >> 29;
  return hash;
}

static bool is_stack(const struct hak_backtrace *stack, uint64_t hash, const uint64_t *frames, unsigned depth) {
  return stack->hash == hash && stack->depth == depth && memcmp(stack->frame, frames, depth * sizeof *frames) == 0;
}

static void *carve_stack_locked(size_t bytes) {
  if ((size_t)(g_samples.arena_end - g_samples.arena) < bytes) {
    char *more = hak_os_map(ARENA_BYTES);
    if (more == NULL) return NULL;
    g_samples.arena_end = more + ARENA_BYTES;
    g_samples.arena = more;
  }
  char *p = g_samples.arena;
  g_samples.arena += bytes;
  return p;
}

static struct hak_backtrace *add_stack_locked(uint64_t hash, const uint64_t *frames, unsigned depth) {
  if (g_samples.stacks == HAK_BACKTRACES_MOST) return NULL;
  struct hak_backtrace **head = &g_samples.head[hash % HAK_BACKTRACE_HEADS];
  struct hak_backtrace *stack = carve_stack_locked(sizeof *stack + depth * sizeof *frames);
  if (stack == NULL) return NULL;
  *stack = (struct hak_backtrace){.next = *head, .hash = hash, .depth = depth};
  memcpy(stack->frame, frames, depth * sizeof *frames);
  hak_samples_file_add(stack);
  hak_store_release(head, stack);
  g_samples.stacks++;
  g_samples.frames += depth;
  return stack;
}

static unsigned heads(void) { return g_samples.head != NULL ? HAK_BACKTRACE_HEADS : 0; }

static bool has_heads_locked(void) {
  size_t bytes = HAK_BACKTRACE_HEADS * sizeof *g_samples.head;
  if (g_samples.head == NULL) hak_store_release(&g_samples.head, hak_os_map(bytes));
  return g_samples.head != NULL;
}

/* The record of this stack, new or old; NULL: no room. */
static struct hak_backtrace *stack_locked(const uint64_t *frames, unsigned depth) {
  uint64_t hash = hash_of_stack(frames, depth);
  if (!has_heads_locked()) return NULL;
  struct hak_backtrace *stack = g_samples.head[hash % HAK_BACKTRACE_HEADS];
  while (stack != NULL && !is_stack(stack, hash, frames, depth)) stack = stack->next;
  return stack != NULL ? stack : add_stack_locked(hash, frames, depth);
}

/* ---- the lock ---- */

/* Sums up live blocks from their rows. */
static void sum_up_locked(void) {
  for (unsigned n = 0; n < heads(); n++) {
    for (struct hak_backtrace *s = g_samples.head[n]; s != NULL; s = s->next) {
      settle_peak(s);
      forget_live(s);
    }
  }
  for (size_t i = 0; g_samples.rows != NULL && i <= g_samples.rows->mask; i++) {
    if (g_samples.rows->row[i].address != 0) add_live(&g_samples.rows->row[i]);
  }
}

/* In a fork's child that took the lock over. A stack may have been carved in part, so the rest of the arena leaks. */
static void repair_locked(void) {
  if (g_samples.rows != NULL && !enter_anew_locked(g_samples.rows->mask + 1)) g_samples.rows = NULL;
  g_samples.arena = g_samples.arena_end = NULL;
  sum_up_locked();
}

/* In a fork's child without a file: begins a file and enters all places, stacks and rows. */
static void keep_anew_locked(void) {
  hak_samples_file_begin();
  hak_places_visit(hak_samples_file_place);
  for (unsigned n = 0; n < heads(); n++) {
    for (struct hak_backtrace *s = g_samples.head[n]; s != NULL; s = s->next) hak_samples_file_add(s);
  }
  for (size_t i = 0; g_samples.rows != NULL && i <= g_samples.rows->mask; i++) {
    if (g_samples.rows->row[i].address != 0) hak_samples_file_enter(&g_samples.rows->row[i]);
  }
}

void hak_samples_lock(void) {
  g_holder.busy = true;
  __asm__ volatile("" ::: "memory");
  if (hak_lock_take(&g_samples.lock)) repair_locked();
  if (HAK_UNLIKELY(hak_samples_file_is_due())) keep_anew_locked();
}

void hak_samples_unlock(void) {
  hak_lock_drop(&g_samples.lock);
  __asm__ volatile("" ::: "memory");
  g_holder.busy = false;
  __asm__ volatile("" ::: "memory");
  int signal = g_holder.signal;
  g_holder.signal = 0;
  if (HAK_UNLIKELY(signal != 0)) ((void (*)(int))hak_seal_mangle(g_holder.later))(signal);
}

bool hak_samples_is_busy(int signal, void (*later)(int)) {
  if (!g_holder.busy) return false;
  g_holder.later = hak_seal_mangle((uintptr_t)later);
  g_holder.signal = signal;
  return true;
}

/* ---- samples ---- */

void hak_samples_miss(void) {
  if (!hak_load(&g_samples.whole)) return;
  hak_store(&g_samples.whole, false);
  hak_samples_file_miss();
}

/* The new block counts once at its peak: its weight would count the chance that this moment was looked at. */
static void settle_newest(const struct hak_sample *newest) {
  struct hak_at_peak *peak = &newest->stack->peak;
  settle_peak(newest->stack);
  peak->blocks -= newest->weight - 1;
  peak->bytes -= (newest->weight - 1) * (double)newest->bytes;
  peak->evidence.variance = newest->stack->evidence.variance - variance_of(newest);
  if (peak->evidence.variance < 0) peak->evidence.variance = 0;
  hak_samples_file_settle(newest->stack);
}

static void new_peak_locked(uint64_t in_use, uint64_t now_ns) {
  struct hak_samples_peak *peak = &g_samples.peak;
  peak->ns = now_ns;
  hak_store(&peak->in_use, in_use);
  peak->number++;
  hak_samples_file_peak(peak);
}

static void note_peak_locked(const struct hak_sample *newest, uint64_t in_use) {
  const struct hak_samples_peak *peak = &g_samples.peak;
  if (peak->number != 0 && in_use <= peak->in_use) return;
  new_peak_locked(in_use, newest->taken_ns);
  settle_newest(newest);
}

void hak_samples_end_peak(uint64_t in_use) {
  const struct hak_samples_peak *peak = &g_samples.peak;
  if (peak->number != 0 && in_use > peak->in_use) new_peak_locked(in_use, hak_os_now_ns());
}

uint64_t hak_samples_mean(uint64_t set) {
  uint64_t steps = hak_load(&g_samples.taken) / HAK_DENSE_SAMPLES;
  uint64_t mean = steps < HAK_DENSE_STEPS ? set >> (HAK_DENSE_STEPS - steps) : set;
  return hak_max(mean, hak_min(set, HAK_DENSE_LEAST));
}

static bool add_sample_locked(const struct hak_sample *sample, const uint64_t *frames, unsigned depth,
                              uint64_t in_use) {
  struct hak_sample own = *sample;
  own.taken_ns = hak_os_now_ns();
  if (g_samples.peak.begun_ns == 0) g_samples.peak.begun_ns = own.taken_ns;
  own.stack = stack_locked(frames, depth);
  if (own.stack == NULL || !enter_sample_locked(&own)) return false;
  add_to(&own.stack->taken, &own);
  hak_store(&g_samples.taken, g_samples.taken + 1);
  hak_ages_add(&own);
  hak_samples_file_count(own.stack, own.taken_ns);
  note_peak_locked(&own, in_use);
  return true;
}

void hak_samples_add(const struct hak_sample *sample, const uint64_t *frames, unsigned depth, uint64_t in_use) {
  hak_samples_lock();
  bool added = add_sample_locked(sample, frames, depth, in_use);
  if (!added) hak_samples_file_lose();
  hak_samples_unlock();
  hak_count(added ? HAK_COUNTER_samples : HAK_COUNTER_samples_lost, 1);
}

void hak_samples_lose(void) {
  hak_samples_lock();
  hak_samples_file_lose();
  hak_samples_unlock();
  hak_count(HAK_COUNTER_samples_lost, 1);
}

static void count_brief(const struct hak_sample *sample) {
  struct hak_brief *brief = &sample->stack->brief;
  brief->blocks += sample->weight;
  brief->bytes += sample->weight * (double)sample->bytes;
  hak_samples_file_brief(sample->stack);
}

static bool withdraw_locked(uint64_t address, bool brief, struct hak_sample *out) {
  struct hak_sample *row = g_samples.rows != NULL ? find_sample(g_samples.rows, address) : NULL;
  if (row == NULL || row->address == 0) return false;
  *out = *row;
  if (brief) count_brief(out);
  hak_ages_withdraw(out, hak_os_now_ns());
  drop_row_locked(row);
  hak_store_release(&row->address, 0);
  g_samples.live--;
  fill_hole_locked(g_samples.rows, (size_t)(row - g_samples.rows->row));
  return true;
}

bool hak_samples_withdraw(const void *p, bool brief, struct hak_sample *out) {
  hak_samples_lock();
  bool found = withdraw_locked((uintptr_t)p, brief, out);
  hak_samples_unlock();
  return found;
}

void hak_samples_restore(const struct hak_sample *sample) {
  hak_samples_lock();
  bool entered = enter_sample_locked(sample);
  if (entered) hak_ages_restore(sample);
  hak_samples_unlock();
  if (!entered) hak_count(HAK_COUNTER_samples_lost, 1);
}

const struct hak_backtrace *hak_samples_peek(const void *p) {
  struct hak_rows *rows = hak_load_acquire(&g_samples.rows);
  const struct hak_sample *row = rows != NULL && p != NULL ? find_sample(rows, (uintptr_t)p) : NULL;
  return row != NULL && hak_load_acquire(&row->address) != 0 ? row->stack : NULL;
}

/* ---- all stacks ---- */

static void count_ages_locked(void) {
  uint64_t now = hak_os_now_ns();
  hak_ages_forget_live();
  for (size_t i = 0; g_samples.rows != NULL && i <= g_samples.rows->mask; i++) {
    if (g_samples.rows->row[i].address != 0) hak_ages_add_live(&g_samples.rows->row[i], now);
  }
}

void hak_samples_visit(void (*visit)(const struct hak_backtrace *stack, void *to), void *to) {
  sum_up_locked();
  count_ages_locked();
  for (unsigned n = 0; n < heads(); n++) {
    for (struct hak_backtrace *s = g_samples.head[n]; s != NULL; s = s->next) visit(s, to);
  }
}

uint64_t hak_samples_frames(void) { return g_samples.frames; }
uint64_t hak_samples_live(void) { return g_samples.live; }
