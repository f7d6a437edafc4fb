/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* harness.h: the one include of a benchmark program, for each pass.
 *
 * what      The same source is compiled three times: plain (throughput), with HAK_BENCH_LATENCY (the cycle counter
 *           around each call) and with HAK_BENCH_WORST (callgrind dumps of single calls).
 * owner     Each program is one file; everything here is static.
 * hot path  The plain build adds nothing to a call of malloc or free.
 * not here  Threads: a program with threads includes crew.h too.
 */
#ifndef HAKMEM_BENCH_HARNESS_H
#define HAKMEM_BENCH_HARNESS_H

#include "base.h"
#include "proof.h"
#include "random.h"
#include "row.h"

#if defined HAK_BENCH_LATENCY
#include "latency.h"
#elif defined HAK_BENCH_WORST
#include "worst.h"
#else
#include "throughput.h"
#endif

#include "main.h"

#endif
