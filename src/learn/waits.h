/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* waits.h: free blocks that wait to be asked for again.
 *
 * what      What is freed opens a wait, what is taken closes the youngest of its size bin: last in, first out, whatever
 *           memory serves the request. So a wait says how long memory would have had to be kept, also where it was not.
 *
 *               bin 7    [ 40 s ][ 12 s ][ 3 s ]  <- taken: closes this one
 *               by age   oldest ... youngest      a wait that outlasts the longest arm is closed from this end
 *
 * owner     The caller, who has one thread in here at a time. All zeros holds none.
 * failure   There is room for HAK_WAITS; one more closes the oldest.
 * not here  What a wait teaches: leader.h.
 */
#ifndef HAK_LEARN_WAITS_H
#define HAK_LEARN_WAITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "learn/leader.h"

enum { HAK_WAITS = 1023 };

/* A block that was freed at `since`; `arm` is what was chosen for it. */
struct hak_freed {
  uint64_t since;
  uint32_t site;
  uint8_t bin, arm;
};

struct hak_open_wait {
  struct hak_freed freed;
  uint16_t older, younger; /* of all; 0: none */
  uint16_t below, above;   /* of its bin */
};
static_assert(sizeof(struct hak_open_wait) == 24, "HAK_WAITS of them are 24 KiB");

struct hak_waits {
  struct hak_open_wait wait[HAK_WAITS + 1]; /* the first is none; its older is the youngest of all, its younger the
                                             * oldest */
  uint16_t top[HAK_LEADER_BINS];            /* the youngest of each bin */
  uint16_t free, used; /* wait[free] is free, and its older the next; those beyond `used` were never used */
};

/* Is there no room for one more? Then the oldest is to be closed first. */
bool hak_waits_full(const struct hak_waits *waits);

/* There is room. */
void hak_waits_open(struct hak_waits *waits, struct hak_freed freed);

/* The youngest of the bin; the oldest of all, if it began before `before`. False: there is none. */
bool hak_waits_close(struct hak_waits *waits, uint32_t bin, struct hak_freed *out);
bool hak_waits_close_oldest(struct hak_waits *waits, uint64_t before, struct hak_freed *out);

#endif
