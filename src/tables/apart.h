/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* apart.h: random places for HAKMEM's own data. In libhakmem-secure.so only.
 *
 * what      The range has the upper half of its window of addresses (range.c), HAKMEM's data the half below: each
 *           mapping at a page of its own choice among 2^29 or more, so that the distance between any two, and to any
 *           block, says nothing about a third.
 *
 *               low / 2        3/4 low       low
 *               [ map, chunks ][ unit table ][ range .........
 *
 * failure   hak_apart_map: no free place in the window after 4 tries, or no memory: the kernel's choice, with the same
 *           guards; NULL if that fails, too.
 */
#ifndef HAK_TABLES_APART_H
#define HAK_TABLES_APART_H

#include <stddef.h>
#include <stdint.h>

/* Maps `bytes` (a multiple of the page) of zero memory at a random place, between two guards of a page. */
void *hak_apart_map(size_t bytes);

/* A random address of a page in the quarter of the window from 2^low_log on that is the class map's (0) or the unit
 * table's (1), with `room` bytes behind it in the quarter. */
uintptr_t hak_apart_place(unsigned low_log, unsigned quarter, size_t room);

/* Guards the page in front of a mapping that hak_apart_place placed, if that page is free. */
void hak_apart_guard_front(void *p);

#endif
