/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peaks.c: the additional size class that would save most; see peaks.h.
 *
 * what      A note passes over the table once; a search passes over the table for each size in the table.
 */
#include "learn/peaks.h"

#include <stddef.h>

#include "base/bits.h"

/* The size's counter, else an empty counter, else the counter with the least count. */
static struct hak_peak_size *counter_of(struct hak_peaks *peaks, uint32_t size, uint32_t served) {
  struct hak_peak_size *least = &peaks->of[0];
  for (size_t i = 0; i < HAK_PEAKS; i++) {
    struct hak_peak_size *one = &peaks->of[i];
    if (one->count != 0 && one->size == size && one->served == served) return one;
    if (one->count < least->count) least = one;
  }
  *least = (struct hak_peak_size){.size = size, .served = served, .count = least->count, .error = least->count};
  return least;
}

/* The sure part, count - error, is halved rounded down, so stays sure. */
static void halve(struct hak_peaks *peaks) {
  for (size_t i = 0; i < HAK_PEAKS; i++) {
    uint32_t sure = (peaks->of[i].count - peaks->of[i].error) / 2;
    peaks->of[i].count /= 2;
    peaks->of[i].error = peaks->of[i].count - sure;
  }
  peaks->waste /= 2;
  peaks->served /= 2;
  peaks->told /= 2;
}

void hak_peaks_note(struct hak_peaks *peaks, struct hak_peak_rules rules, uint32_t size, uint32_t served,
                    uint32_t times) {
  size = (uint32_t)hak_min(hak_round_up(size, HAK_PEAK_STEP), served);
  counter_of(peaks, size, served)->count += times;
  peaks->waste += (uint64_t)times * (served - size);
  peaks->served += (uint64_t)times * served;
  peaks->told += times;
  while (peaks->told >> rules.half_log != 0) halve(peaks);
}

/* The saving of a class as large as this size. */
static struct hak_peak peak_at(const struct hak_peaks *peaks, const struct hak_peak_size *top) {
  struct hak_peak peak = {.size = top->size, .served = top->served};
  for (size_t i = 0; i < HAK_PEAKS; i++) {
    const struct hak_peak_size *one = &peaks->of[i];
    if (one->served != top->served) continue;
    peak.among += one->count;
    if (one->size <= top->size) peak.requests += one->count - one->error;
  }
  peak.saved = peak.requests * (top->served - top->size);
  return peak;
}

struct hak_peak hak_peaks_find(const struct hak_peaks *peaks, struct hak_peak_rules rules) {
  struct hak_peak best = {.size = 0};
  for (size_t i = 0; i < HAK_PEAKS; i++) {
    struct hak_peak peak = peak_at(peaks, &peaks->of[i]);
    if (peak.saved > best.saved) best = peak;
  }
  bool worth = peaks->told >= rules.least && best.saved >= peaks->waste / 256 * rules.of_waste &&
               best.saved >= peaks->served / 1024 * rules.of_bytes;
  return worth ? best : (struct hak_peak){.size = 0};
}
