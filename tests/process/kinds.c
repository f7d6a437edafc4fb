/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kinds.c BYTES PERIODS [MODE AT | fork | late]: allocates, touches and frees 64 MiB of blocks of BYTES in periods,
 * with rests of 100 ms between, while a second thread waits. In period AT the program sets the mode; with `late` the
 * second thread starts in the middle; with `fork` a child continues from the middle, and the parent waits. Then the
 * program idles until the freed memory is released, 60 s at most. Prints the resident memory of the blocks at the end
 * of the last rest and in the end [MiB], and the numbers of waits noted for runs and slabs and of decisions. */
#include <pthread.h>
#include <sys/wait.h>

#include "observe.h"

enum { REST_MS = 100, LITTLE_MIB = 12, TICK_MS = 50, TICKS = 60000 / TICK_MS };

#define LOAD_BYTES (64 * MIB)

static pthread_barrier_t g_end;

static void *wait_for_end(void *nothing) {
  free(malloc(1000));
  pthread_barrier_wait(&g_end);
  return nothing;
}

static void use_blocks(size_t bytes) {
  static void **block;
  const size_t count = LOAD_BYTES / bytes;
  if (block == NULL) block = malloc(count * sizeof *block);
  for (size_t i = 0; i < count; i++) block[i] = memset(malloc(bytes), 1, bytes);
  for (size_t i = 0; i < count; i++) free(block[i]);
}

static void fork_and_wait(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) return;
  work_expect(waitpid(child, &status, 0) == child, "waitpid");
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static size_t mib_beyond(size_t before) {
  const size_t now = anonymous_bytes();
  return now > before ? (now - before) / MIB : 0;
}

int main(int count, char **arguments) {
  const size_t bytes = (size_t)atol(arguments[1]), before = anonymous_bytes();
  const int periods = atoi(arguments[2]), at = count > 4 ? atoi(arguments[4]) : -1;
  const int late = count == 4, forks = late && strcmp(arguments[3], "fork") == 0;
  pthread_t waiter;
  pthread_barrier_init(&g_end, NULL, 2);
  if (!late) work_expect(pthread_create(&waiter, NULL, wait_for_end, NULL) == 0, "a thread");
  for (int period = 0; period < periods; period++) {
    if (period == at) work_expect(hak_set("mode", arguments[3]) == 0, "hak_set");
    if (late && period == periods / 2) {
      if (forks) fork_and_wait();
      work_expect(pthread_create(&waiter, NULL, wait_for_end, NULL) == 0, "a thread");
    }
    use_blocks(bytes);
    rest_ms(REST_MS);
  }
  const size_t rest = mib_beyond(before);
  for (int tick = 0; tick < TICKS && mib_beyond(before) > LITTLE_MIB; tick++) rest_ms(TICK_MS);
  printf("%zu %zu %llu %llu\n", rest, mib_beyond(before), (unsigned long long)counter_now("kinds_waits"),
         (unsigned long long)counter_now("kinds_decisions"));
  pthread_barrier_wait(&g_end);
  pthread_join(waiter, NULL);
  return 0;
}
