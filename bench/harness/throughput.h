/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* throughput.h: the plain build of a benchmark program: plain calls of malloc and free.
 *
 * what      Empty hooks for main.h, called at the start and at the end of the timed repetitions.
 * not here  The two measuring builds of the same programs: latency.h, worst.h.
 */
#ifndef HAKMEM_BENCH_THROUGHPUT_H
#define HAKMEM_BENCH_THROUGHPUT_H

static inline void pass_start(void)
{
}

static inline void pass_print(void)
{
}

#endif
