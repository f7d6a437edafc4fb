/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* holding.c: a program with known memory, part by part.
 *
 * what      Allocates, prints "ready", and waits; a line "fork" makes a child, whose pid is printed and which waits
 *           too.
 *
 *               20 MiB of blocks of 100 B, every second block freed; 64 MiB in one block, of which 16 MiB are written
 *               and 8 MiB only read; 24 MiB in one block that was written and freed
 * owner     The program.
 * failure   Status 1.
 * not here  The assertions: cli/tests/test_memory.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, BYTES = 100, BLOCKS = 20 * MIB / BYTES };

static char *block[BLOCKS], input[4096];

static void hold_small(void) {
  for (int n = 0; n < BLOCKS; n++) {
    block[n] = malloc(BYTES);
    if (block[n] == NULL) exit(1);
    memset(block[n], 1, BYTES);
  }
  for (int n = 0; n < BLOCKS; n += 2) free(block[n]);
}

static void touch(volatile char *p, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4096) p[at] = 1;
}

static long sum(const volatile char *p, size_t bytes) {
  long found = 0;
  for (size_t at = 0; at < bytes; at += 4096) found += p[at];
  return found;
}

static char *hold_big(void) {
  char *held = calloc(64, MIB), *gone = malloc(24 * MIB);
  if (held == NULL || gone == NULL) exit(1);
  touch(held, 16 * MIB);
  if (sum(held + 32 * MIB, 8 * MIB) != 0) exit(1);
  touch(gone, 24 * MIB);
  free(gone);
  return held;
}

static void wait_for_end(void) {
  while (getchar() != EOF) {
  }
}

static void say(const char *format, int number) {
  printf(format, number);
  fflush(stdout);
}

int main(void) {
  char line[16];
  setvbuf(stdin, input, _IOFBF, sizeof input); /* no buffer is allocated during the wait */
  hold_small();
  char *held = hold_big();
  say("ready %d\n", held != NULL);
  while (fgets(line, sizeof line, stdin) != NULL) {
    pid_t child = fork();
    if (child == 0) say("%d\n", (int)getpid()), wait_for_end(), _exit(0);
    waitpid(child, NULL, 0);
  }
  return 0;
}
