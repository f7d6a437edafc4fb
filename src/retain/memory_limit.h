/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memory_limit.h: limits of memory, set by the user or by the control group.
 *
 * what      The soft and the hard limit of the user, the limit of the control group, and the machine's shortage of
 *           memory. Whether the group has a limit is looked up once: before a sandbox is entered, or when the footprint
 *           is above 8 MiB; at load if a setting names the group's files, or if a sandbox could be entered unseen.
 *           Without a limit of the group no file is read later. With a limit, files are read when the footprint has
 *           grown by a share of the room left, and, if little room is left, when as many bytes were taken; else at most
 *           once a second. A process below 32 MiB reads none of these files.
 *
 *               footprint   |____________|______|___|__|| limit        the next questions
 *
 *           Near a limit all free memory is released at once, idle memory is eight times as dear, and caches have a
 *           quarter of the budget.
 * owner     g_memory_limit (in memory_limit.c).
 * locks     None: two threads that ask at the same time find the same.
 * orders    Relaxed.
 * hot path  No; a comparison where the footprint is balanced.
 * failure   A file that cannot be read is no limit; os/limits.h reports that once. A limit below the bytes in use is
 *           reported once.
 * not here  The files: os/limits.h. Refusal above the hard limit: retain/footprint.h.
 */
#ifndef HAK_RETAIN_MEMORY_LIMIT_H
#define HAK_RETAIN_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

struct hak_memory_limit {
  uint64_t ask_at;      /* [bytes] footprint at which to ask next */
  uint64_t taken_bytes; /* [bytes] from slabs and runs since the last question, while `limited` */
  /* [bytes] taken_bytes at which to ask next: pages that the footprint counts already may be fetched again */
  uint64_t ask_after;
  bool watched;         /* the control group has a limit, or a setting names the group's files */
  bool limited;         /* the room left is less than the bytes in use */
  uint64_t asked_ms;    /* time of the last question */
  uint64_t cache_bytes; /* [bytes] for all caches of all threads, by the processors and the limits */
};
extern HAK_HIDDEN struct hak_memory_limit g_memory_limit;

/* Call once, after the settings were read, with the first block. The group's limit is looked up later, when there is
 * memory to limit, as no sandbox is entered unseen: in a tiny process the files would be half of HAKMEM's cost. */
void hak_memory_limit_start(void);

/* Looks up whether the group has a limit, before the files may be out of reach. False: done before. */
bool hak_memory_limit_look(void);

/* True if a question is due at this footprint. */
static inline bool hak_memory_limit_is_due(uint64_t footprint) {
  return footprint >= hak_load(&g_memory_limit.ask_at) ||
         hak_load(&g_memory_limit.taken_bytes) >= hak_load(&g_memory_limit.ask_after);
}

/* Counts bytes taken from slabs or runs. */
static inline void hak_memory_limit_taken(uint64_t bytes) {
  if (HAK_UNLIKELY(hak_load(&g_memory_limit.limited))) hak_add(&g_memory_limit.taken_bytes, bytes);
}

/* Asks. True: all free memory should be released now. */
bool hak_memory_limit_ask(uint64_t footprint);

/* The same, at most once a second. */
bool hak_memory_limit_ask_seldom(void);

/* For a thread that may open no descriptor: where the last question about the group's limit is a second old, the next
 * slow path that takes memory asks. Returns the time until it is [ms]; UINT64_MAX: no limit, or no slow path has asked
 * since the last call. */
uint64_t hak_memory_limit_remind(void);

/* Call after a change of settings. True: the user has set a limit. */
bool hak_memory_limit_reset(void);

#endif
