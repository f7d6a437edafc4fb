/* kept_lifetimes.c: what do blocks that stay cost that lie among blocks that go?
 *
 * what      A window of blocks of 260-510 KiB of which a random one is replaced, and one block in sixteen that stays;
 *           then the window goes and blocks of 900 KiB take its place, which no hole between blocks that stay can hold.
 *           Three times. Every page is written.
 *
 *               apart    [stays|stays| . . . 900 KiB . . . 900 KiB . . .]
 *               mixed    [. . |stays| . . . |stays| . |stays| . . . . . ][ 900 KiB   900 KiB ]
 *
 *               kept_lifetimes          two places in the program ask: one for what stays, one for what goes
 *               kept_lifetimes_mixed    one place asks for all
 *
 *           most_live_kib   the most that was asked for at once, beside the peak of the resident set
 * owner     The main thread, the only one.
 * failure   As base.h.
 */
#define _GNU_SOURCE
#include "harness/slots.h"

enum { KIB = 1024, SHORT = 260 * KIB, LONG = 510 * KIB, WIDE = 900 * KIB, PHASES = 3, STAYS_EVERY = 16 };

static uint64_t g_window = 1000;
static struct slot *g_slot;
static struct random g_random = {42};

static __attribute__((noinline)) void *block_that_goes(size_t bytes)
{
    void *volatile block = written_block(bytes);
    return block;
}

static __attribute__((noinline)) void *block_that_stays(size_t bytes)
{
    void *volatile block = write_pages(must(malloc(bytes)), bytes);
    return block;
}

static bool is_apart(void)
{
    return g_row->name[sizeof "kept_lifetimes" - 1] == 0;
}

static void take(struct slot *slot, uint32_t bytes)
{
    slot->bytes = bytes;
    slot->block = block_that_goes(bytes);
    live_add(bytes);
}

static void give(struct slot *slot)
{
    live_add(-(uint64_t)slot->bytes);
    free(slot->block);
    *slot = (struct slot){NULL, 0};
}

/* It is never freed. */
static void keep_one(void)
{
    uint32_t bytes = random_between(&g_random, SHORT, LONG);
    live_add(bytes);
    (is_apart() ? block_that_stays : block_that_goes)(bytes);
}

static void pass_phase(void)
{
    for (uint64_t i = 0; i < 2 * g_window; i++) {
        struct slot *slot = &g_slot[random_below(&g_random, (uint32_t)g_window)];
        if (slot->block != NULL)
            give(slot);
        take(slot, random_between(&g_random, SHORT, LONG));
        if (i % STAYS_EVERY == 0)
            keep_one();
    }
    for (uint64_t i = 0; i < g_window; i++)
        give(&g_slot[i]);
    for (uint64_t i = 0; i < g_window / 3; i++)
        take(&g_slot[i], WIDE);
    for (uint64_t i = 0; i < g_window; i++)
        give(&g_slot[i]);
}

static void lifetimes_setup(void)
{
    g_slot = pages(g_window * sizeof *g_slot);
}

static uint64_t lifetimes_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned phase = 0; phase < PHASES; phase++)
        pass_phase();
    g_operations = PHASES * g_window * 2;
    return now_ns() - start;
}

static void lifetimes_finish(void)
{
    report("most_live_kib", (double)most_live() / KIB);
}

static const struct row g_rows[] = {
    {.name = "kept_lifetimes", .operation = "replace one of 1,000 x 260-510 KiB, one in 16 stays, all pages written",
     .threads = 1, .once = true, .setup = lifetimes_setup, .repeat = lifetimes_repeat, .finish = lifetimes_finish},
    {.name = "kept_lifetimes_mixed", .operation = "the same, all asked for in one place",
     .threads = 1, .once = true, .setup = lifetimes_setup, .repeat = lifetimes_repeat, .finish = lifetimes_finish},
};

static const struct parameter g_parameters[] = {{"window", &g_window, 3, 1 << 16}};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
