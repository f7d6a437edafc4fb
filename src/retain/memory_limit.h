/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memory_limit.h: limits that others set.
 *
 * what      The user's soft and hard limit, the control group's, and how much the machine is short of memory. Whether
 *           the group has a limit is asked once, before a sandbox is entered or where the footprint is above 8 MiB; at
 *           load where a setting names its files, or a sandbox is entered unseen. Where it has none no file is read
 *           later. Where it has, files are read when the footprint has grown by a share of the room that was left, and,
 *           where little is left, when as much was taken; otherwise once a second at most. A process below 32 MiB reads
 *           none of these.
 *
 *               footprint   |____________|______|___|__|| limit        where it asks next
 *
 *           Near a limit everything free goes back at once, idle memory is eight times as dear, and caches have a
 *           quarter of their budget.
 * owner     g_memory_limit (in memory_limit.c).
 * locks     None: two threads that ask at once find the same.
 * orders    Relaxed.
 * hot path  No; one comparison where the footprint is balanced.
 * failure   What cannot be read is no limit; os/limits.h says so once. A limit that is smaller than what is in use is
 *           reported once.
 * not here  The files: os/limits.h. Refusing above the hard limit: retain/footprint.h.
 */
#ifndef HAK_RETAIN_MEMORY_LIMIT_H
#define HAK_RETAIN_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

struct hak_memory_limit {
  uint64_t ask_at;      /* the footprint at which to ask next */
  uint64_t taken_bytes; /* from slabs and runs since it was asked last, while `limited` */
  uint64_t ask_after;   /* so many of them it is asked, too: pages come back that the footprint counts already */
  bool watched;         /* the control group has a limit, or its files were named by a setting */
  bool limited;         /* the room that is left is less than what is in use */
  uint64_t asked_ms;    /* when that was last done */
  uint64_t cache_bytes; /* all caches of all threads may hold, as the processors and limits allow */
};
extern HAK_HIDDEN struct hak_memory_limit g_memory_limit;

/* Once, after the settings were read, with the first block. Whether the control group has a limit may be asked when
 * there is something to limit, as a sandbox is not entered unseen: for a tiny process the files would be half of what
 * HAKMEM costs it. */
void hak_memory_limit_start(void);

/* Looks whether there is such a limit, before files may be out of reach. False: that was done before. */
bool hak_memory_limit_look(void);

/* Is it time to ask, at this footprint? */
static inline bool hak_memory_limit_is_due(uint64_t footprint) {
  return footprint >= hak_load(&g_memory_limit.ask_at) ||
         hak_load(&g_memory_limit.taken_bytes) >= hak_load(&g_memory_limit.ask_after);
}

/* So many bytes were taken from slabs or runs. */
static inline void hak_memory_limit_taken(uint64_t bytes) {
  if (HAK_UNLIKELY(hak_load(&g_memory_limit.limited))) hak_add(&g_memory_limit.taken_bytes, bytes);
}

/* Asks. True: everything free should go back now. */
bool hak_memory_limit_ask(uint64_t footprint);

/* The same, when a second has passed since. */
bool hak_memory_limit_ask_seldom(void);

/* After settings changed. True: there is a limit of the user's. */
bool hak_memory_limit_reset(void);

#endif
