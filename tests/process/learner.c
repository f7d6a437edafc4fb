/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learner.c PERIODS [MODE AT | fork | sandbox]: blocks of 4 MiB allocated, touched and freed in periods, with rests of
 * 100 ms between. In period AT the program sets the mode; with `fork` a child continues from the middle, and the parent
 * waits; with `sandbox` no file may be opened from the middle on. Prints the resident memory of the blocks after the
 * last free [MiB], and the number of learnt waits. If the process was suspended meanwhile, some memory may have been
 * released by age: then one more period follows. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "observe.h"

enum { BLOCKS = 10, REST_MS = 100, SOON_MS = 20, TRIES = 100 }; /* SOON: half of the keep time in learn_case.py */

/* Writes and frees the blocks; returns the time of the first free [ms]. */
static uint64_t use_blocks(void) {
  static char *volatile block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(4 * MIB), 1, 4 * MIB);
  const uint64_t now = now_ms();
  for (int i = 0; i < BLOCKS; i++) free(block[i]);
  return now;
}

static size_t left_soon(size_t before, uint64_t freed_ms) {
  size_t now = anonymous_bytes();
  for (int n = 0; n < TRIES && now_ms() - freed_ms > SOON_MS; n++) {
    rest_ms(REST_MS);
    freed_ms = use_blocks();
    now = anonymous_bytes();
  }
  return (now - before) / MIB;
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

/* Opening a file ends the process by SIGSYS. */
static void enter_sandbox(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog filter = {sizeof code / sizeof *code, code};
  work_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS");
  work_expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0, "PR_SET_SECCOMP");
}

int main(int count, char **arguments) {
  const int periods = atoi(arguments[1]), at = count > 3 ? atoi(arguments[3]) : -1;
  const size_t before = anonymous_bytes();
  uint64_t freed_ms = now_ms();
  for (int period = 0; period < periods; period++) {
    if (period == at) set_mode(arguments[2]);
    if (count == 3 && period == periods / 2 && strcmp(arguments[2], "fork") == 0) fork_and_wait();
    if (period != 0) rest_ms(REST_MS);
    freed_ms = use_blocks();
  }
  const size_t left = left_soon(before, freed_ms);
  if (count == 3 && strcmp(arguments[2], "sandbox") == 0) enter_sandbox();
  printf("%zu %llu %llu\n", left, (unsigned long long)counter_now("learn_waits"),
         (unsigned long long)counter_now("learn_decisions"));
  return 0;
}
