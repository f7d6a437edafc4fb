/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rings.c: blocks that travel from producers to consumers through bounded rings.
 *
 * what      Half of the threads allocate, half free. Each pair of producer and consumer has a separate ring with one
 *           writer and one reader. A producer deals its blocks over all consumers in turn, 16 at a time; a consumer
 *           visits its rings in turn and skips empty rings.
 *
 *               producer 0 --ring--> consumer 0        producer 1 --ring--> consumer 0
 *                         \--ring--> consumer 1                  \--ring--> consumer 1
 *
 * owner     The main thread prepares rings and sizes; the workers of crew.h run.
 * orders    The producer releases `head` after the slots, the consumer releases `tail` after the loads of the slots.
 * hot path  Sizes come from a table. With more threads than cores a waiting thread gives its core away at once.
 * failure   die, also when a consumer reads a word that differs from the written word.
 * not here  One ring between two threads with smaller blocks: the row `pass`.
 */
#define _GNU_SOURCE
#include "harness/crew.h"

enum {
    RING_SLOTS = 256,
    BATCH = 16,
    BLOCKS = 1 << 16, /* per repetition, over all rings, before rounding */
    SIZES = 4096,
};

struct ring {
    _Alignas(64) atomic_uint head; /* blocks put in */
    _Alignas(64) atomic_uint tail; /* blocks taken out */
    _Alignas(64) void *slot[RING_SLOTS];
};

static uint64_t g_threads = 2;
static unsigned g_producers, g_consumers;
static unsigned g_batches;   /* batches through each ring in a repetition */
static struct ring *g_rings; /* of producer p and consumer c: p * g_consumers + c */
static uint16_t *g_size;     /* 16-1,024 bytes */
static _Atomic uint64_t g_received;

static unsigned first_spins(void)
{
    return g_crew.count > g_crew.cores ? PATIENCE : 0;
}

static void put_batch(struct ring *ring, unsigned size)
{
    unsigned head = atomic_load_explicit(&ring->head, memory_order_relaxed), spins = first_spins();
    while (head + BATCH - atomic_load_explicit(&ring->tail, memory_order_acquire) > RING_SLOTS)
        spin_once(&spins);
    for (unsigned i = 0; i < BATCH; i++)
        touch(ring->slot[(head + i) % RING_SLOTS] = must(malloc(g_size[(size + i) % SIZES])), 1);
    atomic_store_explicit(&ring->head, head + BATCH, memory_order_release);
}

static void produce(unsigned producer)
{
    struct ring *rings = g_rings + producer * g_consumers;
    unsigned size = producer * (SIZES / 16 + 1);
    for (unsigned batch = 0; batch < g_batches; batch++)
        for (unsigned c = 0; c < g_consumers; c++, size += BATCH)
            put_batch(&rings[c], size);
}

/* Frees a batch and returns the sum of the first words; 0 if the ring is empty. */
static uint64_t take_batch(struct ring *ring)
{
    unsigned tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t sum = 0;
    if (atomic_load_explicit(&ring->head, memory_order_acquire) - tail < BATCH)
        return 0;
    for (unsigned i = 0; i < BATCH; i++) {
        void *block = ring->slot[(tail + i) % RING_SLOTS];
        sum += *(volatile uint64_t *)block;
        free(block);
    }
    atomic_store_explicit(&ring->tail, tail + BATCH, memory_order_release);
    return sum;
}

static void consume(unsigned consumer)
{
    unsigned left = g_batches * g_producers, spins = first_spins();
    uint64_t received = 0;
    for (unsigned p = 0; left > 0; p = (p + 1) % g_producers) {
        uint64_t sum = take_batch(&g_rings[p * g_consumers + consumer]);
        received += sum;
        if (sum == 0) {
            spin_once(&spins);
        } else {
            spins = first_spins();
            left--;
        }
    }
    atomic_fetch_add(&g_received, received);
}

static void rings_job(unsigned index)
{
    if (index < g_producers)
        produce(index);
    else
        consume(index - g_producers);
}

static void rings_setup(void)
{
    struct random r = {.state = 42};
    g_consumers = (unsigned)g_threads / 2;
    g_producers = (unsigned)g_threads - g_consumers;
    unsigned rings = g_producers * g_consumers;
    g_batches = BLOCKS / BATCH / rings;
    g_operations = (uint64_t)rings * g_batches * BATCH;
    g_rings = pages(rings * sizeof *g_rings);
    g_size = pages(SIZES * sizeof *g_size);
    for (unsigned i = 0; i < SIZES; i++)
        g_size[i] = (uint16_t)random_between(&r, 16, 1024);
    crew_open((unsigned)g_threads, rings_job);
}

static uint64_t rings_repeat(void)
{
    atomic_store(&g_received, 0);
    uint64_t spent = crew_repeat();
    if (atomic_load(&g_received) != g_operations)
        die("bench: the consumers read other words than the producers wrote");
    return spent;
}

static void four_threads(void)
{
    g_threads = 4;
}

#define RINGS_OPERATION "16-1,024 B: malloc and write by one of the producers, read and free by one of the consumers"

static const struct row g_rows[] = {
    {.name = "rings_2", .operation = RINGS_OPERATION, .threads = 2,
     .setup = rings_setup, .repeat = rings_repeat, .finish = crew_close},
    {.name = "rings_4", .operation = RINGS_OPERATION, .threads = 4, .preset = four_threads,
     .setup = rings_setup, .repeat = rings_repeat, .finish = crew_close},
};

static const struct parameter g_parameters[] = {
    {"threads", &g_threads, 2, 64},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
