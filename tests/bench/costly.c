/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costly.c: an allocator whose calls have known costs.
 *
 * what      Preloaded, the library serves malloc and free. Blocks of SPECIAL bytes, counted from 1:
 *
 *               every 100th malloc    ROUNDS rounds of a loop of two instructions
 *               the 700th malloc      2 * ROUNDS rounds
 *               the 500th malloc      two kernel calls
 *               the 600th malloc      five readings of the clock, which enter the kernel only under valgrind
 *               the 333rd free        3 * ROUNDS rounds
 *
 *           A block above 32 KiB takes 100 * ROUNDS rounds: the worst of all, but outside the examined sizes.
 * owner     g_arena; no memory is reused.
 * locks     None: one thread.
 * failure   NULL when the arena is used up.
 * not here  The calling program: steady.c. The search for these calls: test_worst.py.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SPECIAL = 4008, ROUNDS = 500, ARENA = 128 << 20, GRAIN = 16 };

static _Alignas(GRAIN) char g_arena[ARENA];
static size_t g_used;
static unsigned g_mallocs, g_frees;

__attribute__((noinline)) static void spin(unsigned rounds)
{
    __asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(rounds)::"cc");
}

static void enter_kernel(void)
{
    getppid();
    getppid();
}

static void read_clock(void)
{
    struct timespec now;
    for (unsigned i = 0; i < 5; i++)
        clock_gettime(CLOCK_MONOTONIC, &now);
}

static void special_malloc(void)
{
    unsigned number = ++g_mallocs;
    if (number % 100 == 0)
        spin(number == 700 ? 2 * ROUNDS : ROUNDS);
    if (number == 500)
        enter_kernel();
    if (number == 600)
        read_clock();
}

void *malloc(size_t bytes)
{
    size_t all = (bytes + GRAIN - 1) / GRAIN * GRAIN + GRAIN;
    if (all < bytes || all > ARENA - g_used)
        return NULL;
    char *block = g_arena + g_used + GRAIN;
    g_used += all;
    *(size_t *)(block - GRAIN) = bytes;
    if (bytes == SPECIAL)
        special_malloc();
    if (bytes > 32 << 10)
        spin(100 * ROUNDS);
    return block;
}

size_t malloc_usable_size(void *block)
{
    return block == NULL ? 0 : *(size_t *)((char *)block - GRAIN);
}

void free(void *block)
{
    if (malloc_usable_size(block) == SPECIAL && ++g_frees == 333)
        spin(3 * ROUNDS);
}

/* The arena is zero, and no block is used twice. */
void *calloc(size_t count, size_t bytes)
{
    return bytes != 0 && count > ARENA / bytes ? NULL : malloc(count * bytes);
}

void *realloc(void *old, size_t bytes)
{
    size_t before = malloc_usable_size(old);
    void *block = malloc(bytes);
    return block == NULL || old == NULL ? block : memcpy(block, old, before < bytes ? before : bytes);
}
