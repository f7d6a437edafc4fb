/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* samples.h: memory of a tree of processes, sampled every 10 ms from outside.
 *
 * what      A line for each sample: CLOCK_MONOTONIC [ns], resident memory of all descendants [KiB], the part backed by
 *           files or shared [KiB] (the remainder is anonymous memory, in which heaps lie), CPU time of these processes
 *           and their waited-for children [ms], number of processes.
 *
 *              81204417331056 23144 9120 1740 3
 *
 *           A moment at which the kernel takes back the memory of a process that ends has no line: the process has no
 *           statm any longer, and nothing tells how much of its memory is still there.
 *           A page shared by several processes is counted in each. Processes are found as in tree.h, memory by
 *           /proc/PID/statm, which takes no lock of the process, time by /proc/PID/stat, in ticks of the
 *           kernel (10 ms).
 * owner     The launcher, from samples_start to samples_end.
 * failure   A process that vanishes meanwhile counts nothing; if the file cannot be written, the lines end and
 *           samples_end is false.
 * not here  Judging the samples: the Python packages.
 */
#ifndef HAKMEM_TOOLS_SAMPLES_H
#define HAKMEM_TOOLS_SAMPLES_H

#include <stdbool.h>

/* Creates the file `path`; false on failure. */
bool samples_start(const char *path);

/* True between start and end. */
bool samples_asked(void);

/* Writes a line for this moment. */
void samples_take(void);

/* Sleeps until the next multiple of 10 ms since the start, or until a signal. */
void samples_sleep(void);

/* True if every line is in the file. */
bool samples_end(void);

#endif
