/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* quarantine.c: freed blocks that wait for their next use.
 *
 * what      Opens, empties and closes a thread's quarantine; the exchange is inlined (quarantine.h).
 */
#include "secure/quarantine.h"

#include "os/os.h"
#include "os/self.h"

__thread struct hak_quarantine hak_quarantine;

/* Not in a thread whose exit has begun: no later call would empty the quarantine. */
void hak_quarantine_open(void) {
  if (hak_quarantine.chance == 0 && !hak_self.exiting) hak_quarantine.chance = hak_os_random() | 1;
}

void *hak_quarantine_take(bool close) {
  if (close) hak_quarantine.chance = 0;
  for (size_t i = 0; i < HAK_QUARANTINE_ALL; i++) {
    void *p = (void *)(uintptr_t)hak_arch_exchange_own(&hak_quarantine.block[i], 0);
    if (p != NULL) return p;
  }
  return NULL;
}
