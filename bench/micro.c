/* micro.c: small allocation patterns, one per run, in nanoseconds per operation.
 *
 * what      `micro NAME` runs one pattern with plain malloc and free and prints the best repetition; `micro list`
 *           names them and says what one operation is. LD_PRELOAD decides which allocator is measured.
 *
 *               set up, warm up |--repetition--| |--repetition--| |--repetition--| ...   until the time is up
 *               printed         the shortest repetition / its operations
 *
 * owner     One pattern per process, so that no pattern finds the heap another one left.
 * locks     The passing pattern's ring has one producer and one consumer and no lock.
 * orders    Ring: the producer releases head after the slots, the consumer releases tail after it took them.
 * hot path  Slots, sizes and orders come from tables made before; the timed part reads no clock and draws no number.
 * failure   One line on stderr and exit status 1; 2 for a wrong command line.
 * not here  Choosing allocators, rounds, the table and the verdicts: `hakmem micro`.
 */
#define _GNU_SOURCE
#include "duo.h"
#include "harness.h"

enum {
    DEPTH = 100,
    BULK = 1 << 20,
    BLOCK_BYTES = 64,
    RING_SLOTS = 1024,
    PASS_BATCH = 16,
    NEIGHBOURS = 8,
    NEIGHBOUR_BYTES = 16,
    WRITES = 64,
    SIZES = 4096, /* length of the table of the passing pattern's sizes */
};

struct row {
    const char *name;
    const char *operation;
    uint32_t operations; /* per repetition */
    void (*setup)(void);
    uint64_t (*repeat)(void); /* nanoseconds of the timed part */
    void (*finish)(void);
};
static const struct row *g_row;

/* ---- random numbers, drawn before the timing starts ---- */

/* splitmix64 with a fixed seed: every run and every allocator sees the same sequence. */
static uint64_t random_next(void)
{
    static uint64_t state = 42;
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint32_t random_below(uint32_t bound)
{
    return (uint32_t)(((random_next() >> 32) * bound) >> 32);
}

/* A random order of 0..count-1 (Fisher and Yates). */
static void random_order(uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    for (uint32_t i = count - 1; i > 0; i--) {
        uint32_t j = random_below(i + 1), keep = order[i];
        order[i] = order[j];
        order[j] = keep;
    }
}

/* ---- a few blocks at a time ---- */

static uint64_t pair_repeat(void)
{
    uint64_t start = now_ns();
    for (uint32_t i = 0; i < g_row->operations; i++) {
        void *p = must(malloc(16));
        touch(p, i);
        free(p);
    }
    return now_ns() - start;
}

static void stack_fill(void **stack)
{
    for (unsigned i = 0; i < DEPTH; i++)
        touch(stack[i] = must(malloc(BLOCK_BYTES)), i);
}

static uint64_t lifo_repeat(void)
{
    void *stack[DEPTH];
    uint64_t start = now_ns();
    for (uint32_t done = 0; done < g_row->operations; done += DEPTH) {
        stack_fill(stack);
        for (unsigned i = DEPTH; i-- > 0;)
            free(stack[i]);
    }
    return now_ns() - start;
}

static uint64_t fifo_repeat(void)
{
    void *queue[DEPTH];
    uint64_t start = now_ns();
    for (uint32_t done = 0; done < g_row->operations; done += DEPTH) {
        stack_fill(queue);
        for (unsigned i = 0; i < DEPTH; i++)
            free(queue[i]);
    }
    return now_ns() - start;
}

/* ---- random replace: free what a random slot holds, allocate a block of random size in its place ---- */

struct replace {
    uint32_t slots, low, high; /* sizes low..high bytes, both included */
    uint32_t steps;            /* length of the table of (slot, size), a power of two */
    unsigned shift;            /* a step is slot << shift | size */
    uint32_t next;
    void **slot;
    uint32_t *step;
};

static void replace_prepare(struct replace *r)
{
    r->slot = pages(r->slots * sizeof *r->slot);
    r->step = pages(r->steps * sizeof *r->step);
    for (uint32_t i = 0; i < r->steps; i++)
        r->step[i] = random_below(r->slots) << r->shift | (r->low + random_below(r->high - r->low + 1));
}

static void replace_fill(struct replace *r)
{
    uint32_t mask = (1u << r->shift) - 1;
    for (uint32_t i = 0; i < r->slots; i++)
        touch(r->slot[i] = must(malloc(r->step[i & (r->steps - 1)] & mask)), i);
}

static void replace_run(struct replace *r, uint32_t count)
{
    unsigned shift = r->shift;
    uint32_t mask = (1u << shift) - 1, wrap = r->steps - 1, next = r->next;
    void **slot = r->slot;
    const uint32_t *step = r->step;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t now = step[next++ & wrap];
        free(slot[now >> shift]);
        touch(slot[now >> shift] = must(malloc(now & mask)), i);
    }
    r->next = next;
}

