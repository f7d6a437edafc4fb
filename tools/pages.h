/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages.h: which pages of the model's memory are resident.
 *
 * what      A bit for each page, in chunks of 2 MiB found by a hash. The first write fetches a page by a fault; a drop
 *           removes the page. With huge pages requested, the first write to an empty chunk fetches the whole chunk by
 *           one fault.
 *
 *              touch ---> resident? | else: a fault, resident + 1, and the peak
 *
 * owner     The process: one table.
 * locks     None: single-threaded.
 * failure   No memory for the table, or more than 128 GiB of addresses: the program ends with a line.
 * not here  The pages' owners and accesses: kernel.h, model.c.
 */
#ifndef HAK_TOOLS_PAGES_H
#define HAK_TOOLS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { pages_shift = 12, pages_bytes = 1 << pages_shift, pages_huge = 512 };

struct pages {
  uint64_t resident, most; /* [pages] */
  uint64_t faults, fetched; /* fetched: [pages] by these faults */
};

/* Makes an empty, resident table, or empties the table. */
void pages_start(void);

const struct pages *pages_now(void);

/* Writes to the bytes. */
void pages_touch(uintptr_t address, size_t bytes);

/* Reads the bytes: each absent page costs a fault, at each read, as the kernel's shared page of zeros is not
 * counted. */
void pages_read(uintptr_t address, size_t bytes);

/* Drops whole pages. */
void pages_drop(uintptr_t address, size_t bytes);

/* Moves the pages at `from` to `to`; pages that were at `to` are dropped. */
void pages_move(uintptr_t from, size_t bytes, uintptr_t to);

/* on: chunks inside the range take huge pages from now on; off: chunks touched by the range take none. */
void pages_wish_huge(uintptr_t address, size_t bytes, bool on);

/* True if the page is resident. */
bool pages_has(uintptr_t address);

#endif
