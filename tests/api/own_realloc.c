/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* own_realloc.c: a program with its own malloc, free and realloc, and libhakmem.so preloaded.
 *
 * what      Functions that C and glibc define in terms of free and realloc must reach the program's functions. The
 *           program's blocks have a header with a mark: the library's free or realloc reports a wrong pointer, and the
 *           program's functions detect a foreign block.
 * owner     Checks free all blocks.
 * failure   A line per failed check, and exit status 1.
 * not here  calloc and the aligned functions, which a program must replace as well before calling.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
  size_t bytes;
  uint64_t mark;
};

#define MARK 0x6f776e20626c6f63u

static _Alignas(16) char arena[1 << 20];
static size_t used;
static int failures, freed;

static void check(bool ok, const char *what) {
  if (ok) return;
  printf("failed: %s\n", what);
  failures++;
}

static struct header *header_of(void *p) {
  struct header *h = (struct header *)p - 1;
  if (h->mark == MARK) return h;
  puts("failed: a block that is not the program's own");
  abort();
}

static bool is_own(const void *p) { return (const char *)p > arena && (const char *)p < arena + used; }

void *malloc(size_t n) {
  const size_t bytes = (n + sizeof(struct header) + 15) & ~(size_t)15;
  if (n > sizeof arena || bytes > sizeof arena - used) return NULL;
  struct header *h = (struct header *)(arena + used);
  used += bytes;
  *h = (struct header){n, MARK};
  return h + 1;
}

void free(void *p) {
  if (p == NULL || !is_own(p)) return; /* a block that the loader got before */
  header_of(p)->mark = 0;
  freed++;
}

void *realloc(void *p, size_t n) {
  void *q = malloc(n);
  if (p == NULL || q == NULL) return q;
  const size_t have = header_of(p)->bytes;
  memcpy(q, p, have < n ? have : n);
  free(p);
  return q;
}

static void check_reallocarray(void) {
  char *p = malloc(10);
  memcpy(p, "contents!", 10);
  p = reallocarray(p, 50, 4);
  check(is_own(p) && strcmp(p, "contents!") == 0, "reallocarray resizes a block");
  errno = 0;
  check(reallocarray(p, SIZE_MAX / 2, 3) == NULL && errno == ENOMEM, "reallocarray refuses a product that overflows");
  free(p);
  p = reallocarray(NULL, 3, 5);
  check(is_own(p), "reallocarray makes a block");
  free(p);
}

/* Absent from glibc's headers, or from the headers of 2.36. */
static void *library(const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  if (found == NULL) check(false, name);
  return found;
}

static void check_frees(void) {
  void (*cfree)(void *) = (void (*)(void *))library("cfree");
  void (*sized)(void *, size_t) = (void (*)(void *, size_t))library("free_sized");
  void (*aligned)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))library("free_aligned_sized");
  const int before = freed;
  if (cfree != NULL) cfree(malloc(20));
  if (sized != NULL) sized(malloc(20), 20);
  if (aligned != NULL) aligned(malloc(20), 16, 20);
  check(freed == before + 3, "cfree, free_sized and free_aligned_sized free");
}

/* libc's own functions give blocks that the program frees. */
static void check_libc(void) {
  char *copy = strdup("copied"), *line = NULL;
  check(is_own(copy), "strdup");
  free(copy);
  check(asprintf(&line, "%d", 42) == 2 && is_own(line), "asprintf");
  free(line);
}

int main(void) {
  check_reallocarray();
  check_frees();
  check_libc();
  if (failures == 0) puts("done");
  return failures != 0;
}
