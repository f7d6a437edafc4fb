/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* No wrong free: frees that only resemble wrong frees must pass. Blocks come back at the same address and are freed
 * again, across the boundary of every magazine, in every block layer. */
#include "wrong.h"

enum { DEEP = 600 };

struct hoard {
  void *held[DEEP];
};

static void same_block_again(size_t n) {
  for (int i = 0; i < 1000; i++) free(hidden(malloc(n)));
}

/* Depth d, all the way down and up again: each magazine is emptied and filled around every boundary. */
static void walk(struct hoard *hoard, size_t n) {
  void **held = hoard->held;
  for (int depth = 1; depth <= DEEP && (size_t)depth * n < 64u << 20; depth += 1 + depth / 4) {
    for (int i = 0; i < depth; i++) held[i] = hidden(malloc(n));
    for (int i = 0; i < depth; i++) free(held[i]);
    for (int i = 0; i < depth; i++) held[i] = hidden(malloc(n));
    for (int i = depth; i-- > 0;) free(held[i]);
  }
}

static void *all_sizes(void *unused) {
  struct hoard hoard;
  for (size_t n = 1; n < 3000000; n += n / 3 + 15) {
    same_block_again(n);
    walk(&hoard, n);
  }
  free(NULL);
  return unused;
}

int main(void) {
  announce(NULL);
  for (int i = 0; i < 2; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, all_sizes, NULL);
    all_sizes(NULL);
    pthread_join(thread, NULL);
  }
  malloc_trim(0);
  return 0;
}
