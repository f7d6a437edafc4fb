/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trim.h: asks the library that serves malloc to release free memory, by the library's own function.
 *
 * what      malloc_trim(0) (glibc, HAKMEM), mi_collect(true) (mimalloc), mallctl("arena.4096.purge") (jemalloc: of all
 *           arenas), MallocExtension_ReleaseFreeMemory() (tcmalloc).
 * locks     The library's.
 * failure   False if the serving library has none of these functions. A function of a different library is never
 *           called: that library would trim its own heap.
 * not here  Memory that is released without a call: rows that wait.
 */
#ifndef HAKMEM_BENCH_TRIM_H
#define HAKMEM_BENCH_TRIM_H

#include "proof.h"

/* The function of that name in the library that malloc is from, or NULL. */
static void *own_function(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    bool own = function != NULL && strcmp(file_of(function), file_of((void *)(uintptr_t)malloc)) == 0;
    return own ? function : NULL;
}

static bool trim_all(void)
{
    int (*malloc_trim_it)(size_t);
    void (*collect)(bool), (*release)(void);
    int (*control)(const char *, void *, size_t *, void *, size_t);
    *(void **)&malloc_trim_it = own_function("malloc_trim");
    *(void **)&collect = own_function("mi_collect");
    *(void **)&release = own_function("MallocExtension_ReleaseFreeMemory");
    *(void **)&control = own_function("mallctl");
    if (malloc_trim_it != NULL)
        malloc_trim_it(0);
    else if (collect != NULL)
        collect(true);
    else if (release != NULL)
        release();
    else
        return control != NULL && control("arena.4096.purge", NULL, NULL, NULL, 0) == 0;
    return true;
}

#endif
