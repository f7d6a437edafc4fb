/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* turns.c: threads that share an allocator and run by turns, for lines.c.
 *
 * what      turns PATTERN THREADS TURN CALLS: each thread makes TURN steps of the pattern, then the next thread has the
 *           turn, round robin. After a warm-up of as many, CALLS calls of malloc and free are measured.
 *
 *               thread 0  |====|          |====|            a turn of TURN steps
 *               thread 1       |====|          |====|
 *
 *           Prints the calls that were measured.
 * owner     The thread that has the turn owns everything.
 * orders    A turn passes by a futex: no two threads run at once.
 * failure   A line on stderr and exit status 1.
 * not here  Counting: lines.c. Real time: bench/.
 */
#define _GNU_SOURCE
#include "requests.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_THREADS = 64, BURST = 256, SLOTS = 1000, RING = 256, BATCH = 128 };

struct ring {
  void *block[RING];
  unsigned in, out; /* so many blocks went in and out */
};

struct worker {
  _Alignas(64) _Atomic int has_turn;
  unsigned id, at, filled, ended;
  uint32_t seed;
  void *own[SLOTS];
  struct ring inbox;
};

static struct worker g_worker[MOST_THREADS];
static struct ring g_ring[MOST_THREADS][MOST_THREADS]; /* of producer and consumer */
static void **g_batch[4 * MOST_THREADS];                /* full batches, first in first out */
static unsigned g_batch_in, g_batch_out;
static unsigned g_threads, g_turn;
static uint64_t g_calls, g_done, g_idle;
static int g_phase; /* 0: warm-up, 1: measured, 2: over */

static void die(const char *why) {
  fprintf(stderr, "turns: %s\n", why);
  exit(1);
}

static unsigned below(struct worker *w, unsigned end) {
  w->seed = w->seed * 1664525 + 1013904223;
  return (w->seed >> 8) % end;
}

static void mark_call(void) { VALGRIND_DO_CLIENT_REQUEST_STMT(LINES_CALL, 0, 0, 0, 0, 0); }
static void mark_return(void) { VALGRIND_DO_CLIENT_REQUEST_STMT(LINES_RETURN, 0, 0, 0, 0, 0); }

static void *take(size_t n) {
  mark_call();
  char *p = malloc(n);
  mark_return();
  if (p == NULL) die("no memory");
  *p = 1;
  g_done++;
  return p;
}

static void drop(void *p) {
  if (*(char *)p != 1) die("a block lost its first byte");
  mark_call();
  free(p);
  mark_return();
  g_done++;
}

static int put(struct ring *ring, void *p) {
  if (ring->in - ring->out == RING) return 0;
  ring->block[ring->in++ % RING] = p;
  return 1;
}

static int is_full(const struct ring *ring) { return ring->in - ring->out == RING; }

static void *get(struct ring *ring) { return ring->in == ring->out ? NULL : ring->block[ring->out++ % RING]; }

/* ---- patterns: a step of a worker ---- */

/* 256 blocks of 64 B are allocated, then freed. */
static void burst(struct worker *w) {
  if (w->filled == 0) {
    w->own[w->at++] = take(64);
    w->filled = w->at == BURST;
  } else {
    drop(w->own[--w->at]);
    w->filled = w->at != 0;
  }
}

/* As burst, but the thread behind frees. */
static void exchange(struct worker *w) {
  struct worker *next = &g_worker[(w->id + 1) % g_threads];
  void *p = get(&w->inbox);
  if (p != NULL) drop(p);
  else if (!is_full(&next->inbox)) put(&next->inbox, take(64));
  else g_idle++;
}

/* A random one of 1,000 blocks of 16 to 143 B is replaced; after 1,000 steps the thread behind has the blocks. */
static void larson(struct worker *w) {
  struct worker *of = &g_worker[(w->id + w->ended) % g_threads];
  unsigned slot = below(w, SLOTS);
  if (of->own[slot] != NULL) drop(of->own[slot]);
  of->own[slot] = take(16 + below(w, 128));
  if (++w->at % SLOTS == 0) w->ended++;
}

/* Every second thread allocates 16 to 271 B, the thread behind frees. */
static void pass(struct worker *w) {
  struct ring *ring = &g_worker[w->id | 1].inbox;
  void *p = NULL;
  if (w->id % 2 == 0 && !is_full(ring)) put(ring, take(16 + below(w, 256)));
  else if (w->id % 2 == 1 && (p = get(ring)) != NULL) drop(p);
  else g_idle++;
}

/* Half of the threads allocate 16 to 1,023 B and deal the blocks, 16 at a time, over the other half. */
static void rings(struct worker *w) {
  unsigned half = g_threads / 2, turn = w->at++ / 16 % half;
  struct ring *ring = w->id < half ? &g_ring[w->id][turn] : &g_ring[turn][w->id - half];
  void *p = NULL;
  if (w->id < half && !is_full(ring)) put(ring, take(16 + below(w, 1008)));
  else if (w->id >= half && (p = get(ring)) != NULL) drop(p);
  else g_idle++;
}

