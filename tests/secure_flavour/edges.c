/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* edges.c: blocks at each border between kinds, in the secure flavour: sizes, alignments, growth to the neighbour.
 *
 * Each has exactly the bytes that were asked for, is zero, and can be written to its end; one that grew is zero behind.
 * realloc to no bytes frees each, one that it refuses stays as it was, and it finds a write past the end.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of C23, in the library. */
void free_aligned_sized(void *p, size_t align, size_t n);

enum { AROUND = 24, KIB = 1024 };

static _Noreturn void wrong(const char *what, size_t n, size_t align) {
  printf("%s: %zu bytes at a multiple of %zu\n", what, n, align);
  exit(1);
}

static void check(unsigned char *p, size_t n, size_t align) {
  if (p == NULL || (uintptr_t)p % align != 0) wrong("no block", n, align);
  if (malloc_usable_size(p) != n) wrong("another size", n, align);
  for (size_t i = 0; i < n; i += n > KIB ? 509 : 1) {
    if (p[i] != 0) wrong("not zero", n, align);
  }
  memset(p, 0x5e, n);
}

/* The block that takes a grown one's place shows nothing of the past behind the old end. */
static void twice(size_t n) {
  unsigned char *past = malloc(2 * n), *p = malloc(n);
  memset(past, 0x5e, 2 * n), memset(p, 1, n);
  free(past);
  p = realloc(p, 2 * n);
  for (size_t i = n; i < 2 * n; i++) {
    if (p[i] != 0) wrong("grown into the past", n, 16);
  }
  free(p);
}

/* Blocks longer than 1 MiB that grow beside freed ones, into these or by their pages. */
static void among_freed(size_t n) {
  enum { BLOCKS = 12 };
  unsigned char *block[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++) memset(block[i] = malloc(n), i % 2 == 0 ? 0x5e : 1, n);
  for (size_t i = 0; i < BLOCKS; i += 2) free(block[i]);
  for (size_t i = 1; i < BLOCKS; i += 2) {
    size_t more = n + i * n / BLOCKS;
    block[i] = realloc(block[i], more);
    for (size_t at = n; at < more; at += 509) {
      if (block[i][at] != 0) wrong("grown into a freed block", more, 16);
    }
  }
  for (size_t i = 1; i < BLOCKS; i += 2) free(block[i]);
}

/* A block of pages that grows to the shortest big block's length: there, too, is room for a guard. */
static void to_threshold(size_t n) {
  enum { BLOCKS = 8, BEFORE = 200000 };
  unsigned char *block[BLOCKS];
  for (size_t i = 0; i < BLOCKS; i++) memset(block[i] = malloc(BEFORE), 1, BEFORE);
  for (size_t i = 0; i < BLOCKS; i++) memset(block[i] = realloc(block[i], n), 1, n);
  for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
}

/* Where every block lies in the range. */
static void without_mappings(size_t n) {
  mallopt(M_MMAP_MAX, 0);
  unsigned char *p = malloc(n);
  if (p == NULL || malloc_usable_size(p) != n) wrong("another size", n, 16);
  free(p);
  mallopt(M_MMAP_MAX, 65536);
}

/* A realloc that fails leaves the block as it was. */
static void stays_aligned(size_t align, size_t n) {
  unsigned char *p = aligned_alloc(align, n);
  if (realloc(p, PTRDIFF_MAX / 2) != NULL) wrong("a block without end", n, align);
  free_aligned_sized(p, align, n);
}

static void *free_it(void *p) {
  free(p);
  return NULL;
}

/* What waits in a thread's quarantine goes at its end, even if the thread has only freed. */
static void freed_by_others(size_t n) {
  enum { THREADS = 400, MAY_WAIT = 100 };
  size_t before = mallinfo2().uordblks;
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, free_it, malloc(n)) != 0) wrong("no thread", n, 16);
    pthread_join(thread, NULL);
  }
  if (mallinfo2().uordblks > before + MAY_WAIT * n) wrong("kept by threads that ended", n, 16);
}

