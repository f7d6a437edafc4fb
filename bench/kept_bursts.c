/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_bursts.c: release of the memory of a burst, after the first and after later bursts.
 *
 * what      `mib` MiB of blocks of 1,000 B, four times: all blocks are allocated, 49 of 50 are freed, and the program
 *           pauses for `pause_ms`. The same blocks stay all the time, the rest is allocated again.
 *
 *               live   |########| #           |########| #           |########| #           ...   300 MiB, 6 MiB, ...
 *                        burst      pause       burst      pause
 *
 *           rss_pause_1_kib .. rss_pause_4_kib   resident at the end of each pause
 *           most_live_kib, live_kib              bytes asked for at the peak and in the pauses
 *           floor_kib                            pages that hold a live byte in the pauses
 *           own_kib                              this program's array
 * owner     The main thread; in kept_bursts_thread a second thread has allocated once and waits.
 * hot path  Filling and freeing, in order; the pauses are not in the time. A block's first word is written, and so
 *           every page.
 * failure   As base.h.
 * not here  Freeing in random order: frag.c.
 */
#define _GNU_SOURCE
#include "harness/idlers.h"
#include "harness/page_set.h"

enum { BYTES = 1000, STAYS = 50, BURSTS = 4 };

static uint64_t g_mib = 300, g_pause_ms = 8000, g_idle = 0;
static size_t g_count, g_floor;
static void **g_block;
static long g_resident[BURSTS];

static void burst(void)
{
    for (size_t i = 0; i < g_count; i++)
        if (g_block[i] == NULL)
            touch(g_block[i] = must(malloc(BYTES)), i);
    for (size_t i = 0; i < g_count; i++) {
        if (i % STAYS != 0) {
            free(g_block[i]);
            g_block[i] = NULL;
        }
    }
}

static void rest(void)
{
    nanosleep(&(struct timespec){.tv_sec = (time_t)(g_pause_ms / 1000),
                                 .tv_nsec = (long)(g_pause_ms % 1000) * 1000000}, NULL);
}

static size_t staying(void)
{
    return (g_count + STAYS - 1) / STAYS;
}

static size_t floor_pages(void)
{
    struct page_set set = page_set_open(staying() * BYTES, staying());
    for (size_t i = 0; i < g_count; i += STAYS)
        page_set_add(&set, g_block[i], BYTES);
    return page_set_close(&set);
}

static void bursts_setup(void)
{
    g_count = (g_mib << 20) / BYTES;
    g_block = pages(g_count * sizeof *g_block);
    g_operations = staying() + BURSTS * (g_count - staying());
    idlers_start(g_idle, allocate_once);
}

static uint64_t bursts_repeat(void)
{
    uint64_t spent = 0;
    for (unsigned i = 0; i < BURSTS; i++) {
        uint64_t start = now_ns();
        burst();
        spent += now_ns() - start;
        rest();
        g_resident[i] = resident_kib();
    }
    g_floor = floor_pages();
    return spent;
}

static void bursts_finish(void)
{
    static const char *const name[BURSTS] = {"rss_pause_1_kib", "rss_pause_2_kib", "rss_pause_3_kib",
                                             "rss_pause_4_kib"};
    for (unsigned i = 0; i < BURSTS; i++)
        report(name[i], (double)g_resident[i]);
    report("most_live_kib", (double)(g_count * BYTES) / 1024);
    report("live_kib", (double)(staying() * BYTES) / 1024);
    report("floor_kib", (double)(g_floor * PAGE / 1024));
    report("own_kib", (double)(g_count * sizeof *g_block / 1024));
}

static void thread_preset(void)
{
    g_idle = 1;
}

#define OPERATION "malloc(1000), write, most are freed in order; four bursts of 300 MiB with pauses"
static const struct row g_rows[] = {
    {.name = "kept_bursts", .operation = OPERATION, .threads = 1, .once = true, .setup = bursts_setup,
     .repeat = bursts_repeat, .finish = bursts_finish},
    {.name = "kept_bursts_thread", .operation = OPERATION "; beside a waiting thread", .threads = 2, .once = true,
     .preset = thread_preset, .setup = bursts_setup, .repeat = bursts_repeat, .finish = bursts_finish},
};

static const struct parameter g_parameters[] = {
    {"mib", &g_mib, 1, 1 << 15},
    {"pause_ms", &g_pause_ms, 0, 3600000},
    {"idle", &g_idle, 0, 1000},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
