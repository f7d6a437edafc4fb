/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guard.c: addresses that no access reaches.
 *
 * what      See guard.h.
 * owner     g_guard_way.
 */
#include "os/guard.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/call.h"
#include "os/os.h"

enum { GUARD_INSTALL = 102, GUARD_REMOVE = 103, FETCH = 22 /* MADV_POPULATE_READ */ };

static HAK_RARE struct {
  uint32_t way;  /* 0: not known yet, 1: by advice, 2: by protection */
  uint32_t shut; /* guards by protection */
} g_guard_way;

static long advise_guard(void *p, size_t bytes, int advice) {
  hak_os_tally(HAK_OS_ADVISE);
  return HAK_KERNEL(SYS_madvise, p, bytes, advice);
}

/* An emulator answers 0 to an advice that it does not know: so the first guard is asked whether it is one, by a fetch,
 * which fails there. */
static bool guard_by_advice(void *p, size_t bytes) {
  if (hak_load(&g_guard_way.way) == 2) return false;
  bool ok = advise_guard(p, bytes, GUARD_INSTALL) == 0;
  if (ok && hak_load(&g_guard_way.way) == 0) ok = advise_guard(p, hak_os_page_bytes(), FETCH) != 0;
  hak_store(&g_guard_way.way, ok ? 1 : 2);
  return ok;
}

static bool guard_by_protection(void *p, size_t bytes) {
  if (hak_load(&g_guard_way.shut) >= HAK_GUARDS_SHUT_MOST || !hak_os_shut(p, bytes)) return false;
  hak_add(&g_guard_way.shut, 1);
  return true;
}

/* What was advised before the second way came to be, or cannot be advised away, is opened by it as well. */
bool hak_os_unguard(void *p, size_t bytes) {
  bool advised = hak_load(&g_guard_way.way) != 2;
  if (advised && advise_guard(p, bytes, GUARD_REMOVE) == 0) return true;
  if (!advised && hak_load(&g_guard_way.shut) != 0) hak_sub(&g_guard_way.shut, 1);
  return hak_os_open(p, bytes);
}

bool hak_os_guard(void *p, size_t bytes) { return guard_by_advice(p, bytes) || guard_by_protection(p, bytes); }