static void of_size(size_t n) {
  unsigned char *p = malloc(n);
  check(p, n, 16);
  p = realloc(p, n + AROUND);
  if (p == NULL || malloc_usable_size(p) != n + AROUND) wrong("not grown", n, 16);
  if (n > 0 && (p[0] != 0x5e || p[n - 1] != 0x5e)) wrong("lost when grown", n, 16);
  memset(p, 0x5e, n + AROUND);
  p = realloc(p, n);
  if (p == NULL || malloc_usable_size(p) != n || (n > 0 && p[n - 1] != 0x5e)) wrong("not shrunk", n, 16);
  free(p);
}

/* A block that grows over, or into, what another one of up to 2 n bytes left behind. */
static void grown_over(size_t n) {
  unsigned char *past = malloc(2 * n), *p;
  memset(past, 0x5e, 2 * n);
  free(past);
  p = calloc(1, n / 2 + 1);
  for (size_t more = n; more <= n + n / 2; more += n / 2) {
    p = realloc(p, more);
    for (size_t i = 0; i < more; i++) {
      if (p[i] != 0) wrong("grown over the past", more, 16);
    }
  }
  free(p);
}

/* As malloc, of the calls that name a site. */
static void at_site(size_t n) {
  static void *(*alloc_at)(size_t, const void *);
  if (alloc_at == NULL) *(void **)&alloc_at = dlsym(RTLD_DEFAULT, "hak_alloc_at");
  unsigned char *p = alloc_at(n, &alloc_at);
  check(p, n, 16);
  free(p);
}

/* An aligned block that realloc refuses to enlarge stays as it was asked for. */
static void refused(size_t n) {
  static void (*free_aligned)(void *, size_t, size_t);
  if (free_aligned == NULL) *(void **)&free_aligned = dlsym(RTLD_DEFAULT, "free_aligned_sized");
  unsigned char *p = aligned_alloc(64, n);
  if (realloc(p, (size_t)1 << 50) != NULL) wrong("not refused", n, 64);
  if (malloc_usable_size(p) != n) wrong("another size when refused", n, 64);
  free_aligned(p, 64, n);
}

/* As glibc: also of a block of no bytes. */
static void ended_by_realloc(size_t n) {
  if (realloc(malloc(n), 0) != NULL) wrong("not freed by realloc", n, 16);
}

/* A write of one byte past the end ends the program at the block's realloc, also where the block stays in its place. */
static void overrun(size_t n, size_t next) {
  pid_t child = fork();
  if (child == 0) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    close(STDERR_FILENO);
    unsigned char *volatile p = malloc(n);
    p[n] = 'B'; /* even: a canary's first byte is odd */
    free(realloc(p, next));
    _exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status)) wrong("write beside not found", n, 16);
}

int main(void) {
  static const size_t border[] = {64,       512,       KIB,        4 * KIB,    32 * KIB,
                                  64 * KIB, 256 * KIB, 1024 * KIB, 2048 * KIB, 3000 * KIB};
  for (size_t i = 0; i < sizeof border / sizeof *border; i++) {
    for (size_t n = border[i] - AROUND; n <= border[i] + AROUND; n++) of_size(n);
    twice(border[i]), twice(border[i] + AROUND);
    grown_over(border[i]), at_site(border[i]), at_site(border[i]);
    refused(border[i]), ended_by_realloc(border[i]);
    overrun(border[i], border[i] + 4), overrun(border[i], border[i]), overrun(border[i], border[i] - 4);
  }
  for (size_t align = 16; align <= (size_t)64 << 20; align *= 2) {
    for (size_t n = 1; n <= (size_t)4 << 20; n = n * 7 + 1) {
      unsigned char *p = aligned_alloc(align, n);
      check(p, n, align);
      free(p);
    }
  }
  refused(1), ended_by_realloc(0), ended_by_realloc(1);
  for (size_t n = (size_t)1 << 20; n <= (size_t)4 << 20; n += 300000) among_freed(n);
  for (size_t n = 250000; n <= 262144; n += 61) to_threshold(n);
  without_mappings((size_t)300 << 20);
  stays_aligned(64, 100000), stays_aligned(64, 40000);
  freed_by_others(2000), freed_by_others(100);
  puts("done");
}
