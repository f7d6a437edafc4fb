/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* waits.h: open waits, from the free of a block to the next request in the block's size bin.
 *
 * what      A block freed opens a wait, a block taken closes the youngest wait of the size bin: last in, first out,
 *           whatever memory serves the request. So a wait says how long memory would have had to be kept, also if the
 *           memory was not kept.
 *
 *               bin 7    [ 40 s ][ 12 s ][ 3 s ]  <- taken: closes this wait
 *               by age   oldest ... youngest      a wait that outlasts the longest arm is closed from this end
 *
 * owner     The caller, which serializes all calls. All zeros: no open wait.
 * failure   Room for HAK_WAITS; the caller closes the oldest wait before opening a further wait.
 * not here  Learning from a wait: leader.h.
 */
#ifndef HAK_LEARN_WAITS_H
#define HAK_LEARN_WAITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "learn/leader.h"

enum { HAK_WAITS = 1023 };

/* A block freed at `since`; `arm` was chosen for the block. */
struct hak_freed {
  uint64_t since;
  uint32_t site;
  uint8_t bin, arm;
};

struct hak_open_wait {
  struct hak_freed freed;
  uint16_t older, younger; /* of all waits; 0: none */
  uint16_t below, above;   /* of the bin's waits; 0: none */
};
static_assert(sizeof(struct hak_open_wait) == 24, "HAK_WAITS of them are 24 KiB");

struct hak_waits {
  /* wait[0] is the list's head: `older` is the youngest wait of all, `younger` the oldest. */
  struct hak_open_wait wait[HAK_WAITS + 1];
  uint16_t top[HAK_LEADER_BINS];            /* the youngest wait of each bin */
  uint16_t free, used; /* free: head of a free list linked by `older`; used: entries beyond are fresh */
};

/* True if no room is left: then the oldest wait must be closed first. */
bool hak_waits_full(const struct hak_waits *waits);

/* Opens a wait. There must be room. */
void hak_waits_open(struct hak_waits *waits, struct hak_freed freed);

/* Closes the youngest wait of the bin; the oldest wait of all, if begun before `before`. False: no such wait. */
bool hak_waits_close(struct hak_waits *waits, uint32_t bin, struct hak_freed *out);
bool hak_waits_close_oldest(struct hak_waits *waits, uint64_t before, struct hak_freed *out);

#endif
