/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* daynight.c: a server's days: busy for some seconds, then idle with a fifth of the memory of noon.
 *
 * what      Each of `threads` threads holds a table of sessions, 8 to 40 blocks of mixed sizes each. A request
 *           allocates 4 to 12 blocks, freed at the end of the request, sometimes a buffer of 64-512 KiB, seldom a
 *           buffer of 2 MiB, and replaces one block of a session. The number of open sessions follows the clock, for
 *           slow and fast allocators alike:
 *
 *               live, MiB    mib           /\              /\            sessions are opened until noon, then closed
 *                                        /    \          /    \          in random order
 *                            mib / 5   /        \______/        \______
 *                                      busy       idle  busy       idle       `repeats` days
 *
 *           mib_seconds (busy_mib_seconds + idle_mib_seconds)   the resident set, added up over time by a child
 *           live_mib_seconds         the bytes asked for, added up over time
 *           operations_per_second    requests of all threads together in a busy second
 *           rss_night_kib            resident at the end of the last night
 *           With threads=1 the main thread does all; no other thread is ever started.
 * owner     Each thread has a table. A block's first word is its size.
 * locks     None: every thread looks at the clock.
 * orders    The main thread joins all threads before reading the sums.
 * hot path  request, of some microseconds; the clock is read after 16 requests.
 * failure   die when a block has lost its first word.
 * not here  Loads that do not rest: soak.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "harness/sampler.h"
#include "mixed_sizes.h"
#include <pthread.h>

enum {
    MOST_THREADS = 64,
    SESSION_LEAST = 8,
    SESSION_MOST = 40,
    SHORT_LEAST = 4,
    SHORT_MOST = 12,
    BUFFER_EVERY = 64, /* requests */
    HUGE_EVERY = 1024,
    BUFFER_LEAST = 64 << 10,
    BUFFER_MOST = 512 << 10,
    HUGE_BYTES = 2 << 20,
    DUSK_PERCENT = 20,
    SLACK = 64, /* open bytes may differ from the target by one part in SLACK */
    REQUESTS_PER_LOOK = 16,
    BYTES_PER_SESSION = 4096, /* fewer than nearly all sessions have: room in the tables */
    FOREWARNING_NS = 20000000,
};

struct session {
    uint64_t bytes; /* of this block, stored as the first word of every block */
    uint32_t count;
    void *block[];
};

struct server {
    _Alignas(64) pthread_t thread;
    struct random random;
    struct session **session;
    uint32_t count, capacity;
    uint64_t live, requests;
};

static uint64_t g_busy = 5, g_idle = 5, g_repeats = 3, g_threads = 4, g_mib = 300;
static struct server g_server[MOST_THREADS];
static struct days g_days;
static struct sampler *g_sampler;

/* ---- blocks ---- */

static void *written_block(size_t bytes)
{
    char *block = must(malloc(bytes));
    for (size_t at = PAGE; at < bytes; at += PAGE)
        block[at] = 1;
    touch(block, bytes);
    return block;
}

static uint64_t freed_block(void *block)
{
    uint64_t bytes = *(const volatile uint64_t *)block;
    if (bytes < SMALLEST_MIXED || bytes > LARGEST_MIXED)
        die("bench: a block has lost its first word");
    free(block);
    return bytes;
}

static void *kept_block(struct server *s)
{
    uint32_t bytes = mixed_size(&s->random);
    s->live += bytes;
    return written_block(bytes);
}

/* ---- sessions ---- */

static void open_session(struct server *s)
{
    uint32_t count = random_between(&s->random, SESSION_LEAST, SESSION_MOST);
    size_t bytes = sizeof(struct session) + count * sizeof(void *);
    struct session *session = written_block(bytes);
    if (s->count == s->capacity)
        die("bench: daynight has more sessions than it has room for");
    s->live += bytes;
    session->count = count;
    for (uint32_t i = 0; i < count; i++)
        session->block[i] = kept_block(s);
    s->session[s->count++] = session;
}

static void close_session(struct server *s, uint32_t index)
{
    struct session *session = s->session[index];
    s->session[index] = s->session[--s->count];
    for (uint32_t i = 0; i < session->count; i++)
        s->live -= freed_block(session->block[i]);
    s->live -= freed_block(session);
}

static void close_all(struct server *s)
{
    while (s->count > 0)
        close_session(s, s->count - 1);
}

/* At least one session stays open: a request needs a session. */
static void follow(struct server *s, double target)
{
    while ((double)s->live < target)
        open_session(s);
    while (s->count > 1 && (double)s->live > target + target / SLACK)
        close_session(s, random_below(&s->random, s->count));
}

/* ---- requests ---- */

static void *buffer_of_request(struct server *s)
{
    if (s->requests % HUGE_EVERY == 0)
        return written_block(HUGE_BYTES);
    if (s->requests % BUFFER_EVERY == 0)
        return written_block(random_between(&s->random, BUFFER_LEAST, BUFFER_MOST));
    return NULL;
}

