/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* explained.c: a program with known addresses.
 *
 * what      Prints names and addresses of blocks in every state, and waits for its input to end.
 * not here  The expected explanations: cli/tests/test_address.py.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 64 * 64, SLAB = 65536 };

static void show(const char *name, const void *p) { printf("%s %p\n", name, p); }

__attribute__((noinline)) static void *ask_for_big(size_t n) {
  char *p = malloc(n);
  memset(p, 1, n);
  return p;
}

static char *freed(size_t n) {
  char *p = ask_for_big(n);
  free(p);
  return p;
}

/* A block in the middle of a slab with one more live block. */
static char *hole(void) {
  static char *block[BLOCKS];
  for (int i = 0; i < BLOCKS; i++) block[i] = ask_for_big(1000);
  for (int i = 0; i < BLOCKS; i++) {
    if (i % 64 != 0) free(block[i]);
  }
  uintptr_t kept = (uintptr_t)block[32 * 64], slab = kept / SLAB * SLAB;
  return (char *)(slab + (kept - slab > SLAB / 2 ? SLAB / 4 : SLAB / 4 * 3));
}

int main(void) {
  int local = 0;
  char *small = malloc(64), *hollow = hole();
  char *live_run = ask_for_big(600000), *big = ask_for_big(3 << 20);
  char *pages = ask_for_big(100000), *free_pages = ask_for_big(100000), *wall = ask_for_big(100000);
  char *run = freed(900000);
  free(free_pages);
  malloc_trim(0);
  show("small", small);
  show("inside", small + 9);
  show("hole", hollow);
  show("free_run", run);
  show("run", live_run + 70000);
  show("pages", pages + 70000);
  show("free_pages", free_pages + 4096);
  show("wall", wall);
  show("big", big + 5000);
  show("kept", freed(5 << 20));
  show("magazine", freed(64));
  show("stack", &local);
  show("code", (const void *)(uintptr_t)main);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
