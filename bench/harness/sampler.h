/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sampler.h: the resident set of this process over days of a fixed length, added up by a child process.
 *
 * what      A day is busy, then idle. The child reads the parent's statm every 10 ms and adds up MiB x seconds of the
 *           busy and of the idle parts, into a shared page.
 *
 *               |-- busy --|-- idle --|-- busy --|-- idle --|      sampler_start, before the first block is allocated
 *               x  x  x  x  x  x  x  x  x  x  x  x  x  x  x  x     ... sampler_end, after the last day
 *
 * owner     The child dies with the parent. A process, not a thread: a program of one thread keeps one thread.
 * orders    The parent reads the sums when the child has ended.
 * hot path  None: some hundred short reads a second, in the child.
 * failure   die.
 * not here  The load of a day: daynight.c. Resident memory drawn over time: lab/hakmem_lab/bench/timeline.py.
 */
#ifndef HAKMEM_BENCH_SAMPLER_H
#define HAKMEM_BENCH_SAMPLER_H

#include "harness.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { SAMPLER_PERIOD_NS = 10000000, KIB_IN_MIB = 1024 };
#define SAMPLER_NAME "hak_sampler" /* timeline.py leaves out processes of this name */

struct days {
    uint64_t start, busy, idle, count; /* nanoseconds, but for the count */
};

struct sampler {
    double busy_mib_seconds, idle_mib_seconds;
    long last_kib;
    pid_t child;
};

static inline void sleep_until(uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static inline uint64_t days_end(const struct days *days)
{
    return days->start + days->count * (days->busy + days->idle);
}

static bool is_busy_at(const struct days *days, uint64_t ns)
{
    return (ns - days->start) % (days->busy + days->idle) < days->busy;
}

static void sampler_add(struct sampler *sums, const struct days *days, uint64_t from, uint64_t to)
{
    double mib_seconds = (double)sums->last_kib / KIB_IN_MIB * (double)(to - from) / 1e9;
    if (is_busy_at(days, from))
        sums->busy_mib_seconds += mib_seconds;
    else
        sums->idle_mib_seconds += mib_seconds;
}

_Noreturn static void sampler_main(struct sampler *sums, const struct days *days, int statm)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, SAMPLER_NAME);
    uint64_t end = days_end(days);
    for (uint64_t from = days->start, now; from < end; from = now) {
        uint64_t next = from + SAMPLER_PERIOD_NS;
        sleep_until(next < end ? next : end);
        now = now_ns();
        sums->last_kib = resident_kib_of(statm);
        sampler_add(sums, days, from, now);
    }
    _exit(0);
}

static struct sampler *sampler_start(const struct days *days)
{
    struct sampler *sums = mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC); /* stays the parent's in the child */
    pid_t child = sums == MAP_FAILED || statm < 0 ? -1 : fork();
    if (child < 0)
        die("bench: cannot start the process that looks at this one");
    if (child == 0)
        sampler_main(sums, days, statm);
    sums->child = child;
    close(statm);
    return sums;
}

/* Waits until the last day is over. */
static void sampler_end(const struct sampler *sums)
{
    int status = 1;
    if (waitpid(sums->child, &status, 0) != sums->child || status != 0)
        die("bench: the process that looks at this one has failed");
}

#endif
