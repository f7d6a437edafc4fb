/* harness.h: what the benchmark programs of this folder share.
 *
 * what      A clock, arrays that do not come from malloc, and the proof of which library served malloc and free.
 * owner     Each program includes it once; everything is static. Arrays live until the process ends.
 * locks     None.
 * orders    None.
 * hot path  touch and must only; everything else runs outside the timed part.
 * failure   die: one line on stderr, exit status 1.
 * not here  The patterns (micro.c, contention.c) and the comparison of allocators (python/hakmem).
 */
#ifndef HAKMEM_BENCH_HARNESS_H
#define HAKMEM_BENCH_HARNESS_H

#include <dlfcn.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

_Noreturn static void die(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* An array of the harness itself, so that the allocator under test never sees it. Touched before use. */
static void *pages(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED)
        die("bench: no memory for the harness's own arrays");
    return p;
}

/* What a program does first with a new block: write its first word. Blocks are never smaller than 8 bytes. */
static inline void touch(void *block, uint64_t value)
{
    *(volatile uint64_t *)block = value;
}

static inline void *must(void *block)
{
    if (__builtin_expect(block == NULL, 0))
        die("bench: malloc returned NULL");
    return block;
}

/* ---- the proof: who served malloc and free in this process ---- */

enum { PROOF_BLOCKS = 1000, PROOF_BYTES = 100 };

static const char *file_of(void *function)
{
    Dl_info info;
    return dladdr(function, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "unknown";
}

/* Bytes that glibc's own heap has handed out, whoever's malloc is in front of it. */
static size_t glibc_bytes(void)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    struct mallinfo2 (*info)(void) = NULL;
    if (libc != NULL)
        *(void **)&info = dlsym(libc, "mallinfo2");
    return info == NULL ? 0 : info().uordblks;
}

/* "yes" when hak_owns exists and knows the block, "no" when it exists and does not, else "absent". */
static const char *owned_by_hakmem(const void *block)
{
    bool (*owns)(const void *) = NULL;
    *(void **)&owns = dlsym(RTLD_DEFAULT, "hak_owns");
    return owns == NULL ? "absent" : owns(block) ? "yes" : "no";
}

/* Allocates blocks and looks whether glibc's heap grew by them: a library that forwards to glibc is found out. */
static void print_proof(void)
{
    static void *block[PROOF_BLOCKS];
    size_t before = glibc_bytes();
    for (unsigned i = 0; i < PROOF_BLOCKS; i++)
        touch(block[i] = must(malloc(PROOF_BYTES)), i);
    size_t grown = glibc_bytes() - before;
    printf("malloc=%s\n", file_of((void *)(uintptr_t)malloc));
    printf("free=%s\n", file_of((void *)(uintptr_t)free));
    printf("glibc_served=%s\n", grown >= (size_t)PROOF_BLOCKS * PROOF_BYTES ? "yes" : "no");
    printf("hak_owns=%s\n", owned_by_hakmem(block[0]));
    for (unsigned i = 0; i < PROOF_BLOCKS; i++)
        free(block[i]);
}

#endif
