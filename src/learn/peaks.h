/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peaks.h: the additional size class that would save most.
 *
 * what      Counts requested sizes in a bounded table: Space-Saving (Metwally, Agrawal and El Abbadi, 2005). A size
 *           without a counter takes over the counter with the least count, and that count is the error, so
 *
 *               count - error  <=  requests  <=  count,      error <= all / HAK_PEAKS
 *
 *           and with at most HAK_PEAKS different sizes everything is exact until the first halving. A class of x bytes
 *           between two present classes would serve the sizes up to x that the next class c serves now, and save
 *
 *               (c - x) x sum over sizes s <= x of class c of (count(s) - error(s))
 *
 *           A multiple of 16 bytes without requests saves less than the next requested size below, so only requested
 *           sizes are tried. A class pays if the saving is a share of all waste and a share of all bytes served. All
 *           counts are halved after each 2^half_log requests, so an old load fades.
 * owner     The caller, which serializes all calls. All zeros: nothing learnt.
 * failure   Not for sizes of 2^31 and more, nor for sizes that no class serves.
 * not here  The choice of samples, and the cost of a class in use: the caller. Figures: lab/docs/learners.md.
 */
#ifndef HAK_LEARN_PEAKS_H
#define HAK_LEARN_PEAKS_H

#include <stdbool.h>
#include <stdint.h>

enum { HAK_PEAKS = 64, HAK_PEAK_STEP = 16 };

struct hak_peak_rules {
  uint32_t of_waste; /* [1/256 of all waste] that a class must save */
  uint32_t of_bytes; /* [1/1024 of all bytes served] that a class must save */
  uint32_t least;    /* requests before a class is proposed */
  uint32_t half_log; /* counts are halved after 2^half_log requests */
};

static inline struct hak_peak_rules hak_peak_usual(void) {
  return (struct hak_peak_rules){.of_waste = 64, .of_bytes = 16, .least = 1024, .half_log = 16};
}

struct hak_peak_size {
  uint32_t size, served; /* size: a multiple of 16; served: bytes of the class */
  uint32_t count, error;
};

struct hak_peaks {
  struct hak_peak_size of[HAK_PEAKS];
  uint64_t waste, served; /* [bytes] of all requests: served - size, served */
  uint32_t told;
};

struct hak_peak {
  uint32_t size;     /* of the class; 0: no class pays */
  uint32_t served;   /* [bytes] of the class that serves these requests now */
  uint64_t requests; /* that the class would serve, at least */
  uint64_t among;    /* requests that the present class serves, at most */
  uint64_t saved;    /* [bytes] of hak_peaks.waste */
};

/* Notes `times` requests of `size` bytes, served by a class of `served` bytes; 0 < size <= served. */
void hak_peaks_note(struct hak_peaks *peaks, struct hak_peak_rules rules, uint32_t size, uint32_t served,
                    uint32_t times);

/* The additional class that would save most. */
struct hak_peak hak_peaks_find(const struct hak_peaks *peaks, struct hak_peak_rules rules);

#endif
