/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* release.h: free memory grows old and goes back.
 *
 * what      What is kept free pays rent (retain/rent.h), and of each kind no more stays than retain/watermark.h says:
 *           of runs, of big blocks, and of slabs. There kept is what was freed and not taken again, and what cannot lie
 *           beside blocks, as these share two pages each at most:
 *
 *               kept = max(most out - gone since - out, free - 2 pages * blocks)
 *               kept <= may stay, else pages go: in a sweep each quarter of a page's rent those of slabs that nothing
 *               was taken from for a page's rent (fifty at work), and for what is too much those of all, but of slabs
 *               in use just now
 *
 *               hak_release_aged_some    a bounded piece of work, at slow doors
 *               hak_release_aged         all that is due, by the helper thread
 *
 * owner     g_release (in release.c), by whoever holds its claim.
 * locks     The claim: one at a time, others go on. The boxes', inside their calls.
 * orders    The claim is acquire and release.
 * failure   What does not go now is tried again later.
 * not here  Who calls: trigger.c, background_thread.c. All at once: release_all.h. Limits from outside: memory_limit.h.
 */
#ifndef HAK_RECLAIM_RELEASE_H
#define HAK_RECLAIM_RELEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes how much is out of slabs, before free memory is looked through. */
void hak_release_note(void);

/* One bounded piece of work. At a slow door, with no lock held. So many more bytes may go to slabs than are taken
 * before the next is due. */
uint64_t hak_release_aged_some(void);

/* All that is due, or as much as is done when it is stopped. Milliseconds after which more may be; UINT64_MAX: nothing
 * will be, unless the program frees. */
uint64_t hak_release_aged(bool (*is_stopped)(void));

/* Bytes of slabs that hold pages and no blocks. */
uint64_t hak_release_slab_bytes(void);

#endif