static struct replace g_replace;

/* Fills every slot, then replaces as often as there are slots, so that no repetition meets a heap in order. */
static void replace_setup(struct replace shape)
{
    g_replace = shape;
    replace_prepare(&g_replace);
    replace_fill(&g_replace);
    replace_run(&g_replace, shape.slots);
}

static const struct replace SHAPE_400 = {.slots = 400, .low = 8, .high = 128, .steps = 1 << 16, .shift = 16};
static const struct replace SHAPE_8K = {.slots = 8192, .low = 16, .high = 1024, .steps = 1 << 16, .shift = 16};
static const struct replace SHAPE_1M = {.slots = 1 << 20, .low = 16, .high = 256, .steps = 1 << 21, .shift = 12};
static const struct replace SHAPE_MID = {.slots = 256, .low = 2048, .high = 30720, .steps = 1 << 16, .shift = 16};

static void replace_400_setup(void)
{
    replace_setup(SHAPE_400);
}

static void replace_8k_setup(void)
{
    replace_setup(SHAPE_8K);
}

static void replace_1m_setup(void)
{
    replace_setup(SHAPE_1M);
}

static void replace_mid_setup(void)
{
    replace_setup(SHAPE_MID);
}

static uint64_t replace_repeat(void)
{
    uint64_t start = now_ns();
    replace_run(&g_replace, g_row->operations);
    return now_ns() - start;
}

/* ---- 1 Mi blocks: all allocated, then all freed ---- */

static void **g_bulk;     /* in the order of allocation */
static void **g_shuffled; /* the same blocks in the order of freeing */
static uint32_t *g_order;

static void bulk_setup(void)
{
    g_bulk = pages(BULK * sizeof *g_bulk);
}

static void bulk_random_setup(void)
{
    bulk_setup();
    g_shuffled = pages(BULK * sizeof *g_shuffled);
    g_order = pages(BULK * sizeof *g_order);
    random_order(g_order, BULK);
}

static uint64_t bulk_alloc(void)
{
    uint64_t start = now_ns();
    for (uint32_t i = 0; i < BULK; i++)
        touch(g_bulk[i] = must(malloc(BLOCK_BYTES)), i);
    return now_ns() - start;
}

static uint64_t bulk_free(void **block)
{
    uint64_t start = now_ns();
    for (uint32_t i = 0; i < BULK; i++)
        free(block[i]);
    return now_ns() - start;
}

static uint64_t bulk_order_repeat(void)
{
    uint64_t spent = bulk_alloc();
    return spent + bulk_free(g_bulk);
}

/* The pointers are shuffled between the two timed halves, so that the free loop reads them in sequence. */
static uint64_t bulk_random_repeat(void)
{
    uint64_t spent = bulk_alloc();
    for (uint32_t i = 0; i < BULK; i++)
        g_shuffled[i] = g_bulk[g_order[i]];
    return spent + bulk_free(g_shuffled);
}

/* ---- producer -> consumer: a bounded ring of pointers ---- */

