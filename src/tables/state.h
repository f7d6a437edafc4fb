/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* state.h: a byte of state for every 16 bytes of the range, in the secure flavour.
 *
 * what      A table of its own, at a random distance behind the range: what is known of the block that begins there.
 *           A block's requested size is its class less the slack; of a block with a long slack the next bytes hold it.
 *
 *               range   [ block, 96 B              ][ block, 96 B                 ] ...
 *               state     L+8 0 0 0 0 0               1 0 0 0 0 0
 *                         live, 80 B asked for        freed: zero, and written by nothing since
 *
 *           Only a live block's first byte is 0x80 or more, so a pointer into a block is never taken for its start.
 * owner     A byte: the owner of the block. A slab's bytes: the thread that opens the slab.
 * locks     Growth: g_runs.lock held.
 * orders    Relaxed: a block passes from thread to thread by a lock, and its byte with it.
 * failure   Growth returns false: no memory, or addresses in use.
 * not here  The checks: src/secure. In other libraries this table is not.
 */
#ifndef HAK_TABLES_STATE_H
#define HAK_TABLES_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "tables/extents.h"

enum {
  HAK_STATE_UNKNOWN = 0, /* free; the slot may hold anything */
  HAK_STATE_FREED = 1,   /* free; of a slab: zero since its free */
  HAK_STATE_LIVE = 0x80,
  HAK_STATE_ALIGNED = 0x40, /* live, asked for with an alignment above malloc's */
  HAK_STATE_SLACK = 0x3f,   /* live: class less requested size [bytes], less 8; this value: too long for it */
  HAK_STATE_SHIFT = 4,
  HAK_STATE_UNIT = 1 << (HAK_UNIT_SHIFT - HAK_STATE_SHIFT) /* [bytes] for a unit */
};

/* Address of a byte less its block's address / 16. */
extern HAK_HIDDEN uintptr_t g_state_bias;

/* The byte of p, which lies in the range. */
HAK_INLINE uint8_t *hak_state_of(const void *p) {
  return (uint8_t *)(hak_load(&g_state_bias) + ((uintptr_t)p >> HAK_STATE_SHIFT));
}

/* Chooses the table's place for a range at `base` within a window of `room` bytes. Maps nothing. */
void hak_state_place(uintptr_t base, uint64_t room, uint64_t random);

/* Maps the bytes of units first .. first + want. False: *taken: a foreign mapping is in the way. */
bool hak_state_extend(size_t first, size_t want, bool *taken);

/* Sets all bytes of a slab that opens: its slots may hold anything, also where the kernel just gave their pages, as a
 * stale pointer reaches these. */
void hak_state_open(uint32_t first, size_t units);

/* Gives back the pages of the bytes of memory that no block lies in: they read as HAK_STATE_UNKNOWN. */
void hak_state_purge(const void *p, size_t bytes);

/* For hak_holds_all (hold.h): populates the table, unless the range skipped units. */
void hak_state_populate(void);

size_t hak_state_mapped(void);
void hak_state_extents(struct hak_extents *list);

#endif
