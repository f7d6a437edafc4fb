/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* scenarios.c: buffers of 64 KiB to 2 MiB, as parsers, compilers and virtual machines use them.
 *
 * what      scenario_json    1,000 buffers of 64 KiB: allocated, written, freed in order
 *           scenario_mir     100 buffers of 256 KiB: allocated, written, freed in reverse order
 *           scenario_vm      16 buffers of 2 MiB: allocated, written, freed in order
 *           scenario_mixed   100 slots; a random slot's buffer is freed and replaced: six of ten buffers have
 *                            64 KiB, three 256 KiB, one 2 MiB
 *           Written means one word in every page, so that memory released to the kernel costs page faults.
 * owner     A row per process.
 * hot path  Slots and sizes come from a table made before.
 * failure   As the harness.
 * not here  Blocks that grow: growth.c; calloc: zeroed.c.
 */
#define _GNU_SOURCE
#include "harness/harness.h"

enum {
    JSON_BLOCKS = 1000,
    JSON_BYTES = 64 << 10,
    MIR_BLOCKS = 100,
    MIR_BYTES = 256 << 10,
    VM_BLOCKS = 16,
    VM_BYTES = 2 << 20,
    VM_ROUNDS = 2,
    MIR_ROUNDS = 4,
    MIXED_SLOTS = 100,
    MIXED_STEPS = 1000,
};

static void *g_block[JSON_BLOCKS];
static uint8_t g_slot[MIXED_STEPS];
static uint32_t g_bytes[MIXED_STEPS];

static inline void *buffer(size_t bytes)
{
    char *block = must(malloc(bytes));
    for (size_t at = 0; at < bytes; at += PAGE)
        touch(block + at, at);
    return block;
}

static inline void fill(unsigned count, size_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        g_block[i] = buffer(bytes);
}

static inline void free_in_order(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(g_block[i]);
}

static uint64_t json_repeat(void)
{
    uint64_t start = now_ns();
    fill(JSON_BLOCKS, JSON_BYTES);
    free_in_order(JSON_BLOCKS);
    return now_ns() - start;
}

static uint64_t mir_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned round = 0; round < MIR_ROUNDS; round++) {
        fill(MIR_BLOCKS, MIR_BYTES);
        for (unsigned i = MIR_BLOCKS; i-- > 0;)
            free(g_block[i]);
    }
    return now_ns() - start;
}

static uint64_t vm_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned round = 0; round < VM_ROUNDS; round++) {
        fill(VM_BLOCKS, VM_BYTES);
        free_in_order(VM_BLOCKS);
    }
    return now_ns() - start;
}

static uint32_t mixed_bytes(uint32_t of_ten)
{
    return of_ten < 6 ? JSON_BYTES : of_ten < 9 ? MIR_BYTES : VM_BYTES;
}

static void mixed_setup(void)
{
    struct random random = {42};
    for (unsigned i = 0; i < MIXED_STEPS; i++) {
        g_slot[i] = (uint8_t)random_below(&random, MIXED_SLOTS);
        g_bytes[i] = mixed_bytes(random_below(&random, 10));
    }
}

static uint64_t mixed_repeat(void)
{
    uint64_t start = now_ns();
    for (unsigned i = 0; i < MIXED_STEPS; i++) {
        free(g_block[g_slot[i]]);
        g_block[g_slot[i]] = buffer(g_bytes[i]);
    }
    return now_ns() - start;
}

static const struct row g_rows[] = {
    {.name = "scenario_json", .operation = "one of 1,000 blocks of 64 KiB: malloc, a word in each page, free in order",
     .operations = JSON_BLOCKS, .threads = 1, .repeat = json_repeat},
    {.name = "scenario_mir", .operation = "one of 100 blocks of 256 KiB: malloc, a word in each page, free last first",
     .operations = MIR_BLOCKS * MIR_ROUNDS, .threads = 1, .repeat = mir_repeat},
    {.name = "scenario_vm", .operation = "one of 16 blocks of 2 MiB: malloc, a word in each page, free in order",
     .operations = VM_BLOCKS * VM_ROUNDS, .threads = 1, .repeat = vm_repeat},
    {.name = "scenario_mixed", .operation = "free a random slot of 100, malloc 64 KiB to 2 MiB, a word in each page",
     .operations = MIXED_STEPS, .threads = 1, .setup = mixed_setup, .repeat = mixed_repeat},
};

BENCH_PROGRAM(g_rows, NULL, 0)
