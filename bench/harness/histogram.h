/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* histogram.h: counts of values in buckets whose width is at most 1/64 of the value.
 *
 * what      The buckets of an HdrHistogram (Tene 2012) with two significant digits: exact below 128, then 64 buckets
 *           for every doubling.
 *
 *               value 0..127: bucket = value        value 128..255: buckets 128..191, two values each   ...
 *
 * owner     One writer at a time.
 * hot path  histogram_add: a shift, a sum, one increment.
 * failure   Values beyond the last bucket are counted in the last bucket.
 * not here  Percentiles: the Python package computes them from the printed buckets.
 */
#ifndef HAKMEM_BENCH_HISTOGRAM_H
#define HAKMEM_BENCH_HISTOGRAM_H

#include <stdint.h>
#include <stdio.h>

enum { HALF_BITS = 6, HALF = 1 << HALF_BITS, DOUBLINGS = 40, BUCKETS = (DOUBLINGS + 2) * HALF };

struct histogram {
    uint64_t count[BUCKETS];
};

static inline unsigned bucket_of(uint64_t value)
{
    if (value < 2 * HALF)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HALF_BITS;
    unsigned bucket = (shift + 1) * HALF + (unsigned)(value >> shift) - HALF;
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

/* The largest value that falls into the bucket. */
static inline uint64_t bucket_top(unsigned bucket)
{
    if (bucket < 2 * HALF)
        return bucket;
    unsigned shift = bucket / HALF - 1;
    return (((uint64_t)(bucket % HALF + HALF) + 1) << shift) - 1;
}

static inline void histogram_add(struct histogram *h, uint64_t value)
{
    h->count[bucket_of(value)]++;
}

static inline void histogram_merge(struct histogram *into, const struct histogram *from)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        into->count[i] += from->count[i];
}

/* name=top:count,top:count,... of the buckets that are not empty */
static inline void histogram_print(const char *name, const struct histogram *h)
{
    const char *comma = "";
    printf("%s=", name);
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (h->count[i] == 0)
            continue;
        printf("%s%llu:%llu", comma, (unsigned long long)bucket_top(i), (unsigned long long)h->count[i]);
        comma = ",";
    }
    putchar('\n');
}

#endif
