/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* traced.h: the doors, while calls are watched.
 *
 * what      Where a slow door goes as long as it is not known that nobody looks: each is the door behind it, and an
 *           event of the trace for one call of the program. What a realloc asks for and frees inside is none.
 *
 *               hak_slow_malloc --watched--> hak_traced_malloc --> hak_untraced_malloc, then the event
 *               hak_slow_free ----watched--> hak_traced_free   --> the event, then hak_untraced_free
 *
 * owner     A block is the caller's.
 * failure   As of the door.
 * not here  The events: record/trace.h.
 */
#ifndef HAK_ENTRY_TRACED_H
#define HAK_ENTRY_TRACED_H

#include <stddef.h>

/* The site is the program's return address; the frame of each is where the program's stack ends. */
void *hak_traced_malloc(size_t n, const void *site);
void *hak_traced_calloc(size_t count, size_t size, const void *site);
void *hak_traced_memalign(size_t align, size_t n, const void *site);
void *hak_traced_realloc(void *p, size_t n, const void *site);
void hak_traced_free(void *p, const void *site);

#endif
