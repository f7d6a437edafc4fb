/* helper.h: the thread that gives memory back while the program idles.
 *
 * what      Started when the program itself makes a thread, never inside malloc; ends when the program is alone again
 *           and nothing is left to do, or when its last thread ends. A fork's child has none until it makes a thread.
 *
 *               pthread_create --start--> [ pass, wait, pass ... ] --asleep--> bell: much was freed, a thread ended
 *
 * owner     g_helper (in helper.c).
 * locks     None.
 * orders    `running` is released after the thread's state is ready.
 * hot path  No.
 * failure   A thread that cannot be made: the slow doors do its work.
 * not here  What a pass does: ageing.h.
 */
#ifndef HAK_FRONT_HELPER_H
#define HAK_FRONT_HELPER_H

#include <stdbool.h>

#include "os/pause.h"

/* Starts the thread if there is none and the setting `helper` allows it. `create` is the real pthread_create. */
void hak_helper_start(hak_os_create_fn *create);

/* Wakes the thread. False: there is none, do its work yourself. */
bool hak_helper_ring(void);

/* A thread of the program's has ended: what it left behind grows old, and perhaps it was the last one. */
void hak_helper_thread_ended(void);

#endif
