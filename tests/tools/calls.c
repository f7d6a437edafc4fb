/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* calls.c: a program that makes a known number of calls of the malloc family, for the tests of the probe libraries.
 *
 *     calls none                 nothing
 *     calls family               every function of the family: 16 calls that allocate, 15 that free
 *     calls pairs N              N pairs of malloc and free
 *     calls threads T N          N pairs in each of T threads
 *     calls fork N               N pairs in a forked child, which ends by _exit, and N in the parent
 *     calls exec N CMD ...       N pairs, then executes CMD in the same process
 *     calls abort N              N mallocs, then abort
 *     calls address              prints whether malloc's address is known; taken in code that is not PIC
 *     calls text N               prints N lines to standard output, and a line to standard error
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* glibc 2.36 declares none of these functions; the probe library defines them. */
void cfree(void *p) __attribute__((weak));
void free_sized(void *p, size_t n) __attribute__((weak));
void free_aligned_sized(void *p, size_t align, size_t n) __attribute__((weak));
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void *__libc_valloc(size_t n);
void *__libc_pvalloc(size_t n);
void __libc_free(void *p);

static void family(void)
{
  void *p = NULL;
  free(malloc(10));
  __libc_free(calloc(3, 5));
  free(realloc(malloc(10), 1000));
  free(reallocarray(NULL, 4, 8));
  cfree(memalign(64, 100));
  free_aligned_sized(aligned_alloc(128, 256), 128, 256);
  if (posix_memalign(&p, 256, 300) == 0)
    free(p);
  free_sized(valloc(10), 10);
  free(pvalloc(10));
  free(NULL);
  free(__libc_realloc(__libc_malloc(5), 50));
  free(__libc_calloc(2, 2));
  free(__libc_memalign(32, 5));
  free(__libc_valloc(5));
  free(__libc_pvalloc(5));
  malloc_usable_size(NULL);
}

static void pairs(long n)
{
  for (long i = 0; i < n; i++)
    free(malloc((size_t)(i % 500)));
}

static void *thread_pairs(void *n)
{
  pairs(*(long *)n);
  return NULL;
}

static void threads(int count, long n)
{
  pthread_t made[64];
  for (int i = 0; i < count && i < 64; i++)
    pthread_create(&made[i], NULL, thread_pairs, &n);
  for (int i = 0; i < count && i < 64; i++)
    pthread_join(made[i], NULL);
}

static void in_child_and_parent(long n)
{
  pid_t child = fork();
  if (child == 0) {
    pairs(n);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  pairs(n);
}

static void mallocs(long n)
{
  for (long i = 0; i < n; i++)
    if (malloc(100) == NULL)
      exit(1);
}

static void print_whether_known(void)
{
  void *(*volatile address)(size_t) = malloc;
  static const char known[] = "known\n";
  static const char unknown[] = "unknown\n";
  const char *text = address != NULL ? known : unknown;
  if (write(1, text, strlen(text)) < 0)
    exit(1);
}

static void print_lines(long n)
{
  for (long i = 0; i < n; i++)
    printf("line %ld\n", i);
  fprintf(stderr, "to standard error\n");
}

static long number(char **argv, int at)
{
  return argv[at] == NULL ? 0 : atol(argv[at]);
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "none";
  if (strcmp(what, "family") == 0)
    family();
  if (strcmp(what, "pairs") == 0)
    pairs(number(argv, 2));
  if (strcmp(what, "threads") == 0)
    threads((int)number(argv, 2), number(argv, 3));
  if (strcmp(what, "fork") == 0)
    in_child_and_parent(number(argv, 2));
  if (strcmp(what, "abort") == 0)
    mallocs(number(argv, 2)), abort();
  if (strcmp(what, "address") == 0)
    print_whether_known();
  if (strcmp(what, "text") == 0)
    print_lines(number(argv, 2));
  if (strcmp(what, "exec") == 0 && argc > 3) {
    pairs(number(argv, 2));
    execvp(argv[3], argv + 3);
    return 127;
  }
  return 0;
}
