/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* samples.h: how much memory a tree of processes has, looked at every 10 ms from outside.
 *
 * what      A line for each moment: CLOCK_MONOTONIC in ns, KiB that are resident in all processes below this one, KiB of
 *           these that are of files or shared (what is left is anonymous memory, in which heaps lie), ms of CPU time that
 *           they and the children they waited for have taken, and how many processes there are.
 *
 *               81204417331056 23144 9120 1740 3
 *
 *           A page that several processes have is counted in each of them. Processes are found by
 *           /proc/PID/task/TID/children, memory by /proc/PID/statm, which takes no lock of the process, time by
 *           /proc/PID/stat, in ticks of the kernel (10 ms).
 * owner     The launcher, from samples_start to samples_end.
 * failure   What vanished meanwhile counts nothing; a file that cannot be written ends the lines, and samples_end says so.
 * not here  What lies above what must be there: the Python package (front/integral.py).
 */
#ifndef HAKMEM_TOOLS_SAMPLES_H
#define HAKMEM_TOOLS_SAMPLES_H

#include <stdbool.h>

/* Begins the file `path`; false when it cannot be made. */
bool samples_start(const char *path);

/* True between start and end. */
bool samples_asked(void);

/* Writes the line of this moment. */
void samples_take(void);

/* Sleeps until the next multiple of 10 ms since the start; shorter when a signal comes. */
void samples_sleep(void);

/* True when every line is in the file. */
bool samples_end(void);

#endif
