/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* soak.c: a constant load of any length: drift of speed and memory.
 *
 * what      Blocks of mixed sizes with random lifetimes: 90 of 100 steps replace a block of a set of 1 Ki blocks, 9 of
 *           a set of 16 Ki, 1 of a set of 64 Ki. The time is cut into epochs of 0.1 s; of each epoch the nanoseconds
 *           per step and the final resident set are kept.
 *
 *           A step asks for as many bytes as the step before it freed, so that the sum of bytes asked for is constant
 *           and a drift is the allocator's.
 *
 *           rss_drift_percent   mean resident set of the last quarter of the epochs against the second quarter
 *           ns_variation_percent  standard deviation of the epochs' nanoseconds, relative to the mean
 *           ns_worst_epoch      the slowest epoch
 *           live_kib            bytes asked for at the end       own_kib   this program's arrays
 * owner     The main thread. A block's first word is its size.
 * hot path  Slots and sizes come from a table that is drawn anew after each pass, outside the time.
 * failure   die when a block has lost its first word.
 * not here  Loads that shrink: frag.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "mixed_sizes.h"

enum {
    STEPS = 1 << 14,
    SHORT = 1 << 10,
    MIDDLE = 1 << 14,
    LONG = 1 << 16,
    SLOTS = SHORT + MIDDLE + LONG,
    EPOCHS_PER_SECOND = 10,
};

struct step {
    uint32_t slot, bytes;
};

struct epoch {
    double ns, kib;
};

static uint64_t g_seconds = 2;
static void **g_slot;
static uint32_t *g_size;  /* of each slot's block when all drawn steps are done */
static uint32_t g_passed; /* bytes that the last drawn step frees and the next step asks for */
static struct step *g_step;
static struct epoch *g_epoch;
static unsigned g_epochs;
static struct random g_random = {.state = 42};

/* ---- the load ---- */

static void *written_block(size_t bytes)
{
    char *block = must(malloc(bytes));
    for (size_t at = PAGE; at < bytes; at += PAGE)
        block[at] = 1;
    touch(block, bytes);
    return block;
}

static uint32_t random_slot(void)
{
    uint32_t kind = random_below(&g_random, 100);
    if (kind < 90)
        return random_below(&g_random, SHORT);
    if (kind < 99)
        return SHORT + random_below(&g_random, MIDDLE);
    return SHORT + MIDDLE + random_below(&g_random, LONG);
}

static void draw_steps(void)
{
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t slot = random_slot(), freed = g_size[slot];
        g_step[i] = (struct step){slot, g_passed};
        g_size[slot] = g_passed;
        g_passed = freed;
    }
}

static uint64_t timed_steps(void)
{
    uint64_t start = now_ns();
    for (const struct step *step = g_step; step < g_step + STEPS; step++) {
        free(g_slot[step->slot]);
        g_slot[step->slot] = written_block(step->bytes);
    }
    return now_ns() - start;
}

/* Runs one epoch; returns nanoseconds and, in *steps, the number of steps. */
static uint64_t run_epoch(uint64_t *steps)
{
    uint64_t spent = 0, end = now_ns() + 1000000000 / EPOCHS_PER_SECOND;
    *steps = 0;
    while (now_ns() < end) {
        draw_steps();
        spent += timed_steps();
        *steps += STEPS;
    }
    return spent;
}

/* ---- the row ---- */

static void soak_setup(void)
{
    g_epochs = (unsigned)g_seconds * EPOCHS_PER_SECOND;
    g_slot = pages(SLOTS * sizeof *g_slot);
    g_step = pages(STEPS * sizeof *g_step);
    g_epoch = pages(g_epochs * sizeof *g_epoch);
    g_size = pages(SLOTS * sizeof *g_size);
    for (unsigned i = 0; i < SLOTS; i++)
        g_slot[i] = written_block(g_size[i] = mixed_size(&g_random));
    g_passed = mixed_size(&g_random);
}

static uint64_t soak_repeat(void)
{
    uint64_t spent = 0, steps = 0, epoch_steps;
    for (struct epoch *epoch = g_epoch; epoch < g_epoch + g_epochs; epoch++) {
        uint64_t ns = run_epoch(&epoch_steps);
        *epoch = (struct epoch){.ns = (double)ns / (double)epoch_steps, .kib = (double)resident_kib()};
        spent += ns;
        steps += epoch_steps;
    }
    g_operations = steps;
    return spent;
}

/* ---- the reported figures ---- */

static double mean_kib(unsigned quarter)
{
    unsigned from = g_epochs * quarter / 4, to = g_epochs * (quarter + 1) / 4;
    double sum = 0;
    for (unsigned i = from; i < to; i++)
        sum += g_epoch[i].kib;
    return sum / (to - from);
}

static double mean_ns(void)
{
    double sum = 0;
    for (unsigned i = 0; i < g_epochs; i++)
        sum += g_epoch[i].ns;
    return sum / g_epochs;
}

static double square_root(double x)
{
    double root = x > 1 ? x : 1;
    for (unsigned i = 0; i < 64; i++)
        root = (root + x / root) / 2;
    return root;
}

static double variation_percent(void)
{
    double mean = mean_ns(), squares = 0;
    for (unsigned i = 0; i < g_epochs; i++)
        squares += (g_epoch[i].ns - mean) * (g_epoch[i].ns - mean);
    return 100 * square_root(squares / g_epochs) / mean;
}

static double worst_ns(void)
{
    double worst = 0;
    for (unsigned i = 0; i < g_epochs; i++)
        worst = g_epoch[i].ns > worst ? g_epoch[i].ns : worst;
    return worst;
}

static double live_kib(void)
{
    uint64_t live = 0;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (*(volatile uint64_t *)g_slot[i] != g_size[i])
            die("bench: a block has lost its first word");
        live += g_size[i];
    }
    return (double)(live >> 10);
}

static void soak_finish(void)
{
    size_t own = SLOTS * (sizeof *g_slot + sizeof *g_size) + STEPS * sizeof *g_step + g_epochs * sizeof *g_epoch;
    report("rss_drift_percent", 100 * (mean_kib(3) / mean_kib(1) - 1));
    report("ns_variation_percent", variation_percent());
    report("ns_worst_epoch", worst_ns());
    report("live_kib", live_kib());
    report("own_kib", (double)(own >> 10));
}

static const struct row g_rows[] = {
    {.name = "soak", .operation = "free a block of random age, malloc one of mixed sizes, write all of its pages",
     .threads = 1, .once = true, .setup = soak_setup, .repeat = soak_repeat, .finish = soak_finish},
};

static const struct parameter g_parameters[] = {
    {"seconds", &g_seconds, 1, 7 * 86400},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
