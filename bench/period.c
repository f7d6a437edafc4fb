/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* period.c: memory that is needed periodically, and then no more: kept, released or fetched anew.
 *
 * what      `periods` periods of `period_ms`, then `silent` periods without a call. In a period all of `mib` MiB is
 *           allocated in blocks of `bytes`, every page written, and freed in order.
 *
 *               live  |#|     |#|     |#|  ...  |#|                         period_big    160 MiB of 4 MiB, 0.6 s
 *                     |period |period |         |period |silent |silent |   period_small  100 MiB of 500 B, 1.4 s
 *
 *           period_nights: a period of 3 s is a day and a night. By day a fifth of the memory is used twelve times, in
 *           blocks of a quarter, 0.1 s apart; by night all of it three times, 0.6 s apart.
 *
 *               live  . . . . . . . . . . . .  #     #     #     . . . . . . . . . . . .  #     #     #     ...
 *
 *           faults_first_ten, faults_later       page faults of the process in ten periods, and in all later periods
 *           faults_per_period, cpu_per_period_ns   of the later periods, the mean
 *           running_mib_seconds, silent_mib_seconds   resident memory beyond start_kib, added up by a second process
 *           rss_rest_kib                         beyond start_kib at the end of a later period, the mean
 *           rss_silent_1_kib .. rss_silent_5_kib   the same at the end of the 1st, 2nd, 3rd, 5th silent period
 *           start_kib, most_live_kib             resident before the first period; bytes asked for at the peak
 * owner     The main thread uses the memory. With idle=1, the default, a second thread has allocated once and waits: in
 *           a program of one thread without calls most allocators cannot act.
 * hot path  Filling and freeing; the rests are not in the time.
 * failure   As base.h. A period that takes too long is followed by the next at once.
 * not here  Periods without an end: kept_period.c.
 */
#define _GNU_SOURCE
#include "harness/idlers.h"
#include "harness/sampler.h"
#include "harness/written.h"
#include <sys/resource.h>

enum {
    FIRST = 10,     /* periods that are counted apart */
    PARTS = 30,     /* of a period, in period_nights */
    DAY_PARTS = 12, /* one use per part */
    NIGHT_STEP = 6, /* parts between two uses of a night */
    DAY_SHARE = 5,
    DAY_BLOCK = 4,
    FOREWARNING_NS = 20000000,
    MS_NS = 1000000,
    SHOWN = 4,
};

static const uint64_t g_shown[SHOWN] = {1, 2, 3, 5};
static uint64_t g_mib, g_bytes, g_period_ms, g_periods = 20, g_silent = 5, g_idle = 1;
static void **g_block;
static struct days g_days; /* one day: busy for all periods, idle for all silent periods */
static struct sampler *g_sampler;
static struct rusage g_start, g_tenth, g_last;
static long g_start_kib, g_rss_silent_kib[SHOWN];
static double g_rss_rest_kib;
static uint64_t g_spent;

/* ---- one use ---- */

__attribute__((always_inline)) static inline void use(size_t count, size_t bytes)
{
    uint64_t start = now_ns();
    for (size_t i = 0; i < count; i++)
        g_block[i] = written_block(bytes);
    for (size_t i = 0; i < count; i++)
        free(g_block[i]);
    g_spent += now_ns() - start;
}

static size_t burst_count(void)
{
    return (g_mib << 20) / g_bytes;
}

static size_t day_bytes(void)
{
    return g_bytes / DAY_BLOCK;
}

static size_t day_count(void)
{
    return (g_mib << 20) / DAY_SHARE / day_bytes();
}

/* Two call sites, for allocators that tell call sites apart. */
__attribute__((noinline)) static void use_burst(void)
{
    use(burst_count(), g_bytes);
}

__attribute__((noinline)) static void use_by_day(void)
{
    use(day_count(), day_bytes());
}

/* ---- periods ---- */

static void period_of_one(uint64_t begin)
{
    sleep_until(begin);
    use_burst();
}

static void day_and_night(uint64_t begin)
{
    uint64_t part = g_period_ms * MS_NS / PARTS;
    for (uint64_t at = 0; at < DAY_PARTS; at++) {
        sleep_until(begin + at * part);
        use_by_day();
    }
    for (uint64_t at = DAY_PARTS; at < PARTS; at += NIGHT_STEP) {
        sleep_until(begin + at * part);
        use_burst();
    }
}

static uint64_t begin_of(uint64_t period)
{
    return g_days.start + period * g_period_ms * MS_NS;
}

static void note_end_of(uint64_t period)
{
    sleep_until(begin_of(period + 1));
    getrusage(RUSAGE_SELF, period < FIRST ? &g_tenth : &g_last);
    if (period >= FIRST)
        g_rss_rest_kib += (double)(resident_kib() - g_start_kib) / (double)(g_periods - FIRST);
}

