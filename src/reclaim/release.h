/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* release.h: free memory grows old and is released.
 *
 * what      Free memory pays rent (retain/rent.h): of runs, of big blocks and of slabs no more stays than the keep
 *           limit (retain/watermark.h). The kept memory of slabs is the larger of two sums: bytes freed and not taken
 *           again, and free bytes on pages without blocks (a block shares at most two pages):
 *
 *               kept = max(most handed out - purged since - handed out, free - 2 pages * blocks)
 *
 *           A regular sweep begins every quarter of a page's rent time, and purges slabs that nothing was taken from
 *           for a page's rent time, or for 50 times as long while the program is at work. An urgent sweep begins when
 *           kept exceeds the keep limit by 1 MiB, and purges all slabs that are not in use just now.
 *
 *               hak_release_aged_some    a bounded step, in slow paths
 *               hak_release_aged         everything due, in the background thread
 *
 * owner     g_release (in release.c): the thread with the claim.
 * locks     The claim: one thread at a time, a second thread returns at once. Locks of runs and blocks, inside calls.
 * orders    The claim is acquire and release.
 * failure   Memory that is not released now is tried again later.
 * not here  The callers: trigger.c, background_thread.c. All at once: release_all.h. Limits from outside:
 *           retain/memory_limit.h.
 */
#ifndef HAK_RECLAIM_RELEASE_H
#define HAK_RECLAIM_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes the bytes handed out of slabs, before free memory is released. */
void hak_release_note(void);

/* Releases a bounded part of the memory due. In a slow path, no lock held. Returns the net bytes that may be freed into
 * slabs before the next step is due. */
uint64_t hak_release_aged_some(void);

/* Releases all memory due, until is_stopped. Returns the time until more may be due [ms]; UINT64_MAX: nothing more,
 * unless the program frees. */
uint64_t hak_release_aged(bool (*is_stopped)(void));

/* Keeps releases and looks at free memory out until hak_release_let_go. Waits a little for one that is under way;
 * false: it did not end. */
bool hak_release_hold(void);
void hak_release_let_go(void);

/* Bytes of slabs that hold pages but no blocks. */
uint64_t hak_release_slab_bytes(void);

#endif
