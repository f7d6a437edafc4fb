/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* day.c: hours of mixed load in simulated time: the library's clock is this program's, and its background thread sleeps
 * by it.
 *
 * what      day HOURS SEED: each hour has TICKS ticks of 500 ms on average. In a tick three threads do some steps by turns;
 *           then the clock is advanced, and the background thread has every pass that falls due on the way:
 *
 *               advance(ms):  sleeper due before the target? -- yes -> clock to its time, wake it, wait until it sleeps
 *                                                           \-- no --> clock to the target
 *
 *           An hour's ninths are the episodes of soak.c in an order by chance. A line at its end: "hour N steps failed
 *           forks", the mean RSS [bytes] of the hour, the number of mappings.
 * owner     The linker's --wrap sends hak_os_wait here; g_clock of the library names simulated_clock.
 * failure   Exit 1: a child failed; abort: a block was broken.
 * not here  The verdict: soak.py.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hakmem/hakmem.h"
#include "load.h"
#include "os/allowed.h"
#include "os/clock.h"

enum { WORKERS = 2, STEPS = 20, TICKS = 7200, TICK_MS = 500, SAMPLED = 20, SOON_MS = 2 };
enum { PLAIN, FORKS, BIRTHS, TRIM, SOFT, HARD, IDLE, SETTINGS, BURST, EPISODES };

static const uint64_t kMs = 1000000;

static struct load g_loads[WORKERS + 1];
static sem_t g_turn[WORKERS], g_done;
static atomic_bool g_ended;
static unsigned long g_forks;

static void end(const char *what) {
  fprintf(stderr, "day: %s\n", what);
  exit(1);
}

/* ---- the clock, and the sleep of the background thread ---- */

static _Atomic uint64_t g_now_ns;
static struct {
  const uint32_t *_Atomic word; /* NULL: awake */
  _Atomic uint64_t due_ms;
  atomic_bool alive;  /* it slept here once, and was not missed since */
  atomic_ulong slept; /* sleeps so far */
} g_sleeper;

static uint64_t now_ms(void) { return atomic_load(&g_now_ns) / kMs; }

/* A look takes 100 ns, so that what is timed has a length. */
static int simulated_clock(clockid_t which, struct timespec *out) {
  uint64_t look = which == CLOCK_MONOTONIC ? 100 : 0, ns = atomic_fetch_add(&g_now_ns, look) + look;
  *out = (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
  return 0;
}

static void futex(const uint32_t *word, int operation, uint32_t value, const struct timespec *limit) {
  syscall(SYS_futex, word, operation, value, limit, NULL, 0);
}

void __real_hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms);
void __wrap_hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms);

/* Short waits are for other threads, not for time. */
void __wrap_hak_os_wait(const uint32_t *word, uint32_t seen, uint64_t ms) {
  if (ms <= SOON_MS) {
    __real_hak_os_wait(word, seen, ms);
    return;
  }
  const struct timespec look = {.tv_nsec = 5000000};
  uint64_t due = ms > UINT64_MAX / 2 ? UINT64_MAX : now_ms() + ms;
  atomic_store(&g_sleeper.due_ms, due);
  atomic_store(&g_sleeper.alive, true);
  atomic_fetch_add(&g_sleeper.slept, 1);
  atomic_store(&g_sleeper.word, word);
  while (now_ms() < due && __atomic_load_n(word, __ATOMIC_ACQUIRE) == seen) futex(word, FUTEX_WAIT_PRIVATE, seen, &look);
  atomic_store(&g_sleeper.word, NULL);
}

/* For 50 ms of real time at most: the thread may have ended. */
static void await_sleeper(unsigned long slept) {
  const struct timespec moment = {.tv_nsec = 20000};
  for (int n = 0; n < 500 && (atomic_load(&g_sleeper.slept) == slept || atomic_load(&g_sleeper.word) == NULL); n++) {
    if (n < 20) sched_yield();
    else nanosleep(&moment, NULL);
  }
  if (atomic_load(&g_sleeper.word) == NULL) atomic_store(&g_sleeper.alive, false);
}