/* A block of 16 B is allocated, written and freed, after the first 8 blocks came from the thread before. */
static void sharing(struct worker *w) {
  if (w->ended++ == 0) {
    for (unsigned i = 0; i < 8; i++) put(&g_worker[(w->id + 1) % g_threads].inbox, take(16));
  }
  void *p = get(&w->inbox);
  if (p == NULL) p = take(16);
  memset(p, 1, 16);
  drop(p);
}

/* Batches of 128 blocks of 16 to 527 B: made by one thread, freed by the thread that finds them first. */
static void xmalloc(struct worker *w) {
  if (w->filled == 0 && w->at == 0 && g_batch_in - g_batch_out >= g_threads) {
    void **batch = g_batch[g_batch_out++ % (4 * MOST_THREADS)];
    memcpy(w->own, batch, BATCH * sizeof *batch);
    drop(batch - 1);
    w->filled = BATCH;
  }
  if (w->filled != 0) {
    drop(w->own[--w->filled]);
    return;
  }
  w->own[w->at++] = take(16 + below(w, 512));
  if (w->at < BATCH) return;
  void **batch = (void **)take((BATCH + 1) * sizeof *batch) + 1;
  memcpy(batch, w->own, BATCH * sizeof *batch);
  g_batch[g_batch_in++ % (4 * MOST_THREADS)] = batch;
  w->at = 0;
}

/* A random one of 1,000 blocks is replaced: of 16 B to 128 KiB, as often in each doubling. The array of the next thread is
 * used by this one only: each thread frees what it allocated. */
static void mixed(struct worker *w) {
  struct worker *of = &g_worker[(w->id + 1) % g_threads];
  unsigned slot = below(w, SLOTS), bytes = 16u << below(w, 13);
  if (of->own[slot] != NULL) drop(of->own[slot]);
  of->own[slot] = take(bytes + below(w, bytes));
}

/* A shard of a server: answers a request of another shard, replaces a value of 64 to 1,087 B, and asks a shard. */
static void server(struct worker *w) {
  void *request = get(&w->inbox);
  unsigned slot = below(w, SLOTS);
  if (request != NULL) drop(request);
  if (w->own[slot] != NULL) drop(w->own[slot]);
  w->own[slot] = take(64 + below(w, 1024));
  struct ring *other = &g_worker[below(w, g_threads)].inbox;
  if (!is_full(other)) put(other, take(128));
}

static const struct pattern {
  const char *name;
  void (*step)(struct worker *);
} g_patterns[] = {{"burst", burst}, {"exchange", exchange}, {"larson", larson}, {"pass", pass},
                  {"mixed", mixed}, {"rings", rings}, {"sharing", sharing}, {"xmalloc", xmalloc}, {"server", server}};
static const struct pattern *g_pattern;

/* ---- turns ---- */

static void wait_for_turn(struct worker *w) {
  while (!atomic_load(&w->has_turn)) syscall(SYS_futex, &w->has_turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  atomic_store(&w->has_turn, 0);
}

static void give_turn(struct worker *w) {
  atomic_store(&w->has_turn, 1);
  syscall(SYS_futex, &w->has_turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Between turns of all threads. */
static void change_phase(void) {
  if (g_done < g_calls) return;
  if (g_phase++ == 0) {
    g_done = 0;
    VALGRIND_DO_CLIENT_REQUEST_STMT(LINES_BEGIN, 0, 0, 0, 0, 0);
  } else {
    VALGRIND_DO_CLIENT_REQUEST_STMT(LINES_END, 0, 0, 0, 0, 0);
    printf("calls=%llu\n", (unsigned long long)g_done);
    fflush(stdout);
  }
}

static void *work(void *argument) {
  struct worker *w = argument;
  for (;;) {
    wait_for_turn(w);
    if (w->id == 0) change_phase();
    if (g_phase == 2) break;
    if (g_idle > 1000 * g_calls) die("no step makes a call");
    for (unsigned i = 0; i < g_turn; i++) g_pattern->step(w);
    give_turn(&g_worker[(w->id + 1) % g_threads]);
  }
  give_turn(&g_worker[(w->id + 1) % g_threads]);
  return NULL;
}

int main(int count, char **words) {
  if (count != 5) die("usage: turns PATTERN THREADS TURN CALLS");
  for (size_t i = 0; i < sizeof g_patterns / sizeof *g_patterns; i++) {
    if (strcmp(words[1], g_patterns[i].name) == 0) g_pattern = &g_patterns[i];
  }
  g_threads = (unsigned)atoi(words[2]);
  g_turn = (unsigned)atoi(words[3]);
  g_calls = (uint64_t)atoll(words[4]);
  int odd = g_threads < 2 || g_threads > MOST_THREADS || g_threads % 2 != 0;
  if (g_pattern == NULL || odd || g_turn == 0) die("bad words");
  mark_call();
  mark_return();
  pthread_t threads[MOST_THREADS];
  for (unsigned t = 0; t < g_threads; t++) {
    g_worker[t].id = t;
    g_worker[t].seed = t * 977 + 1;
    if (pthread_create(&threads[t], NULL, work, &g_worker[t]) != 0) die("no thread");
  }
  give_turn(&g_worker[0]);
  for (unsigned t = 0; t < g_threads; t++) pthread_join(threads[t], NULL);
  return 0;
}