static void replace_one(struct server *s)
{
    struct session *session = s->session[random_below(&s->random, s->count)];
    void **block = &session->block[random_below(&s->random, session->count)];
    s->live -= freed_block(*block);
    *block = kept_block(s);
}

static void request(struct server *s)
{
    void *block[SHORT_MOST], *buffer = buffer_of_request(s);
    uint32_t count = random_between(&s->random, SHORT_LEAST, SHORT_MOST);
    for (uint32_t i = 0; i < count; i++)
        block[i] = written_block(mixed_size(&s->random));
    replace_one(s);
    for (uint32_t i = 0; i < count; i++)
        free(block[i]);
    free(buffer);
    s->requests++;
}

/* ---- days ---- */

/* Returns the bytes that one thread has open at the time ns after daybreak. */
static double target_at(uint64_t ns)
{
    double noon = (double)(g_mib << 20) / (double)g_threads, half = (double)g_days.busy / 2, into = (double)ns;
    double risen = into < half ? into / half : 2 - into / half;
    return noon * (DUSK_PERCENT + (100 - DUSK_PERCENT) * risen) / 100;
}

static void work_until_dusk(struct server *s, uint64_t daybreak)
{
    uint64_t dusk = daybreak + g_days.busy;
    for (uint64_t now = now_ns(); now < dusk; now = now_ns()) {
        follow(s, target_at(now - daybreak));
        for (unsigned i = 0; i < REQUESTS_PER_LOOK; i++)
            request(s);
    }
    follow(s, target_at(g_days.busy));
}

static void *serve(void *argument)
{
    uint64_t daybreak = g_days.start;
    for (uint64_t day = 0; day < g_days.count; day++, daybreak += g_days.busy + g_days.idle) {
        sleep_until(daybreak);
        work_until_dusk(argument, daybreak);
    }
    sleep_until(daybreak);
    return NULL;
}

static void serve_in_threads(void)
{
    for (uint64_t i = 0; i < g_threads; i++)
        if (pthread_create(&g_server[i].thread, NULL, serve, &g_server[i]) != 0)
            die("bench: cannot start a thread");
    for (uint64_t i = 0; i < g_threads; i++)
        pthread_join(g_server[i].thread, NULL);
}

/* ---- the rows ---- */

static void daynight_setup(void)
{
    uint32_t capacity = (uint32_t)((g_mib << 20) / g_threads / BYTES_PER_SESSION) + SLACK;
    for (uint64_t i = 0; i < g_threads; i++)
        g_server[i] = (struct server){.random = {42 + i}, .session = pages(capacity * sizeof(struct session *)),
                                      .capacity = capacity};
    g_days = (struct days){.start = now_ns() + FOREWARNING_NS, .busy = g_busy * 1000000000, .count = g_repeats,
                           .idle = g_idle * 1000000000};
    g_sampler = sampler_start(&g_days);
}

static uint64_t daynight_repeat(void)
{
    if (g_threads == 1)
        serve(&g_server[0]);
    else
        serve_in_threads();
    g_operations = 0;
    for (uint64_t i = 0; i < g_threads; i++)
        g_operations += g_server[i].requests;
    return g_days.count * g_days.busy;
}

static double live_mib_seconds(void)
{
    double busy = (double)(g_busy * (100 + DUSK_PERCENT)) / 200, idle = (double)(g_idle * DUSK_PERCENT) / 100;
    return (double)(g_mib * g_repeats) * (busy + idle);
}

static void daynight_finish(void)
{
    sampler_end(g_sampler);
    report("mib_seconds", g_sampler->busy_mib_seconds + g_sampler->idle_mib_seconds);
    report("busy_mib_seconds", g_sampler->busy_mib_seconds);
    report("idle_mib_seconds", g_sampler->idle_mib_seconds);
    report("live_mib_seconds", live_mib_seconds());
    report("operations_per_second", (double)g_operations / (double)(g_busy * g_repeats));
    report("rss_night_kib", (double)g_sampler->last_kib);
    for (uint64_t i = 0; i < g_threads; i++)
        close_all(&g_server[i]);
}

static void single_preset(void)
{
    g_threads = 1;
}

#define OPERATION "a request: 4-12 blocks of mixed sizes, now and then a buffer of 64 KiB to 2 MiB; by day only"
static const struct row g_rows[] = {
    {.name = "daynight", .operation = OPERATION, .threads = 4, .once = true, .setup = daynight_setup,
     .repeat = daynight_repeat, .finish = daynight_finish},
    {.name = "daynight_single", .operation = OPERATION, .threads = 1, .once = true, .preset = single_preset,
     .setup = daynight_setup, .repeat = daynight_repeat, .finish = daynight_finish},
};

static const struct parameter g_parameters[] = {
    {"busy", &g_busy, 1, 3600}, {"idle", &g_idle, 0, 3600},           {"repeats", &g_repeats, 1, 1000},
    {"threads", &g_threads, 1, MOST_THREADS}, {"mib", &g_mib, 1, 1 << 15},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
