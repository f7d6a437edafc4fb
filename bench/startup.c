/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* startup.c: an allocator's share of the start and the end of a process.
 *
 * what      Starts /bin/true and waits for its end, `count` times. The children inherit the environment, so that
 *           LD_PRELOAD applies to each child.
 * owner     The main thread.
 * hot path  An operation is posix_spawn and waitpid: includes the kernel's and the dynamic linker's work, the same for
 *           every allocator except for loading the allocator's library.
 * failure   die when a child cannot be started or ends with a status other than 0.
 * not here  The child's allocations: /bin/true allocates next to nothing.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include <spawn.h>
#include <sys/wait.h>

static char g_true[] = "/bin/true";
static uint64_t g_count = 3000;

static void start_and_wait(void)
{
    char *words[] = {g_true, NULL};
    pid_t child;
    int status;
    if (posix_spawn(&child, g_true, NULL, NULL, words, environ) != 0)
        die("bench: cannot start /bin/true");
    if (waitpid(child, &status, 0) != child || status != 0)
        die("bench: /bin/true did not end well");
}

static uint64_t startup_repeat(void)
{
    g_operations = g_count;
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < g_count; i++)
        start_and_wait();
    return now_ns() - start;
}

static const struct row g_rows[] = {
    {.name = "startup", .operation = "a process: /bin/true started and waited for", .threads = 1, .once = true,
     .repeat = startup_repeat},
};

static const struct parameter g_parameters[] = {
    {"count", &g_count, 1, 1u << 20},
};

BENCH_PROGRAM(g_rows, g_parameters, BENCH_COUNT(g_parameters))