static void advance(uint64_t ms) {
  uint64_t target = now_ms() + ms;
  while (atomic_load(&g_sleeper.alive)) {
    const uint32_t *word = atomic_load(&g_sleeper.word);
    unsigned long slept = atomic_load(&g_sleeper.slept);
    if (word == NULL) {
      await_sleeper(slept - 1);
      continue;
    }
    uint64_t due = atomic_load(&g_sleeper.due_ms);
    if (due > target) break;
    if (due > now_ms()) atomic_store(&g_now_ns, due * kMs);
    futex(word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
    await_sleeper(slept);
  }
  if (target > now_ms()) atomic_store(&g_now_ns, target * kMs);
}

static void begin_simulation(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  atomic_store(&g_now_ns, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
  __atomic_store_n(&g_clock.function, simulated_clock, __ATOMIC_RELEASE);
  g_allowed = true; /* a background thread, as in libhakmem.so; the archives have none */
}

/* ---- threads ---- */

static void *work(void *number) {
  size_t n = (size_t)(uintptr_t)number;
  for (sem_wait(&g_turn[n]); !atomic_load(&g_ended); sem_wait(&g_turn[n])) {
    for (int step = 0; step < STEPS; step++) load_step(&g_loads[n]);
    sem_post(&g_done);
  }
  return NULL;
}

static void take_turns(void) {
  for (int n = 0; n < WORKERS; n++) {
    sem_post(&g_turn[n]);
    sem_wait(&g_done);
  }
  for (int step = 0; step < STEPS; step++) load_step(&g_loads[WORKERS]);
}

static void *live_shortly(void *seed) {
  struct load *load = malloc(sizeof *load);
  if (load == NULL) return NULL;
  load_begin(load, (uint64_t)(uintptr_t)seed);
  for (int n = 0; n < 100; n++) load_step(load);
  load_end(load);
  free(load);
  return NULL;
}

static void bear(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, live_shortly, (void *)(uintptr_t)load_chance(&g_loads[WORKERS], 1u << 30)) != 0) return;
  pthread_join(thread, NULL);
}

static void fork_one(void) {
  int status = 0;
  pid_t child = fork();
  if (child < 0) end("no fork");
  if (child == 0) {
    for (int n = 0; n < 100; n++) load_step(&g_loads[WORKERS]);
    load_check(&g_loads[WORKERS]);
    _exit(0);
  }
  if (waitpid(child, &status, 0) != child || status != 0) end("a child failed");
  g_forks++;
}

/* ---- episodes ---- */

static void choose_settings(void) {
  static const char *const prices[] = {"lean", "balanced", "speed", "640000"};
  static const char *const caches[] = {"1M", "16M", "64M", "0"};
  hak_set("price", prices[load_chance(&g_loads[WORKERS], 4)]);
  hak_set("process_cache_bytes", caches[load_chance(&g_loads[WORKERS], 4)]);
  hak_set("background_thread", load_chance(&g_loads[WORKERS], 2) ? "on" : "off");
}

static void burst(void) {
  enum { PIECES = 400, BYTES = 1 << 18 };
  static void *pieces[PIECES];
  for (int n = 0; n < PIECES; n++) {
    pieces[n] = malloc(BYTES);
    if (pieces[n] != NULL) memset(pieces[n], 1, BYTES);
  }
  advance(300);
  for (int n = 0; n < PIECES; n++) free(pieces[n]);
}

static void deed(int episode) {
  if (episode == TRIM) hak_trim(0);
  if (load_chance(&g_loads[WORKERS], 100) != 0) return;
  if (episode == FORKS) fork_one();
  if (episode == BIRTHS) bear();
  if (episode == SETTINGS) choose_settings();
  if (episode == BURST) burst();
}

