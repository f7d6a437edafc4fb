/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy.c PERIODS [save PATH | load PATH | fork | threads PATH]...: learns in PERIODS periods, then executes the words
 * and prints the result of each save and load. The path "-" is the setting's. With `fork` a child continues, and the
 * parent waits; with `threads` four threads save and load at once, and their results are added up. */
#include <errno.h>
#include <hakmem/experimental.h>
#include <pthread.h>
#include <sys/wait.h>

#include "observe.h"

enum { BLOCKS = 10, REST_MS = 60, THREADS = 4, ROUNDS = 50 };

static void use_blocks(void) {
  static char *volatile block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(4 * MIB), 1, 4 * MIB);
  for (int i = 0; i < BLOCKS; i++) free(block[i]);
}

static int call(const char *what, const char *path) {
  const char *given = strcmp(path, "-") == 0 ? NULL : path;
  errno = 12345;
  const int answer = strcmp(what, "save") == 0 ? hak_policy_save(given) : hak_policy_load(given);
  work_expect(errno == 12345, "errno stays");
  return answer;
}

static void *save_and_load(void *path) {
  long sum = 0;
  for (int i = 0; i < ROUNDS; i++) sum += call("save", path) + call("load", path);
  return (void *)sum;
}

static int call_in_threads(char *path) {
  pthread_t thread[THREADS];
  long sum = 0;
  for (int i = 0; i < THREADS; i++)
    work_expect(pthread_create(&thread[i], NULL, save_and_load, path) == 0, "pthread_create");
  for (int i = 0; i < 100; i++) free(malloc(2 * MIB)); /* pairs that are learnt from */
  for (int i = 0; i < THREADS; i++) {
    void *one;
    pthread_join(thread[i], &one);
    sum += (long)one;
  }
  return (int)sum;
}

static void fork_and_wait(void) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) return;
  work_expect(waitpid(child, &status, 0) == child, "waitpid");
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int main(int count, char **arguments) {
  const int periods = atoi(arguments[1]);
  for (int period = 0; period < periods; period++) {
    if (period != 0) rest_ms(REST_MS);
    use_blocks();
  }
  for (int i = 2; i < count; i++) {
    const char *what = arguments[i];
    if (strcmp(what, "fork") == 0) fork_and_wait();
    else if (strcmp(what, "threads") == 0) printf("%d\n", call_in_threads(arguments[++i]));
    else printf("%d\n", call(what, arguments[++i]));
  }
  return 0;
}
