/* ageing.h: free memory grows old and goes back.
 *
 * what      What is kept free pays rent (core/rent.h). Runs and big blocks go when there are more than may stay
 *           (core/level.h). Empty pages in slabs go when nothing was taken from the slab for a page's rent and the
 *           program rests, or much was freed; while it is at work and frees no more than it takes again, after 65 s.
 *
 *               hak_ageing_step    a bounded piece of work, at slow doors
 *               hak_ageing_pass    all that is due, by the helper thread
 *
 * owner     g_ageing (in ageing.c), by whoever holds its claim.
 * locks     The claim: one at a time, others go on. The boxes', inside their calls.
 * orders    The claim is acquire and release.
 * hot path  No.
 * failure   What does not go now is tried again later.
 * not here  Who calls: caretaker.c, helper.c. Limits from outside: pressure.c.
 */
#ifndef HAK_FRONT_AGEING_H
#define HAK_FRONT_AGEING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does free memory cost anything, and does the kernel take it? Else all of it stays, but under pressure. */
bool hak_ageing_pays(void);

/* One bounded piece of work. At a slow door, with no lock held. So many more bytes may go to slabs than are taken
 * before the next is due. */
uint64_t hak_ageing_step(void);

/* All that is due, or as much as is done when it is stopped. Milliseconds after which more may be; UINT64_MAX: nothing
 * will be, unless the program frees. */
uint64_t hak_ageing_pass(bool (*is_stopped)(void));

/* Everything goes back at once, the threads' magazines too, but `pad` bytes of runs and big blocks; bytes that went. */
size_t hak_ageing_release(size_t pad);

#endif
