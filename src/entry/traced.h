/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* traced.h: the slow paths while calls are counted, traced or sampled.
 *
 * what      Target of a slow path unless calls are known to be unobserved: the untraced slow path, and one trace event
 *           for one call of the program. Calls inside a realloc are no events.
 *
 *              hak_slow_malloc --observed--> hak_traced_malloc --> hak_untraced_malloc, then the event
 *              hak_slow_free ----observed--> hak_traced_free   --> the event, then hak_untraced_free
 *
 * owner     A block is the caller's.
 * failure   As in the untraced slow path.
 * not here  The events: record/trace.h.
 */
#ifndef HAK_ENTRY_TRACED_H
#define HAK_ENTRY_TRACED_H

#include <stddef.h>

/* `site`: return address in the program. The program's stack ends at the function's frame. */
void *hak_traced_malloc(size_t n, const void *site);
void *hak_traced_calloc(size_t count, size_t size, const void *site);
void *hak_traced_memalign(size_t align, size_t n, const void *site);
void *hak_traced_realloc(void *p, size_t n, const void *site);
void hak_traced_free(void *p, const void *site);

#endif
