/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_beside.c: cost of a thread that replaces large blocks for the threads beside.
 *
 * what      The main thread has 16 blocks of 1-9 MiB. `neighbours` threads work all the time: each allocates 64 blocks
 *           of 1,000 B, writes and frees the blocks, and faults in 16 pages that the thread has just returned to the
 *           kernel, so that under every allocator the neighbours need the kernel's lock of the address space. The main
 *           thread takes turns of 100 ms:
 *
 *               calm   writes its blocks     busy   replaces a random block by a block of random size
 *
 *           Both turns take the same processor time; only the calls of the allocator differ.
 *
 *           neighbours_slowdown     the neighbours' rounds in a calm second / in a busy second
 *           neighbours_ns           a neighbour's round, of all neighbours together, in the busy turns
 *           operations_per_second   replacements in a busy second
 *           most_live_kib           peak of the bytes asked for, without the neighbours' 62 KiB each
 * owner     Each neighbour has separate blocks and pages.
 * orders    The neighbours' counts are read while the neighbours run.
 * hot path  slots_replace and a neighbour's round.
 * failure   As base.h.
 * not here  One thread alone: kept_slots.c.
 */
#define _GNU_SOURCE
#include "harness/slots.h"
#include <pthread.h>

enum {
    MIB = 1 << 20,
    SLOTS = 16,
    LEAST_MIB = 1,
    MOST_MIB = 9,
    TURN_NS = 100000000,
    SMALL_BYTES = 1000,
    SMALL_COUNT = 64,
    FAULTS = 16,
    MOST_NEIGHBOURS = 256,
};

struct neighbour {
    _Alignas(64) _Atomic uint64_t rounds;
    pthread_t thread;
    char *page;
};

struct sum {
    uint64_t ns, rounds;
};

static uint64_t g_neighbours = 8, g_turns = 10; /* turns of each kind */
static struct neighbour g_neighbour[MOST_NEIGHBOURS];
static atomic_bool g_over;
static struct slots g_slots;
static struct sum g_calm, g_busy;

/* ---- the neighbours ---- */

static void small_blocks(void)
{
    void *block[SMALL_COUNT];
    for (unsigned i = 0; i < SMALL_COUNT; i++)
        touch(block[i] = must(malloc(SMALL_BYTES)), i);
    for (unsigned i = 0; i < SMALL_COUNT; i++)
        free(block[i]);
}

static void faults(char *page)
{
    madvise(page, FAULTS * PAGE, MADV_DONTNEED);
    for (unsigned i = 0; i < FAULTS; i++)
        touch(page + i * PAGE, i);
}

static void *live_beside(void *argument)
{
    struct neighbour *self = argument;
    while (!atomic_load_explicit(&g_over, memory_order_relaxed)) {
        small_blocks();
        faults(self->page);
        atomic_fetch_add_explicit(&self->rounds, 1, memory_order_relaxed);
    }
    return NULL;
}

static uint64_t rounds_of_all(void)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < g_neighbours; i++)
        sum += atomic_load_explicit(&g_neighbour[i].rounds, memory_order_relaxed);
    return sum;
}

/* ---- the main thread's turns ---- */

static void rewrite(struct slots *s)
{
    struct slot *slot = random_slot(s);
    write_pages(slot->block, slot->bytes);
}

static void turn(struct sum *sum, void (*work)(struct slots *))
{
    uint64_t start = now_ns(), before = rounds_of_all(), now;
    do {
        work(&g_slots);
        now = now_ns();
    } while (now - start < TURN_NS);
    sum->ns += now - start;
    sum->rounds += rounds_of_all() - before;
}

static void beside_setup(void)
{
    g_slots = (struct slots){.random = {42}, .count = SLOTS, .least = LEAST_MIB * MIB, .most = MOST_MIB * MIB};
    slots_fill(&g_slots);
    for (uint64_t i = 0; i < g_neighbours; i++) {
        g_neighbour[i].page = pages(FAULTS * PAGE);
        if (pthread_create(&g_neighbour[i].thread, NULL, live_beside, &g_neighbour[i]) != 0)
            die("bench: cannot start a thread");
    }
}

static uint64_t beside_repeat(void)
{
    for (uint64_t i = 0; i < g_turns; i++) {
        turn(&g_calm, rewrite);
        turn(&g_busy, slots_replace);
    }
    g_operations = g_slots.replaced;
    return g_busy.ns;
}

static void beside_finish(void)
{
    double calm = (double)g_calm.rounds / (double)g_calm.ns, busy = (double)g_busy.rounds / (double)g_busy.ns;
    report("neighbours_slowdown", calm / busy);
    report("neighbours_ns", 1 / busy);
    report("operations_per_second", (double)g_operations * 1e9 / (double)g_busy.ns);
    report("most_live_kib", (double)most_live() / 1024);
    atomic_store(&g_over, true);
    for (uint64_t i = 0; i < g_neighbours; i++)
        pthread_join(g_neighbour[i].thread, NULL);
}

static const struct row g_rows[] = {
    {.name = "kept_beside", .threads = 9, .once = true,
     .operation = "replace a random one of 16 blocks of 1-9 MiB, all pages written; beside eight threads that fault",
     .setup = beside_setup, .repeat = beside_repeat, .finish = beside_finish},
};

static const struct parameter g_parameters[] = {
    {"neighbours", &g_neighbours, 1, MOST_NEIGHBOURS},
    {"turns", &g_turns, 1, 1000},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