struct ring {
    _Alignas(64) atomic_uint head; /* blocks put in so far */
    _Alignas(64) atomic_uint tail; /* blocks taken out so far */
    _Alignas(64) void *slot[RING_SLOTS];
};
static struct ring g_ring;
static uint16_t *g_size; /* 16-256 bytes */
static uint64_t g_received;

static void produce(void)
{
    unsigned head = atomic_load(&g_ring.head);
    for (uint32_t left = g_row->operations; left > 0; left -= PASS_BATCH) {
        unsigned spins = 0;
        while (head + PASS_BATCH - atomic_load_explicit(&g_ring.tail, memory_order_acquire) > RING_SLOTS)
            spin_once(&spins);
        for (unsigned i = 0; i < PASS_BATCH; i++, head++)
            touch(g_ring.slot[head % RING_SLOTS] = must(malloc(g_size[head % SIZES])), 1);
        atomic_store_explicit(&g_ring.head, head, memory_order_release);
    }
}

static void consume(void)
{
    unsigned tail = atomic_load(&g_ring.tail);
    uint64_t sum = 0;
    for (uint32_t left = g_row->operations; left > 0; left -= PASS_BATCH) {
        unsigned spins = 0;
        while (atomic_load_explicit(&g_ring.head, memory_order_acquire) - tail < PASS_BATCH)
            spin_once(&spins);
        for (unsigned i = 0; i < PASS_BATCH; i++, tail++) {
            void *block = g_ring.slot[tail % RING_SLOTS];
            sum += *(volatile uint64_t *)block;
            free(block);
        }
        atomic_store_explicit(&g_ring.tail, tail, memory_order_release);
    }
    g_received = sum;
}

static void pass_job(unsigned side)
{
    if (side == 0)
        produce();
    else
        consume();
}

static void pass_setup(void)
{
    g_size = pages(SIZES * sizeof *g_size);
    for (unsigned i = 0; i < SIZES; i++)
        g_size[i] = (uint16_t)(16 + random_below(241));
    duo_open(pass_job);
}

static uint64_t pass_repeat(void)
{
    uint64_t spent = duo_repeat();
    if (g_received != g_row->operations)
        die("bench: the consumer read other words than the producer wrote");
    return spent;
}

/* ---- two threads that share nothing ---- */

static struct replace g_own[2];

static void two_job(unsigned side)
{
    if (g_own[side].slot[0] == NULL)
        replace_fill(&g_own[side]);
    replace_run(&g_own[side], g_row->operations);
}

static void two_setup(void)
{
    for (unsigned side = 0; side < 2; side++) {
        g_own[side] = SHAPE_400;
        replace_prepare(&g_own[side]);
    }
    duo_open(two_job);
}

/* ---- false sharing (after the ideas of Hoard's cache-thrash and cache-scratch) ---- */

static void *g_handed[2][NEIGHBOURS];

/* Allocates NEIGHBOURS blocks, writes the first word of each WRITES times, frees them. */
static void scratch(void)
{
    void *own[NEIGHBOURS];
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        touch(own[i] = must(malloc(NEIGHBOUR_BYTES)), 0);
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        for (unsigned n = 0; n < WRITES; n++)
            ++*(volatile uint64_t *)own[i];
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        free(own[i]);
}

static void active_job(unsigned side)
{
    (void)side;
    for (uint32_t left = g_row->operations; left > 0; left -= NEIGHBOURS)
        scratch();
}

static void passive_job(unsigned side)
{
    for (unsigned i = 0; i < NEIGHBOURS; i++)
        free(g_handed[side][i]);
    active_job(side);
}

static void active_setup(void)
{
    duo_open(active_job);
}

static void passive_setup(void)
{
    duo_open(passive_job);
}

/* The main thread's neighbours go to the two workers in turn: every line has blocks of both. */
static uint64_t passive_repeat(void)
{
    for (unsigned i = 0; i < 2 * NEIGHBOURS; i++)
        touch(g_handed[i % 2][i / 2] = must(malloc(NEIGHBOUR_BYTES)), i);
    return duo_repeat();
}

/* ---- the table, and the command line ---- */

static void nothing(void)
{
}

