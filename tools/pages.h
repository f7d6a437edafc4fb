/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages.h: which pages of the model's memory are there.
 *
 * what      A bit for each page, in chunks of 2 MiB that are found by a hash. A page comes when it is first written to,
 *           by a fault of its own, and goes when it is dropped; where huge pages were asked for, an empty chunk comes
 *           as a whole by one fault.
 *
 *               touch ---> was there? | else: a fault, resident + 1, and the most that ever was
 *
 * owner     The process: one table.
 * locks     None: one thread.
 * failure   No room for the table, or more than 128 GiB of addresses: the program ends with a line that says so.
 * not here  Whose pages they are, and who touches them: kernel.h, model.c.
 */
#ifndef HAK_TOOLS_PAGES_H
#define HAK_TOOLS_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { pages_shift = 12, pages_bytes = 1 << pages_shift, pages_huge = 512 };

struct pages {
  uint64_t resident, most; /* pages */
  uint64_t faults, fetched; /* fetched: pages that came by them */
};

/* An empty table, all of it resident. Again: empties it. */
void pages_start(void);

const struct pages *pages_now(void);

/* The pages of these bytes are written to. */
void pages_touch(uintptr_t address, size_t bytes);

/* They are read: where one is not there, a fault brings the kernel's page of zeros, which is nobody's. Each time, as if
 * it went again at once. */
void pages_read(uintptr_t address, size_t bytes);

/* The whole pages are there no more. */
void pages_drop(uintptr_t address, size_t bytes);

/* What is there at `from` is at `to` instead; what was there has gone. */
void pages_move(uintptr_t from, size_t bytes, uintptr_t to);

/* Chunks that lie inside take huge pages from now on; or those that are touched by it, none. */
void pages_wish_huge(uintptr_t address, size_t bytes, bool on);

/* Is the page there? */
bool pages_has(uintptr_t address);

#endif
