/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mixed_sizes.h: the sizes a server asks for: mostly small, few large, half of the bytes in blocks above 2 KiB.
 *
 * what      mixed_size draws a size; the mean is near 1 KiB.
 *
 *               84 %  16-512 B      15 %  513 B-4 KiB      0.95 %  4-32 KiB      0.05 %  64 KiB-1 MiB
 *
 * owner     The caller's random state.
 * hot path  None: tables of sizes are made before the timing starts.
 * not here  Lifetimes: frag.c, soak.c.
 */
#ifndef HAKMEM_BENCH_MIXED_SIZES_H
#define HAKMEM_BENCH_MIXED_SIZES_H

#include "harness/random.h"

enum { SMALLEST_MIXED = 16, LARGEST_MIXED = 1 << 20 };

static inline uint32_t mixed_size(struct random *r)
{
    uint32_t kind = random_below(r, 10000);
    if (kind < 8400)
        return random_between(r, SMALLEST_MIXED, 512);
    if (kind < 9900)
        return random_between(r, 513, 4096);
    if (kind < 9995)
        return random_between(r, 4097, 32768);
    return random_between(r, 65536, LARGEST_MIXED);
}

#endif
