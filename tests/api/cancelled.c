/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cancelled.c: output of a thread with a pending cancellation.
 *
 * what      malloc_stats, malloc_info and a line on stderr are whole though a cancellation is pending: the thread ends
 *           at its next cancellation point, after the call.
 * owner     main reads what the threads wrote.
 * failure   A line per failed check, and exit status 1.
 * not here  The text: introspection_test.cpp.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;
static bool came_back;
static FILE *stream;

static void check(bool ok, const char *what) {
  if (ok) return;
  printf("failed: %s\n", what);
  failures++;
}

static void *call_stats(void *ignored) {
  pthread_cancel(pthread_self());
  malloc_stats();
  came_back = true;
  pthread_testcancel();
  return ignored;
}

static void *call_info(void *ignored) {
  pthread_cancel(pthread_self());
  malloc_info(0, stream);
  came_back = true;
  pthread_testcancel();
  return ignored;
}

static void run(void *(*start)(void *)) {
  pthread_t thread;
  void *result = NULL;
  came_back = false;
  check(pthread_create(&thread, NULL, start, NULL) == 0, "a thread");
  pthread_join(thread, &result);
  check(came_back, "the call returned");
  check(result == PTHREAD_CANCELED, "the thread was cancelled after it");
}

/* Returns the file's content as a string. */
static char *contents(FILE *file) {
  static char text[1 << 16];
  fflush(file);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  return text;
}

static void check_stats(void) {
  FILE *file = tmpfile();
  const int err = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  run(call_stats);
  dup2(err, STDERR_FILENO);
  const char *text = contents(file);
  check(strstr(text, "hakmem settings that were changed\n") != NULL, "malloc_stats wrote all of it");
  fclose(file);
}

/* Unbuffered: every piece is a separate write. */
static void check_info(void) {
  stream = tmpfile();
  setvbuf(stream, NULL, _IONBF, 0);
  run(call_info);
  const char *text = contents(stream);
  check(strstr(text, "</malloc>\n") != NULL, "malloc_info wrote all of it");
  fclose(stream);
}

int main(void) {
  check_stats();
  check_info();
  if (failures == 0) puts("done");
  return failures != 0;
}
