/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* written.h: blocks with every page written, as a program does that uses its blocks in full.
 *
 * what      write_pages writes one byte of every page of the block, and the block's size into the first word;
 *           written_block allocates such a block.
 * owner     The caller.
 * hot path  A store per page.
 * failure   As base.h.
 * not here  Blocks of which only the first word counts: touch in base.h.
 */
#ifndef HAKMEM_BENCH_WRITTEN_H
#define HAKMEM_BENCH_WRITTEN_H

#include "harness.h"

static inline void *write_pages(void *memory, size_t bytes)
{
    char *block = memory;
    for (size_t at = PAGE; at < bytes; at += PAGE)
        block[at] = 1;
    block[bytes - 1] = 1;
    touch(block, bytes);
    return block;
}

static inline void *written_block(size_t bytes)
{
    return write_pages(must(malloc(bytes)), bytes);
}

#endif
