/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* replaced.c: blocks that musl hands to a program are HAKMEM's, whatever function of musl asked for them.
 *
 * what      Each of the family's names, then functions of musl that allocate for the caller. Linked with libhakmem.so or
 *           statically with libhakmem-override.a; prints "done". A block's owner is asked by hak_owns.
 */
#include <malloc.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hakmem/hakmem.h"

static void owned(void *p, const char *name) {
  if (p == NULL || !hak_owns(p)) {
    printf("%s: a block of another malloc\n", name);
    exit(1);
  }
  free(p);
}

static void *aligned(size_t align) {
  void *p = NULL;
  return posix_memalign(&p, align, 100) == 0 && (uintptr_t)p % align == 0 ? p : NULL;
}

static char *line_of(FILE *file) {
  char *line = NULL;
  size_t room = 0;
  return getline(&line, &room, file) > 0 ? line : NULL;
}

static char *printed(void) {
  char *text;
  return asprintf(&text, "%d and %s", 7, "eight") > 0 ? text : NULL;
}

static char *streamed(void) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *stream = open_memstream(&text, &bytes);
  fprintf(stream, "%5000d", 7);
  fclose(stream);
  return bytes == 5000 ? text : NULL;
}

static void by_name(void) {
  owned(malloc(100), "malloc");
  owned(calloc(10, 10), "calloc");
  owned(realloc(NULL, 100), "realloc");
  owned(realloc(malloc(10), 1 << 20), "realloc that moves");
  owned(reallocarray(NULL, 10, 10), "reallocarray");
  owned(aligned_alloc(64, 128), "aligned_alloc");
  owned(memalign(4096, 100), "memalign");
  owned(valloc(100), "valloc");
  owned(aligned(1 << 16), "posix_memalign");
  owned(malloc(100 << 20), "malloc of 100 MiB");
  void *p = malloc(100);
  if (malloc_usable_size(p) < 100) puts("malloc_usable_size: less than asked for"), exit(1);
  free(p);
}

static void by_libc(void) {
  FILE *status = fopen("/proc/self/status", "r");
  regex_t pattern;
  owned(line_of(status), "getline");
  fclose(status);
  owned(strdup("text"), "strdup");
  owned(strndup("text", 2), "strndup");
  owned(printed(), "asprintf");
  owned(streamed(), "open_memstream");
  owned(realpath("/proc", NULL), "realpath");
  if (regcomp(&pattern, "a(b|c)*d", REG_EXTENDED) != 0 || regexec(&pattern, "abcbd", 0, NULL, 0) != 0) exit(1);
  regfree(&pattern);
  for (int n = 0; n < 2000; n++) setenv(n % 2 ? "A" : "B", n % 3 ? "short" : "somewhat longer", 1);
}

int main(void) {
  by_name();
  by_libc();
  puts("done");
  return 0;
}