static const struct row g_rows[] = {
    {"pair", "malloc(16), write, free",
     200000, nothing, pair_repeat, nothing},
    {"lifo_100", "one of 100 blocks of 64 B: allocated, written, freed last one first",
     200000, nothing, lifo_repeat, nothing},
    {"fifo_100", "one of 100 blocks of 64 B: allocated, written, freed first one first",
     200000, nothing, fifo_repeat, nothing},
    {"replace_400", "free a random slot of 400, malloc 8-128 B, write",
     200000, replace_400_setup, replace_repeat, nothing},
    {"replace_8k", "free a random slot of 8,192, malloc 16-1,024 B, write",
     200000, replace_8k_setup, replace_repeat, nothing},
    {"replace_1m", "free a random slot of 1 Mi, malloc 16-256 B, write",
     1 << 18, replace_1m_setup, replace_repeat, nothing},
    {"bulk_order", "one of 1 Mi blocks of 64 B: allocated, written, freed in the same order",
     BULK, bulk_setup, bulk_order_repeat, nothing},
    {"bulk_random", "one of 1 Mi blocks of 64 B: allocated, written, freed in random order",
     BULK, bulk_random_setup, bulk_random_repeat, nothing},
    {"replace_mid", "free a random slot of 256, malloc 2-30 KiB, write",
     100000, replace_mid_setup, replace_repeat, nothing},
    {"pass", "one block of 16-256 B: allocated and written by one thread, read and freed by another",
     1 << 16, pass_setup, pass_repeat, duo_close},
    {"two_threads", "as replace_400, in each of two threads at once",
     200000, two_setup, duo_repeat, duo_close},
    {"sharing_passive", "malloc(16), 65 writes, free, in each of two threads that first free what was handed to them",
     40000, passive_setup, passive_repeat, duo_close},
    {"sharing_active", "malloc(16), 65 writes, free, in each of two threads",
     40000, active_setup, duo_repeat, duo_close},
};
enum { ROWS = sizeof g_rows / sizeof *g_rows, LEAST_REPETITIONS = 1 };

static int list(void)
{
    for (unsigned i = 0; i < ROWS; i++)
        printf("%-16s %s\n", g_rows[i].name, g_rows[i].operation);
    return 0;
}

static const struct row *find(const char *name)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (strcmp(g_rows[i].name, name) == 0)
            return &g_rows[i];
    return NULL;
}

static int usage(const char *wrong)
{
    fprintf(stderr, "micro: %s; usage: micro list | micro NAME [--seconds S] [--proof]\n", wrong);
    return 2;
}

/* The first repetition only warms up: fresh memory is faulted in, and the free lists come to the order they keep. */
static int measure(double seconds, bool proof)
{
    uint64_t best = UINT64_MAX;
    unsigned repetitions = 0;
    g_row->setup();
    g_row->repeat();
    for (uint64_t end = now_ns() + (uint64_t)(seconds * 1e9); repetitions < LEAST_REPETITIONS || now_ns() < end;) {
        uint64_t spent = g_row->repeat();
        best = spent < best ? spent : best;
        repetitions++;
    }
    g_row->finish();
    printf("%s ns=%.3f repetitions=%u", g_row->name, (double)best / g_row->operations, repetitions);
    if (g_hop_ns > 0)
        printf(" hop_ns=%.0f", g_hop_ns);
    putchar('\n');
    if (proof)
        print_proof();
    return 0;
}

int main(int count, char **word)
{
    double seconds = 0.2;
    bool proof = false;
    if (count < 2)
        return usage("a row's name is missing");
    if (strcmp(word[1], "list") == 0)
        return list();
    if ((g_row = find(word[1])) == NULL)
        return usage("no such row");
    for (int i = 2; i < count; i++) {
        if (strcmp(word[i], "--proof") == 0)
            proof = true;
        else if (strcmp(word[i], "--seconds") == 0 && i + 1 < count)
            seconds = strtod(word[++i], NULL);
        else
            return usage("unknown option");
    }
    return measure(seconds, proof);
}
