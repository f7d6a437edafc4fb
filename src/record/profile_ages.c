/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_ages.c: sizes and lifetimes of sampled blocks.
 *
 * what      See profile_ages.h. Two rows of sizes per doubling: up to 2^k, and up to 1.5 * 2^k.
 * owner     g_ages.
 * locks     Lock: g_samples.lock held.
 */
#include "record/profile_ages.h"

#include <string.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "base/str.h"

enum { FIRST_SIZE = 16, FIRST_BIT = 4, SIZE_ROWS = 76, FIRST_AGE_NS = 1000, AGE_ROWS = 12 };
enum { ROW_TEXT_MOST = 5 * 21 };

struct sums {
  double blocks, bytes;
};

static HAK_RARE struct {
  struct sums past[HAK_AGES_KINDS][SIZE_ROWS]; /* by size: all sampled blocks; by age: freed blocks */
  struct sums live[HAK_AGES_KINDS][SIZE_ROWS];
} g_ages;

static const struct {
  const char *head;
  unsigned rows;
} kinds[HAK_AGES_KINDS] = {{"hakmem sizes:", SIZE_ROWS}, {"hakmem ages:", AGE_ROWS}};

/* ---- rows ---- */

static unsigned size_row(uint64_t bytes) {
  if (bytes <= FIRST_SIZE) return 0;
  unsigned bit = hak_highest_bit(bytes - 1);
  unsigned row = 1 + 2 * (bit - FIRST_BIT) + (bytes > (uint64_t)3 << (bit - 1));
  return row < SIZE_ROWS ? row : SIZE_ROWS - 1;
}

static uint64_t size_bound(unsigned row) {
  return row % 2 == 0 ? (uint64_t)FIRST_SIZE << row / 2 : (uint64_t)FIRST_SIZE * 3 / 2 << row / 2;
}

static unsigned age_row(uint64_t ns) {
  unsigned row = 0;
  for (uint64_t bound = FIRST_AGE_NS; row < AGE_ROWS - 1 && ns >= bound; bound *= 10) row++;
  return row;
}

static uint64_t age_bound(unsigned row) {
  uint64_t bound = FIRST_AGE_NS;
  while (row-- != 0) bound *= 10;
  return bound;
}

static uint64_t bound_of(enum hak_ages_kind kind, unsigned row) {
  if (row == kinds[kind].rows - 1) return 0;
  return kind == HAK_SIZES ? size_bound(row) : age_bound(row);
}

static uint64_t age_at(const struct hak_sample *sample, uint64_t now_ns) {
  return now_ns > sample->taken_ns ? now_ns - sample->taken_ns : 0;
}

/* ---- sums ---- */

static void count_sample(struct sums *sums, const struct hak_sample *sample, double sign) {
  sums->blocks += sign * sample->weight;
  sums->bytes += sign * sample->weight * (double)sample->bytes;
}

void hak_ages_add(const struct hak_sample *sample) {
  count_sample(&g_ages.past[HAK_SIZES][size_row(sample->bytes)], sample, 1);
}

void hak_ages_withdraw(struct hak_sample *sample, uint64_t now_ns) {
  sample->freed_ns = now_ns;
  count_sample(&g_ages.past[HAK_AGES][age_row(age_at(sample, now_ns))], sample, 1);
}

void hak_ages_restore(const struct hak_sample *sample) {
  count_sample(&g_ages.past[HAK_AGES][age_row(age_at(sample, sample->freed_ns))], sample, -1);
}

void hak_ages_forget_live(void) { memset(g_ages.live, 0, sizeof g_ages.live); }

void hak_ages_add_live(const struct hak_sample *sample, uint64_t now_ns) {
  count_sample(&g_ages.live[HAK_SIZES][size_row(sample->bytes)], sample, 1);
  count_sample(&g_ages.live[HAK_AGES][age_row(age_at(sample, now_ns))], sample, 1);
}

/* ---- as text ---- */

static uint64_t whole(double x) { return x <= 0 ? 0 : (uint64_t)(x + 0.5); }

static bool has_any(enum hak_ages_kind kind, unsigned row) {
  return whole(g_ages.past[kind][row].blocks) != 0 || whole(g_ages.live[kind][row].blocks) != 0;
}

/* The last row with any block, + 1. */
static unsigned end_of_ages(enum hak_ages_kind kind) {
  unsigned end = kinds[kind].rows;
  while (end != 0 && !has_any(kind, end - 1)) end--;
  return end;
}

static void row_text(struct hak_line *line, enum hak_ages_kind kind, unsigned row) {
  const struct sums *past = &g_ages.past[kind][row], *live = &g_ages.live[kind][row];
  const uint64_t values[] = {bound_of(kind, row), whole(past->blocks), whole(past->bytes), whole(live->blocks),
                             whole(live->bytes)};
  hak_line_start(line);
  for (unsigned n = 0; n < sizeof values / sizeof *values; n++) {
    hak_line_text(line, " ");
    hak_line_dec(line, values[n]);
  }
  hak_line_text(line, ";");
}

bool hak_ages_text(enum hak_ages_kind kind, unsigned *next, char *text, size_t bytes) {
  unsigned row = *next, end = end_of_ages(kind);
  while (*next == 0 && row < end && !has_any(kind, row)) row++;
  if (row >= end) return false;
  size_t used = hak_strlen(kinds[kind].head);
  memcpy(text, kinds[kind].head, used);
  for (; row < end && bytes - used > ROW_TEXT_MOST + 2; row++) {
    struct hak_line line;
    row_text(&line, kind, row);
    memcpy(text + used, line.text, line.used);
    used += line.used;
  }
  text[used] = '\0';
  *next = row;
  return true;
}
