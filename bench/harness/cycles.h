/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cycles.h: the cycle counter of the processor, and how many nanoseconds one count is.
 *
 * what      cycles_before and cycles_after bracket a call: instructions do not move across the bracket. cycles_per_ns
 *           is measured against the clock, cycles_cost is the shortest bracket around nothing.
 * orders    lfence (x86-64) or isb (aarch64) keep the counter's reading in its place.
 * hot path  About 20 ns a bracket on x86-64; the cost is printed beside the measured figures.
 * not here  The histogram: latency.h.
 */
#ifndef HAKMEM_BENCH_CYCLES_H
#define HAKMEM_BENCH_CYCLES_H

#include "base.h"

#if defined __x86_64__
static inline uint64_t cycles_before(void)
{
    __builtin_ia32_lfence();
    uint64_t now = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return now;
}

static inline uint64_t cycles_after(void)
{
    unsigned core;
    uint64_t now = __builtin_ia32_rdtscp(&core);
    __builtin_ia32_lfence();
    return now;
}
#elif defined __aarch64__
static inline uint64_t cycles_before(void)
{
    uint64_t now;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
    return now;
}

static inline uint64_t cycles_after(void)
{
    return cycles_before();
}
#endif

static inline double cycles_per_ns(void)
{
    uint64_t from_ns = now_ns(), from = cycles_before();
    while (now_ns() < from_ns + 20000000)
        ;
    return (double)(cycles_after() - from) / (double)(now_ns() - from_ns);
}

static inline uint64_t cycles_cost(void)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t from = cycles_before(), spent = cycles_after() - from;
        least = spent < least ? spent : least;
    }
    return least;
}

#endif
