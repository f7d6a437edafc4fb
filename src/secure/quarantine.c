/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* quarantine.c: freed blocks that wait for their next use.
 *
 * what      Opens, empties and closes a thread's quarantine; the exchange is inlined (quarantine.h).
 */
#include "secure/quarantine.h"

#include "cache/context.h"
#include "os/chance.h"
#include "os/self.h"

__thread struct hak_quarantine hak_quarantine;

/* Not in a thread without a context (its first call is a free; setting checks), nor once its exit has begun: nothing
 * would empty the quarantine at the thread's end. */
void hak_quarantine_open(void) {
  bool emptied = hak_context != &g_empty_context && !hak_self.exiting;
  if (hak_quarantine.chance == 0 && emptied) hak_quarantine.chance = hak_chance() | 1;
}

void *hak_quarantine_take(bool close) {
  if (close) hak_quarantine.chance = 0;
  for (size_t i = 0; i < HAK_QUARANTINE_ALL; i++) {
    void *p = (void *)(uintptr_t)hak_arch_exchange_own(&hak_quarantine.block[i], 0);
    if (p != NULL) return p;
  }
  return NULL;
}