static void begin_episode(int episode) {
  size_t used = hak_bytes_in_use();
  if (episode == SOFT) hak_set_limit(used - used / 10, 0);
  if (episode == HARD) hak_set_limit(0, used + used / 50);
}

static void end_episode(int episode) {
  if (episode == SOFT || episode == HARD) hak_set_limit(0, 0);
  if (episode != SETTINGS) return;
  hak_set("price", "640000");
  hak_set("process_cache_bytes", "64M");
  hak_set("background_thread", "on");
}

/* ---- what is seen; by kernel calls alone, as stdio would allocate ---- */

static size_t read_file(const char *path, char *to, size_t room) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  size_t bytes = 0;
  for (ssize_t n; file >= 0 && (n = read(file, to + bytes, room - bytes)) > 0;) bytes += (size_t)n;
  if (file >= 0) close(file);
  return bytes;
}

static double rss_bytes(void) {
  char text[256] = "";
  read_file("/proc/self/statm", text, sizeof text - 1);
  const char *second = strchr(text, ' ');
  return second == NULL ? 0 : strtod(second, NULL) * (double)sysconf(_SC_PAGESIZE);
}

static unsigned maps_seen(void) {
  static char text[4 << 20];
  unsigned lines = 0;
  for (size_t bytes = read_file("/proc/self/maps", text, sizeof text), n = 0; n < bytes; n++) lines += text[n] == '\n';
  return lines;
}

static void shuffle(int *order) {
  for (int n = 0; n < EPISODES; n++) order[n] = n;
  for (int n = EPISODES - 1; n > 0; n--) {
    int other = (int)load_chance(&g_loads[WORKERS], (uint64_t)n + 1), was = order[n];
    order[n] = order[other];
    order[other] = was;
  }
}

static void run_hour(unsigned hour) {
  int order[EPISODES];
  double sum = 0;
  unsigned samples = 0;
  shuffle(order);
  for (int n = 0; n < EPISODES; n++) {
    begin_episode(order[n]);
    for (int tick = 0; tick < TICKS / EPISODES; tick++) {
      if (order[n] != IDLE) take_turns();
      deed(order[n]);
      advance(TICK_MS / 2 + load_chance(&g_loads[WORKERS], TICK_MS));
      if (tick % SAMPLED == 0) sum += rss_bytes(), samples++;
    }
    end_episode(order[n]);
  }
  uint64_t steps = 0, failed = 0;
  for (int n = 0; n <= WORKERS; n++) steps += g_loads[n].steps, failed += g_loads[n].failed;
  printf("hour %u %lu %lu %lu %.0f %u\n", hour, (unsigned long)steps, (unsigned long)failed, g_forks, sum / samples, maps_seen());
  fflush(stdout);
}

int main(int count, char **words) {
  if (count != 3) end("day HOURS SEED");
  pthread_t threads[WORKERS];
  begin_simulation();
  for (unsigned n = 0; n <= WORKERS; n++) load_begin(&g_loads[n], strtoull(words[2], NULL, 10) * 16 + n);
  sem_init(&g_done, 0, 0);
  for (int n = 0; n < WORKERS; n++) {
    sem_init(&g_turn[n], 0, 0);
    if (pthread_create(&threads[n], NULL, work, (void *)(uintptr_t)n) != 0) end("no thread");
  }
  for (unsigned hour = 1; hour <= strtoul(words[1], NULL, 10); hour++) run_hour(hour);
  if (atomic_load(&g_sleeper.slept) < 1000) end("the background thread hardly slept: its sleep is not simulated");
  atomic_store(&g_ended, true);
  for (int n = 0; n < WORKERS; n++) sem_post(&g_turn[n]);
  for (int n = 0; n < WORKERS; n++) pthread_join(threads[n], NULL);
  for (int n = 0; n <= WORKERS; n++) load_end(&g_loads[n]);
  return 0;
}
