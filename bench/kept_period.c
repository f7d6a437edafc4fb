/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_period.c: cost of memory that is needed periodically, with a rest between.
 *
 * what      Every `period_ms` all of `mib` MiB is allocated, written and freed, in order; ten `periods`.
 *
 *               live   |#|     |#|     |#|     |#| ...    kept_period_big: 160 MiB of 4 MiB blocks every 0.6 s
 *                      |period |period |                  kept_period_small: 100 MiB of 500 B blocks every 1.4 s
 *
 *           Keeping the memory costs resident bytes, releasing costs page faults: both are reported.
 *
 *           faults_per_period, cpu_per_period_ns   of the whole process, without the first period (new memory)
 *           rss_rest_kib                           resident at the end of a rest, mean without the first
 *           most_live_kib, own_kib                 bytes asked for at the peak; this program's array
 * owner     The main thread, the only thread; with idle=1 a second thread has allocated once and waits.
 * hot path  Filling and freeing; the rests are not in the time.
 * failure   As base.h. A period that takes too long is followed by the next at once.
 * not here  Loads that rise and fall slowly: daynight.c.
 */
#define _GNU_SOURCE
#include "harness/idlers.h"
#include "harness/written.h"
#include <sys/resource.h>

static uint64_t g_mib, g_bytes, g_period_ms, g_periods = 10, g_idle = 0;
static size_t g_count;
static void **g_block;
static struct rusage g_first, g_last; /* at the end of the first period, and of the last */
static double g_rss_rest_kib;

static void use_all(void)
{
    for (size_t i = 0; i < g_count; i++)
        g_block[i] = written_block(g_bytes);
    for (size_t i = 0; i < g_count; i++)
        free(g_block[i]);
}

static void sleep_until(uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static void period_setup(void)
{
    g_count = (g_mib << 20) / g_bytes;
    g_block = pages(g_count * sizeof *g_block);
    g_operations = g_count * g_periods;
    idlers_start(g_idle, allocate_once);
}

static uint64_t period_repeat(void)
{
    uint64_t spent = 0, begin = now_ns();
    for (uint64_t i = 0; i < g_periods; i++) {
        uint64_t start = now_ns();
        use_all();
        spent += now_ns() - start;
        sleep_until(begin + (i + 1) * g_period_ms * 1000000);
        getrusage(RUSAGE_SELF, i == 0 ? &g_first : &g_last);
        g_rss_rest_kib += i == 0 ? 0 : (double)resident_kib() / (double)(g_periods - 1);
    }
    return spent;
}

static double cpu_ns(const struct rusage *used)
{
    return 1e9 * (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           1e3 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

static void period_finish(void)
{
    double periods = (double)(g_periods - 1);
    report("faults_per_period", (double)(g_last.ru_minflt - g_first.ru_minflt) / periods);
    report("cpu_per_period_ns", (cpu_ns(&g_last) - cpu_ns(&g_first)) / periods);
    report("rss_rest_kib", g_rss_rest_kib);
    report("most_live_kib", (double)(g_count * g_bytes) / 1024);
    report("own_kib", (double)(g_count * sizeof *g_block / 1024));
}

static void big_preset(void)
{
    g_mib = 160;
    g_bytes = 4 << 20;
    g_period_ms = 600;
}

static void small_preset(void)
{
    g_mib = 100;
    g_bytes = 500;
    g_period_ms = 1400;
}

static const struct row g_rows[] = {
    {.name = "kept_period_big", .operation = "malloc(4 MiB), all pages written, free; 160 MiB of them every 0.6 s",
     .threads = 1, .once = true, .preset = big_preset, .setup = period_setup, .repeat = period_repeat,
     .finish = period_finish},
    {.name = "kept_period_small", .operation = "malloc(500), write, free; 100 MiB of them every 1.4 s",
     .threads = 1, .once = true, .preset = small_preset, .setup = period_setup, .repeat = period_repeat,
     .finish = period_finish},
};

static const struct parameter g_parameters[] = {
    {"periods", &g_periods, 2, 1000}, {"period_ms", &g_period_ms, 0, 3600000}, {"mib", &g_mib, 1, 1 << 15},
    {"bytes", &g_bytes, 8, 1 << 30}, {"idle", &g_idle, 0, 1000},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
