/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* oom.h: the program's handler of failed requests.
 *
 * what      A request that failed for lack of memory, although all free memory was released, asks the handler once, and
 *           is tried once more if the handler freed memory.
 *
 *               request fails -> hak_oom_begin -> handler(bytes, argument) -> true  -> tried again -> hak_oom_end
 *                                             \-> none, inside a handler, false     -> NULL, ENOMEM
 *
 * owner     The handler and its argument: g_oom (in oom.c). hak_self.asks: the thread.
 * locks     None is held while the handler runs, and the thread is in no slow path: the handler may allocate and free.
 * hot path  No. A request that succeeds passes no instruction of this file.
 * failure   A request that fails inside a handler, or when tried again, fails without a call.
 * not here  Release of HAKMEM's own free memory: reclaim/trigger.h, before. std::new_handler: api/new.cpp, after.
 */
#ifndef HAK_ENTRY_OOM_H
#define HAK_ENTRY_OOM_H

#include <stdbool.h>
#include <stddef.h>

#include "hakmem/experimental.h"
#include "os/self.h"

/* handler NULL: none. */
void hak_oom_set(hak_oom_handler handler, void *argument);

/* A request of n bytes failed, counted as alloc_failed. True: try once more, then call hak_oom_end; the failure is no
 * longer counted. False: the request failed, errno is ENOMEM. */
bool hak_oom_begin(size_t n);
static inline void hak_oom_end(void) { hak_self.asks = 0; }

/* Between both, requests of this thread fail without a call of the handler. mute returns what unmute takes. */
static inline uint64_t hak_oom_mute(void) {
  uint64_t before = hak_self.asks;
  hak_self.asks = 1;
  return before;
}
static inline void hak_oom_unmute(uint64_t before) { hak_self.asks = before; }

#endif
