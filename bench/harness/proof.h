/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* proof.h: names the library that serves malloc and free in this process.
 *
 * what      print_proof prints four lines: malloc=FILE, free=FILE (dladdr), glibc_served=yes|no (whether glibc's heap
 *           grew by the blocks just allocated: detects a library that forwards the calls) and hak_owns=yes|no|absent
 *           (whether HAKMEM owns such a block).
 * owner     print_proof frees the blocks that print_proof allocates.
 * hot path  None: runs after all timing.
 * failure   die.
 * not here  Judging the answer: cli/hakmem/process/peers.py.
 */
#ifndef HAKMEM_BENCH_PROOF_H
#define HAKMEM_BENCH_PROOF_H

#include "base.h"
#include <dlfcn.h>
#include <malloc.h>

enum { PROOF_BLOCKS = 1000, PROOF_BYTES = 100 };

static const char *file_of(void *function)
{
    Dl_info info;
    return dladdr(function, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "unknown";
}

/* Bytes that glibc's own heap has handed out, whichever library serves malloc. */
static size_t glibc_bytes(void)
{
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    struct mallinfo2 (*info)(void) = NULL;
    if (libc != NULL)
        *(void **)&info = dlsym(libc, "mallinfo2");
    return info == NULL ? 0 : info().uordblks;
}

static const char *owned_by_hakmem(const void *block)
{
    bool (*owns)(const void *) = NULL;
    *(void **)&owns = dlsym(RTLD_DEFAULT, "hak_owns");
    return owns == NULL ? "absent" : owns(block) ? "yes" : "no";
}

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
