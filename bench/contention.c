/* contention.c: many threads that force one size class through its shared stores, as a simulation of many cores.
 *
 * what      Every thread allocates bursts of 64 B blocks far deeper than its own cache and frees them again:
 *               burst      a thread frees what it allocated itself
 *               exchange   a thread swaps its burst for one another thread left in a mailbox, and frees that one
 *           On two cores 16 threads never run at once. What shows is how a lock fares when its holder loses the
 *           core: time per operation, context switches, futex calls. It does not show how 16 cores scale.
 * owner     A burst belongs to the thread that took it out of the mailbox.
 * locks     None of its own inside the timed part; pthread barriers around each repetition.
 * orders    A mailbox is exchanged with acquire and release, so the new owner sees the blocks.
 * hot path  No clock and no system call of its own inside the timed part.
 * failure   One line on stderr and exit status 1; 2 for a wrong command line.
 * not here  Choosing allocators and thread counts, and the table: `hakmem contention`.
 */
#define _GNU_SOURCE
#include "futex_count.h"
#include "harness.h"
#include <pthread.h>
#include <sys/resource.h>

enum { MOST_THREADS = 64, BURST = 4096, BURST_BYTES = 64, BURSTS = 960 };

struct burst {
    uint32_t count;
    void *block[BURST];
};

struct contender {
    _Alignas(64) pthread_t thread;
    unsigned index;
    uint64_t start, stop;
    struct rusage before, after;
};

static struct contender g_contender[MOST_THREADS];
static _Alignas(64) struct burst *_Atomic g_mailbox[MOST_THREADS];
static pthread_barrier_t g_gate;
static unsigned g_threads;
static bool g_exchange, g_over;

static void burst_fill(struct burst *burst)
{
    for (unsigned i = 0; i < BURST; i++)
        touch(burst->block[i] = must(malloc(BURST_BYTES)), i);
    burst->count = BURST;
}

static void burst_empty(struct burst *burst)
{
    for (unsigned i = 0; i < burst->count; i++)
        free(burst->block[i]);
    burst->count = 0;
}

static struct burst *swap_burst(struct burst *burst, unsigned mailbox)
{
    return atomic_exchange_explicit(&g_mailbox[mailbox % g_threads], burst, memory_order_acq_rel);
}

static struct burst *contend(struct burst *burst, unsigned index)
{
    for (unsigned i = 0; i < BURSTS / g_threads; i++) {
        burst_fill(burst);
        if (g_exchange)
            burst = swap_burst(burst, index + i);
        burst_empty(burst);
    }
    return burst;
}

static void *contender_main(void *argument)
{
    struct contender *self = argument;
    struct burst *burst = pages(sizeof *burst);
    for (;;) {
        pthread_barrier_wait(&g_gate);
        if (g_over)
            return NULL;
        getrusage(RUSAGE_THREAD, &self->before);
        self->start = now_ns();
        g_counts_futex = true;
        burst = contend(burst, self->index);
        g_counts_futex = false;
        self->stop = now_ns();
        getrusage(RUSAGE_THREAD, &self->after);
        pthread_barrier_wait(&g_gate);
    }
}

static void open_threads(void)
{
    pthread_barrier_init(&g_gate, NULL, g_threads + 1);
    for (unsigned i = 0; i < g_threads; i++) {
        atomic_store(&g_mailbox[i], pages(sizeof(struct burst)));
        g_contender[i].index = i;
        if (pthread_create(&g_contender[i].thread, NULL, contender_main, &g_contender[i]) != 0)
            die("contention: cannot start a thread");
    }
}

static void close_threads(void)
{
    g_over = true;
    pthread_barrier_wait(&g_gate);
    for (unsigned i = 0; i < g_threads; i++)
        pthread_join(g_contender[i].thread, NULL);
}

struct totals {
    uint64_t best_ns, operations;
    long voluntary, involuntary;
};

/* One repetition: from the first thread's start to the last one's stop. */
static void repeat(struct totals *t)
{
    uint64_t start = UINT64_MAX, stop = 0;
    pthread_barrier_wait(&g_gate);
    pthread_barrier_wait(&g_gate);
    for (const struct contender *c = g_contender; c < g_contender + g_threads; c++) {
        start = c->start < start ? c->start : start;
        stop = c->stop > stop ? c->stop : stop;
        t->voluntary += c->after.ru_nvcsw - c->before.ru_nvcsw;
        t->involuntary += c->after.ru_nivcsw - c->before.ru_nivcsw;
    }
    t->operations += (uint64_t)BURSTS / g_threads * g_threads * BURST;
    t->best_ns = stop - start < t->best_ns ? stop - start : t->best_ns;
}

static void print_totals(const struct totals *t, unsigned repetitions, bool futex)
{
    double millions = (double)t->operations / 1e6, each = (double)t->operations / repetitions;
    printf("%s threads=%u ns=%.3f repetitions=%u", g_exchange ? "exchange" : "burst", g_threads,
           (double)t->best_ns / each, repetitions);
    printf(" voluntary=%.2f involuntary=%.2f", (double)t->voluntary / millions, (double)t->involuntary / millions);
    if (futex)
        printf(" futex=%.2f", (double)atomic_load(&g_futex_calls) / millions);
    putchar('\n');
}

/* The first repetition only warms up. */
static void measure(double seconds, bool futex)
{
    struct totals warm_up = {.best_ns = UINT64_MAX}, t = warm_up;
    unsigned repetitions = 0;
    open_threads();
    repeat(&warm_up);
    atomic_store(&g_futex_calls, 0);
    for (uint64_t end = now_ns() + (uint64_t)(seconds * 1e9); repetitions < 2 || now_ns() < end; repetitions++)
        repeat(&t);
    close_threads();
    print_totals(&t, repetitions, futex);
}

static int usage(void)
{
    fprintf(stderr, "usage: contention burst|exchange THREADS(1-%d) [--seconds S] [--futex] [--proof]\n"
                    "       prints nanoseconds per malloc and free (all threads together), and per million of them\n"
                    "       context switches and, with --futex (untimed), futex calls\n", MOST_THREADS);
    return 2;
}

struct wish {
    double seconds;
    bool proof, futex;
};

/* The words after the pattern and the number of threads; false when one is unknown. */
static bool read_options(int count, char **word, struct wish *wish)
{
    for (int i = 3; i < count; i++) {
        if (strcmp(word[i], "--proof") == 0)
            wish->proof = true;
        else if (strcmp(word[i], "--futex") == 0)
            wish->futex = true;
        else if (strcmp(word[i], "--seconds") == 0 && i + 1 < count)
            wish->seconds = strtod(word[++i], NULL);
        else
            return false;
    }
    return true;
}

static bool read_shape(int count, char **word)
{
    if (count < 3)
        return false;
    g_exchange = strcmp(word[1], "exchange") == 0;
    g_threads = (unsigned)strtoul(word[2], NULL, 10);
    return (g_exchange || strcmp(word[1], "burst") == 0) && g_threads >= 1 && g_threads <= MOST_THREADS;
}

int main(int count, char **word)
{
    struct wish wish = {.seconds = 0.3};
    if (!read_shape(count, word) || !read_options(count, word, &wish))
        return usage();
    if (wish.futex && !futex_count_start())
        die("contention: the kernel allows no seccomp filter here, futex calls cannot be counted");
    measure(wish.seconds, wish.futex);
    if (wish.proof)
        print_proof();
    return 0;
}
