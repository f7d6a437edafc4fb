/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* release_all.c: releases all free memory at once.
 *
 * what      Empties the caches first, then releases big blocks, runs, and pages inside slabs. See release_all.h.
 */
#include "reclaim/release_all.h"

#include "blocks/big.h"
#include "blocks/slab.h"
#include "cache/magazine.h"
#include "reclaim/drain_idle.h"
#include "retain/footprint.h"
#include "runs/runs.h"

size_t hak_release_all(size_t pad) {
  struct hak_fault fault = {HAK_ERROR_none, NULL};
  struct hak_sweep sweep = {.units = UINT32_MAX};
  if (hak_context != &g_empty_context) hak_magazine_end_all(hak_context, &fault);
  hak_drain_all(&fault);
  hak_magazine_drain_depot(&fault);
  hak_slab_report(&fault, NULL); /* before slabs close: the message needs the block's class */
  hak_slab_trim();
  size_t gone = hak_big_trim(pad);
  hak_big_retry();
  uint64_t kept = hak_load(&g_footprint.big_cached);
  gone += hak_runs_purge(pad > kept ? pad - kept : 0);
  do {
    gone += hak_slab_sweep(&sweep);
  } while (sweep.at != 0);
  return gone;
}
