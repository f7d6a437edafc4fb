/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* page_set.h: number of pages that hold a byte of a live block: the lower bound of the resident set.
 *
 * what      An open-addressing set of page numbers: page_set_open, page_set_add for each block, page_set_close.
 * owner     The caller. page_set_close unmaps the set, so that no later figure of memory includes the set.
 * hot path  None: runs outside the timed part.
 * failure   As base.h.
 * not here  Which blocks live: frag.c, survive.c.
 */
#ifndef HAKMEM_BENCH_PAGE_SET_H
#define HAKMEM_BENCH_PAGE_SET_H

#include "base.h"

struct page_set {
    uintptr_t *page;
    size_t slots, found;
};

/* Returns an empty set with room for `blocks` blocks of `bytes` bytes together. */
static inline struct page_set page_set_open(size_t bytes, size_t blocks)
{
    size_t most = bytes / PAGE + 2 * blocks, slots = 1;
    while (slots < 2 * most)
        slots *= 2;
    return (struct page_set){.page = pages(slots * sizeof(uintptr_t)), .slots = slots};
}

static inline void page_set_add_page(struct page_set *set, uintptr_t page)
{
    size_t mask = set->slots - 1, at = (page * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (set->page[at] != 0 && set->page[at] != page)
        at = (at + 1) & mask;
    set->found += set->page[at] == 0;
    set->page[at] = page;
}

static inline void page_set_add(struct page_set *set, const void *block, size_t bytes)
{
    uintptr_t first = (uintptr_t)block, last = first + bytes - 1;
    for (uintptr_t page = first / PAGE; page <= last / PAGE; page++)
        page_set_add_page(set, page);
}

/* How many pages there are. */
static inline size_t page_set_close(struct page_set *set)
{
    munmap(set->page, set->slots * sizeof(uintptr_t));
    return set->found;
}

#endif