static void be_silent(void)
{
    for (unsigned i = 0; i < SHOWN; i++) {
        if (g_shown[i] > g_silent)
            return;
        sleep_until(begin_of(g_periods + g_shown[i]));
        g_rss_silent_kib[i] = resident_kib() - g_start_kib;
    }
}

static uint64_t repeat(void (*period)(uint64_t))
{
    for (uint64_t i = 0; i < g_periods; i++) {
        period(begin_of(i));
        note_end_of(i);
    }
    be_silent();
    sleep_until(begin_of(g_periods + g_silent));
    return g_spent;
}

/* ---- the rows ---- */

static void period_setup(void)
{
    size_t most = day_count() > burst_count() ? day_count() : burst_count();
    g_block = pages((most + 1) * sizeof *g_block);
    g_operations = burst_count() * g_periods;
    idlers_start(g_idle, allocate_once);
    g_days = (struct days){.start = now_ns() + FOREWARNING_NS, .busy = g_periods * g_period_ms * MS_NS,
                           .idle = g_silent * g_period_ms * MS_NS, .count = 1};
    g_sampler = sampler_start(&g_days);
    g_start_kib = resident_kib();
    getrusage(RUSAGE_SELF, &g_start);
}

static void nights_setup(void)
{
    period_setup();
    g_operations = g_periods * (DAY_PARTS * day_count() + (PARTS - DAY_PARTS) / NIGHT_STEP * burst_count());
}

static uint64_t period_repeat(void)
{
    return repeat(period_of_one);
}

static uint64_t nights_repeat(void)
{
    return repeat(day_and_night);
}

static double cpu_ns(const struct rusage *used)
{
    return 1e9 * (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
           1e3 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

static double beyond_start(double mib_seconds, uint64_t ns)
{
    return mib_seconds - (double)g_start_kib / KIB_IN_MIB * (double)ns / 1e9;
}

static void report_faults(void)
{
    double later = (double)(g_periods - FIRST);
    report("faults_first_ten", (double)(g_tenth.ru_minflt - g_start.ru_minflt));
    report("faults_later", (double)(g_last.ru_minflt - g_tenth.ru_minflt));
    report("faults_per_period", (double)(g_last.ru_minflt - g_tenth.ru_minflt) / later);
    report("cpu_per_period_ns", (cpu_ns(&g_last) - cpu_ns(&g_tenth)) / later);
}

static void period_finish(void)
{
    static const char *const name[SHOWN] = {"rss_silent_1_kib", "rss_silent_2_kib", "rss_silent_3_kib",
                                            "rss_silent_5_kib"};
    sampler_end(g_sampler);
    report_faults();
    report("running_mib_seconds", beyond_start(g_sampler->busy_mib_seconds, g_days.busy));
    report("silent_mib_seconds", beyond_start(g_sampler->idle_mib_seconds, g_days.idle));
    report("rss_rest_kib", g_rss_rest_kib);
    for (unsigned i = 0; i < SHOWN && g_shown[i] <= g_silent; i++)
        report(name[i], (double)g_rss_silent_kib[i]);
    report("start_kib", (double)g_start_kib);
    report("most_live_kib", (double)(burst_count() * g_bytes) / KIB_IN_MIB);
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

static void nights_preset(void)
{
    g_mib = 160;
    g_bytes = 1 << 20;
    g_period_ms = 3000;
}

static const struct row g_rows[] = {
    {.name = "period_big", .operation = "malloc(4 MiB), pages written, free; 160 MiB of them every 0.6 s, then none",
     .threads = 1, .once = true, .preset = big_preset, .setup = period_setup, .repeat = period_repeat,
     .finish = period_finish},
    {.name = "period_small", .operation = "malloc(500), write, free; 100 MiB of them every 1.4 s, then none",
     .threads = 1, .once = true, .preset = small_preset, .setup = period_setup, .repeat = period_repeat,
     .finish = period_finish},
    {.name = "period_nights", .operation = "malloc(256 KiB) by day, malloc(1 MiB) by night, pages written, free",
     .threads = 1, .once = true, .preset = nights_preset, .setup = nights_setup, .repeat = nights_repeat,
     .finish = period_finish},
};

static const struct parameter g_parameters[] = {
    {"periods", &g_periods, FIRST + 1, 1000}, {"period_ms", &g_period_ms, 0, 3600000}, {"mib", &g_mib, 1, 1 << 15},
    {"bytes", &g_bytes, 64, 1 << 30}, {"silent", &g_silent, 0, 1000}, {"idle", &g_idle, 0, 1000},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
