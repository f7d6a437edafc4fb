/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* prodcons.c: blocks allocated by one thread and freed by the next, over bounded rings of pointers.
 *
 * what      pass       one thread allocates, a second thread frees
 *           prodcons   any number of threads in a circle: each thread allocates for its successor and frees the
 *                      predecessor's blocks; a single thread frees its own, 16 blocks later
 *           The reader checks every word that the writer wrote.
 * owner     A ring has one writing and one reading thread.
 * orders    The producer releases head after the slots; the consumer releases tail after the loads of the slots.
 * hot path  Sizes come from a table made before.
 * failure   As the harness; die when a word got lost.
 * not here  Rings with many threads at each end: rings.c.
 */
#define _GNU_SOURCE
#include "harness/crew.h"

enum { RING_SLOTS = 1024, BATCH = 16, SIZES = 4096, LOW = 16, HIGH = 256 };
enum { PASS_BLOCKS = 1 << 16, ALL_BATCHES = 1 << 13 };

struct ring {
    _Alignas(64) atomic_uint head; /* blocks put in */
    _Alignas(64) atomic_uint tail; /* blocks taken out */
    _Alignas(64) uint64_t received;
    _Alignas(64) void *slot[RING_SLOTS];
};

static uint64_t g_threads = 2;
static struct ring *g_ring; /* ring i is filled by thread i */
static uint64_t g_rings;
static uint16_t *g_size;
static unsigned g_batches; /* batches of each thread, per repetition */
static unsigned g_spins;   /* initial spin count of a wait */

static unsigned put_batch(struct ring *ring, unsigned head)
{
    unsigned spins = g_spins;
    while (head + BATCH - atomic_load_explicit(&ring->tail, memory_order_acquire) > RING_SLOTS)
        spin_once(&spins);
    for (unsigned i = 0; i < BATCH; i++, head++)
        touch(ring->slot[head % RING_SLOTS] = must(malloc(g_size[head % SIZES])), 1);
    atomic_store_explicit(&ring->head, head, memory_order_release);
    return head;
}

static unsigned take_batch(struct ring *ring, unsigned tail, uint64_t *sum)
{
    unsigned spins = g_spins;
    while (atomic_load_explicit(&ring->head, memory_order_acquire) - tail < BATCH)
        spin_once(&spins);
    for (unsigned i = 0; i < BATCH; i++, tail++) {
        void *block = ring->slot[tail % RING_SLOTS];
        *sum += *(volatile uint64_t *)block;
        free(block);
    }
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
    return tail;
}

/* ---- pass ---- */

static void produce(struct ring *ring)
{
    unsigned head = atomic_load(&ring->head);
    for (unsigned left = g_batches; left > 0; left--)
        head = put_batch(ring, head);
}

static void consume(struct ring *ring)
{
    unsigned tail = atomic_load(&ring->tail);
    uint64_t sum = 0;
    for (unsigned left = g_batches; left > 0; left--)
        tail = take_batch(ring, tail, &sum);
    ring->received = sum;
}

static void pass_job(unsigned side)
{
    if (side == 0)
        produce(g_ring);
    else
        consume(g_ring);
}

/* ---- prodcons ---- */

static void circle_job(unsigned index)
{
    struct ring *out = &g_ring[index], *in = &g_ring[index == 0 ? g_threads - 1 : index - 1];
    unsigned head = atomic_load(&out->head), tail = atomic_load(&in->tail);
    uint64_t sum = 0;
    for (unsigned left = g_batches; left > 0; left--) {
        head = put_batch(out, head);
        tail = take_batch(in, tail, &sum);
    }
    in->received = sum;
}

/* ---- both ---- */

static void open_rings(uint64_t rings, unsigned batches, void (*job)(unsigned index))
{
    struct random random = {42};
    g_rings = rings;
    g_ring = pages(rings * sizeof *g_ring);
    g_size = pages(SIZES * sizeof *g_size);
    for (unsigned i = 0; i < SIZES; i++)
        g_size[i] = (uint16_t)random_between(&random, LOW, HIGH);
    g_batches = batches;
    g_operations = rings * batches * BATCH;
    crew_open((unsigned)g_threads, job);
    g_spins = g_crew.count > g_crew.cores ? PATIENCE : 0;
}

static void pass_setup(void)
{
    if (g_threads != 2)
        die("bench: pass is for two threads; prodcons takes any number");
    open_rings(1, PASS_BLOCKS / BATCH, pass_job);
}

static void circle_setup(void)
{
    open_rings(g_threads, (unsigned)(ALL_BATCHES / g_threads), circle_job);
}

static uint64_t repeat(void)
{
    uint64_t spent = crew_repeat(), received = 0;
    for (uint64_t i = 0; i < g_rings; i++)
        received += g_ring[i].received;
    if (received != g_operations)
        die("bench: a consumer read other words than its producer wrote");
    return spent;
}

static const struct row g_rows[] = {
    {.name = "prodcons", .operation = "one block of 16-256 B: malloc, write in one thread, read, free in the next one",
     .threads = 2, .setup = circle_setup, .repeat = repeat, .finish = crew_close},
    {.name = "pass", .operation = "one block of 16-256 B: malloc, write in one thread, read, free in the other one",
     .threads = 2, .setup = pass_setup, .repeat = repeat, .finish = crew_close},
};

static const struct parameter g_parameters[] = {{"threads", &g_threads, 1, MOST_WORKERS}};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
