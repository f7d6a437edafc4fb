/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peaks.h: where one more size class would save most.
 *
 * what      Which sizes are asked for, in a bounded table: Space-Saving (Metwally, Agrawal and El Abbadi, 2005). A size
 *           that has no counter takes that with the least count, and its count as its error, so
 *
 *               count - error  <=  asked for  <=  count,      error <= all / HAK_PEAKS
 *
 *           and with at most HAK_PEAKS different sizes everything is exact until the first halving. A class of x bytes,
 *           between two that there are, would serve what is at most x and is served by the next class c now, and save
 *
 *               (c - x) x sum over sizes s <= x of class c of (count(s) - error(s))
 *
 *           No multiple of 16 bytes that was not asked for saves more than the one below it that was, so only these are
 *           tried. A class is worth having when it saves a share of all waste and of all bytes that are served. All
 *           counts are halved each time so many requests were told: a load of long ago fades.
 * owner     The caller, who has one thread in here at a time. All zeros is who knows nothing.
 * failure   Sizes of 2^31 and more, and sizes that no class serves, are not for here.
 * not here  Which requests are sampled, and what a class costs that is there: the caller.
 *           Figures: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_PEAKS_H
#define HAK_LEARN_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

enum { HAK_PEAKS = 64, HAK_PEAK_STEP = 16 };

struct hak_peak_rules {
  uint32_t of_waste; /* that a class must save at least, of 256 parts */
  uint32_t of_bytes; /* the same, of 1,024 parts of what is served */
  uint32_t least;    /* requests before anything is found */
  uint32_t half_log; /* halved when 2^half_log were told */
};

static inline struct hak_peak_rules hak_peak_usual(void) {
  return (struct hak_peak_rules){.of_waste = 64, .of_bytes = 16, .least = 1024, .half_log = 16};
}

struct hak_peak_size {
  uint32_t size, served; /* size: a multiple of 16; served: the class's bytes */
  uint32_t count, error;
};

struct hak_peaks {
  struct hak_peak_size of[HAK_PEAKS];
  uint64_t waste, served; /* bytes, of all that were told: served - size, served */
  uint32_t told;
};

struct hak_peak {
  uint32_t size;     /* of the class; 0: none is worth having */
  uint32_t served;   /* the class's bytes that serves them now */
  uint64_t requests; /* that it would serve, at least */
  uint64_t among;    /* that the class serves now, at most */
  uint64_t saved;    /* bytes, of hak_peaks.waste */
};

/* So many requests of `size` bytes, which a class of `served` bytes serves: 0 < size <= served. */
void hak_peaks_note(struct hak_peaks *peaks, struct hak_peak_rules rules, uint32_t size, uint32_t served,
                    uint32_t times);

/* What one more class would save most. */
struct hak_peak hak_peaks_find(const struct hak_peaks *peaks, struct hak_peak_rules rules);

#endif
