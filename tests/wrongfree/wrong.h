/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wrong.h: shared parts of the small programs of this folder. Each program makes one wrong free; wrongfree_test.py has
 * the expected ends. A program that survives ends with status 0, which its test refuses. */
#ifndef HAK_TESTS_WRONGFREE_WRONG_H
#define HAK_TESTS_WRONGFREE_WRONG_H

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Hides the origin of p from the compiler. */
static inline void *hidden(void *p) {
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

/* The pointer that the message must name, and the address range of this program's code (the caller must lie there). */
static inline void announce(const void *p) {
  extern const char __executable_start[], etext[];
  dprintf(STDOUT_FILENO, "%p %p %p\n", p, (const void *)__executable_start, (const void *)etext);
}

static inline void *new_block(size_t n) {
  void *p = hidden(malloc(n));
  if (p == NULL) exit(3);
  memset(p, 1, n);
  return p;
}

/* Frees enough blocks of n bytes to overflow magazines and depot, then empties both. */
static inline void provoke_flush(size_t n) {
  enum { MANY = 50000 };
  static void *held[MANY];
  for (int i = 0; i < MANY; i++) held[i] = new_block(n);
  for (int i = 0; i < MANY; i++) free(held[i]);
  malloc_trim(0);
}

/* Makes the thread open a magazine for runs of n bytes: with deep = 1 room for one run, with deep = 2 for three. */
static inline void open_magazine_of_runs(size_t n, int deep) {
  enum { TIMES = 64 };
  void *held[2];
  for (int i = 0; i < TIMES; i++) {
    for (int k = 0; k < deep; k++) held[k] = hidden(malloc(n));
    for (int k = 0; k < deep; k++) free(held[k]);
  }
}

#endif
