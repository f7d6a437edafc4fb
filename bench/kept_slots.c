/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_slots.c: memory kept of large blocks that are replaced by blocks of random size.
 *
 * what      `slots` blocks of `least` to `most` MiB in each of `threads` threads; for `milliseconds` ms a random block
 *           is freed and a new block allocated in its slot, every page written.
 *
 *               kept_slots_2x10_60            two slots of 10-60 MiB in the main thread, the only thread
 *               kept_slots_2x10_60_thread     the same beside a thread that has allocated once and waits
 *               kept_slots_2x2_20_8t          eight threads with two slots each
 *
 *           operations_per_second   replacements of all threads together
 *           most_live_kib           exact peak of the bytes asked for; the runner adds the peak of the
 *                                   resident set
 * owner     Each thread has separate slots.
 * orders    The crew's.
 * hot path  slots_replace; the clock is read after each call.
 * failure   As base.h.
 * not here  The cost for neighbouring threads: kept_beside.c.
 */
#define _GNU_SOURCE
#include "harness/crew.h"
#include "harness/idlers.h"
#include "harness/slots.h"

enum { MIB = 1 << 20 };

/* name, slots, least and most MiB, threads that replace, threads that wait, end of the operation's text */
#define LOADS(ROW)                                                                                 \
    ROW("kept_slots_1x1_9", 1, 1, 9, 1, 0, "")                                                     \
    ROW("kept_slots_1x30_60", 1, 30, 60, 1, 0, "")                                                 \
    ROW("kept_slots_2x10_60", 2, 10, 60, 1, 0, "")                                                 \
    ROW("kept_slots_4x4_40", 4, 4, 40, 1, 0, "")                                                   \
    ROW("kept_slots_8x2_20", 8, 2, 20, 1, 0, "")                                                   \
    ROW("kept_slots_16x1_9", 16, 1, 9, 1, 0, "")                                                   \
    ROW("kept_slots_1x1_9_thread", 1, 1, 9, 1, 1, "; beside a waiting thread")                     \
    ROW("kept_slots_1x30_60_thread", 1, 30, 60, 1, 1, "; beside a waiting thread")                 \
    ROW("kept_slots_2x10_60_thread", 2, 10, 60, 1, 1, "; beside a waiting thread")                 \
    ROW("kept_slots_4x4_40_thread", 4, 4, 40, 1, 1, "; beside a waiting thread")                   \
    ROW("kept_slots_8x2_20_thread", 8, 2, 20, 1, 1, "; beside a waiting thread")                   \
    ROW("kept_slots_16x1_9_thread", 16, 1, 9, 1, 1, "; beside a waiting thread")                   \
    ROW("kept_slots_2x2_20_8t", 2, 2, 20, 8, 0, "; in each of eight threads")

struct load {
    uint32_t slots, least, most, threads, idle;
};

static uint64_t g_slots, g_least, g_most, g_threads, g_idle, g_milliseconds = 2000;
static uint64_t g_end, g_spent;
static struct slots g_of_thread[MOST_WORKERS];

static void fill(unsigned index)
{
    g_of_thread[index] = (struct slots){.random = {42 + index}, .count = (uint32_t)g_slots,
                                        .least = (uint32_t)g_least * MIB, .most = (uint32_t)g_most * MIB};
    slots_fill(&g_of_thread[index]);
}

/* At least one replacement: a thread may get a core only when the time is over. */
static void replace(unsigned index)
{
    do
        slots_replace(&g_of_thread[index]);
    while (now_ns() < g_end);
}

/* One thread is the main thread: then no further thread is ever started. */
static uint64_t run_in_all(void (*job)(unsigned))
{
    if (g_threads > 1) {
        g_crew.job = job;
        return crew_repeat();
    }
    uint64_t start = now_ns();
    job(0);
    return now_ns() - start;
}

static void slots_setup(void)
{
    if (g_threads > 1)
        crew_open((unsigned)g_threads, fill);
    idlers_start(g_idle, allocate_once);
    run_in_all(fill);
}

static uint64_t slots_repeat(void)
{
    g_end = now_ns() + g_milliseconds * 1000000;
    g_spent = run_in_all(replace);
    g_operations = 0;
    for (uint64_t i = 0; i < g_threads; i++)
        g_operations += g_of_thread[i].replaced;
    return g_spent;
}

static void slots_finish(void)
{
    report("operations_per_second", (double)g_operations * 1e9 / (double)g_spent);
    report("most_live_kib", (double)most_live() / 1024);
    if (g_threads > 1)
        crew_close();
}

/* ---- the rows ---- */

static void slots_preset(void);

#define AS_ROW(word, slots, low, high, workers, waiting, beside)                                              \
    {.name = word, .threads = (workers) + (waiting), .once = true, .preset = slots_preset,                    \
     .operation = "replace a random one of " #slots " x " #low "-" #high " MiB, all pages written" beside, \
     .setup = slots_setup, .repeat = slots_repeat, .finish = slots_finish},
static const struct row g_rows[] = {LOADS(AS_ROW)};

#define AS_LOAD(word, slots, low, high, workers, waiting, beside) {slots, low, high, workers, waiting},
static const struct load g_loads[] = {LOADS(AS_LOAD)};

static void slots_preset(void)
{
    const struct load *load = &g_loads[g_row - g_rows];
    g_slots = load->slots;
    g_least = load->least;
    g_most = load->most;
    g_threads = load->threads;
    g_idle = load->idle;
}

static const struct parameter g_parameters[] = {
    {"milliseconds", &g_milliseconds, 1, 3600000}, {"slots", &g_slots, 1, 1 << 16}, {"least", &g_least, 1, 2047},
    {"most", &g_most, 1, 2047}, {"threads", &g_threads, 1, MOST_WORKERS}, {"idle", &g_idle, 0, 1000},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
