/* learner.c PERIODS [MODE AT | fork]: blocks of 4 MiB taken, touched and freed in periods, with rests of 100 ms between
 * them. In the period AT it sets the mode; with `fork`, its child goes on in the middle, and it waits. Prints what of
 * them is resident after the last free, in MiB, and how much was learnt. */
#include <sys/wait.h>

#include "observe.h"

enum { BLOCKS = 10, REST_MS = 100 };

static void use_blocks(void) {
  static char *volatile block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(4 * MIB), 1, 4 * MIB);
  for (int i = 0; i < BLOCKS; i++) free(block[i]);
}

static void set_mode(const char *mode) {
  char now[16];
  work_expect(hak_set("mode", mode) == 0, "hak_set");
  work_expect(hak_get("mode", now, sizeof now) == 0 && strcmp(now, mode) == 0, "hak_get");
}

static void fork_and_wait(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) return;
  work_expect(waitpid(child, &status, 0) == child, "waitpid");
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int count, char **arguments) {
  const int periods = atoi(arguments[1]), at = count > 3 ? atoi(arguments[3]) : -1;
  const size_t before = anonymous_bytes();
  for (int period = 0; period < periods; period++) {
    if (period == at) set_mode(arguments[2]);
    if (count == 3 && period == periods / 2) fork_and_wait();
    if (period != 0) rest_ms(REST_MS);
    use_blocks();
  }
  printf("%zu %llu %llu\n", (anonymous_bytes() - before) / MIB, (unsigned long long)counter_now("learn_waits"),
         (unsigned long long)counter_now("learn_decisions"));
  return 0;
}
