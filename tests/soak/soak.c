/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* soak.c: mixed load for as long as it is told, in rounds; each round has every kind of episode, in an order by chance.
 *
 * what      soak ROUNDS MS SEED: an episode takes MS milliseconds. A round ends with a line on stdout, "round N steps
 *           failed forks", so that an observer knows which round its samples belong to.
 *
 *               plain     the threads' load alone           trim      hak_trim every few milliseconds
 *               forks     children that go on with the load soft      a soft limit below what is in use
 *               births    threads that live for 10 ms       hard      a hard limit just above what is in use
 *               idle      no step                           settings  price, caches and background thread by chance
 *               burst     100 MiB taken and freed
 *
 * failure   Exit 1: a child or a thread failed; abort: a block was broken.
 * not here  RSS and mappings: soak.py, from outside.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hakmem/hakmem.h"
#include "load.h"

enum { WORKERS = 3, BATCH = 200, MIB = 1 << 20 };
enum episode { PLAIN, FORKS, BIRTHS, TRIM, SOFT, HARD, IDLE, SETTINGS, BURST, EPISODES };

static struct load g_loads[WORKERS + 1]; /* the last is the first thread's */
static atomic_bool g_idle, g_ended;
static atomic_ulong g_forks;
static uint64_t g_episode_ms;

static void end(const char *what) {
  fprintf(stderr, "soak: %s\n", what);
  exit(1);
}

static void rest_ms(uint64_t ms) {
  struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
  nanosleep(&t, NULL);
}

static uint64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A pause after each batch: the load is the same however many processors there are. */
static void *work(void *own) {
  struct load *load = own;
  while (!atomic_load(&g_ended)) {
    for (int n = 0; n < BATCH && !atomic_load(&g_idle); n++) load_step(load);
    rest_ms(2);
  }
  return NULL;
}

/* ---- episodes: each is one deed, done until the episode's time is over ---- */

static void *live_shortly(void *seed) {
  struct load *load = malloc(sizeof *load);
  if (load == NULL) return NULL;
  load_begin(load, (uint64_t)(uintptr_t)seed);
  for (int n = 0; n < BATCH; n++) load_step(load);
  load_end(load);
  free(load);
  return NULL;
}

static void bear(struct load *mine) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, live_shortly, (void *)(uintptr_t)load_chance(mine, 1u << 30)) != 0) return;
  pthread_join(thread, NULL);
}

/* The child goes on with a copy of the first thread's load, makes a thread of its own, and leaves without destructors. */
static _Noreturn void live_as_child(struct load *mine) {
  for (int n = 0; n < BATCH; n++) load_step(mine);
  bear(mine);
  load_check(mine);
  load_end(mine);
  _exit(0);
}

static void fork_one(struct load *mine) {
  int status = 0;
  pid_t child = fork();
  if (child < 0) end("no fork");
  if (child == 0) live_as_child(mine);
  if (waitpid(child, &status, 0) != child || status != 0) end("a child failed");
  atomic_fetch_add(&g_forks, 1);
  rest_ms(20);
}

static void limit(size_t soft, size_t hard) {
  if (hak_set_limit(soft, hard) != 0) end("a limit was refused");
}

static void choose_settings(struct load *mine) {
  static const char *const prices[] = {"lean", "balanced", "speed", "640000"};
  static const char *const caches[] = {"1M", "16M", "64M", "0"};
  hak_set("price", prices[load_chance(mine, 4)]);
  hak_set("process_cache_bytes", caches[load_chance(mine, 4)]);
  hak_set("background_thread", load_chance(mine, 2) ? "on" : "off");
  rest_ms(10);
}

static void burst(void) {
  enum { PIECES = 400 };
  static void *pieces[PIECES];
  for (int n = 0; n < PIECES; n++) {
    pieces[n] = malloc(MIB / 4);
    if (pieces[n] != NULL) memset(pieces[n], 1, MIB / 4);
  }
  for (int n = 0; n < PIECES; n++) free(pieces[n]);
  rest_ms(50);
}

static void deed(enum episode episode, struct load *mine) {
  switch (episode) {
    case FORKS: fork_one(mine); return;
    case BIRTHS: bear(mine); return;
    case TRIM: hak_trim(0); break;
    case SETTINGS: choose_settings(mine); return;
    case BURST: burst(); return;
    default: break;
  }
  rest_ms(5);
}

static void begin_episode(enum episode episode) {
  size_t used = hak_bytes_in_use();
  if (episode == SOFT) limit(used - used / 10, 0);
  if (episode == HARD) limit(0, used + used / 50);
  if (episode == IDLE) atomic_store(&g_idle, true);
}

static void end_episode(enum episode episode) {
  if (episode == SOFT || episode == HARD) limit(0, 0);
  if (episode == SETTINGS) {
    hak_set("price", "640000");
    hak_set("process_cache_bytes", "64M");
    hak_set("background_thread", "on");
  }
  atomic_store(&g_idle, false);
}

static void run_episode(enum episode episode, struct load *mine) {
  uint64_t last = now_ms() + g_episode_ms;
  begin_episode(episode);
  while (now_ms() < last) {
    for (int n = 0; n < BATCH && episode != IDLE; n++) load_step(mine);
    deed(episode, mine);
  }
  end_episode(episode);
}

static void run_round(unsigned round, struct load *mine) {
  enum episode order[EPISODES];
  for (int n = 0; n < EPISODES; n++) order[n] = (enum episode)n;
  for (int n = EPISODES - 1; n > 0; n--) {
    int other = (int)load_chance(mine, (uint64_t)n + 1);
    enum episode was = order[n];
    order[n] = order[other];
    order[other] = was;
  }
  for (int n = 0; n < EPISODES; n++) run_episode(order[n], mine);
  uint64_t steps = 0, failed = 0;
  for (int n = 0; n <= WORKERS; n++) steps += g_loads[n].steps, failed += g_loads[n].failed;
  printf("round %u %lu %lu %lu\n", round, (unsigned long)steps, (unsigned long)failed, atomic_load(&g_forks));
  fflush(stdout);
}

int main(int count, char **words) {
  if (count != 4) end("soak ROUNDS MS SEED");
  pthread_t threads[WORKERS];
  uint64_t seed = strtoull(words[3], NULL, 10);
  g_episode_ms = strtoull(words[2], NULL, 10);
  for (unsigned n = 0; n <= WORKERS; n++) load_begin(&g_loads[n], seed * 16 + n);
  for (int n = 0; n < WORKERS; n++) {
    if (pthread_create(&threads[n], NULL, work, &g_loads[n]) != 0) end("no thread");
  }
  for (unsigned n = 1; n <= strtoul(words[1], NULL, 10); n++) run_round(n, &g_loads[WORKERS]);
  atomic_store(&g_ended, true);
  for (int n = 0; n < WORKERS; n++) pthread_join(threads[n], NULL);
  for (int n = 0; n <= WORKERS; n++) load_end(&g_loads[n]);
  return 0;
}
