/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* load.h: a load of mixed sizes that is the same at any time: what a thread holds varies little about its mean.
 *
 * what      A thread owns SLOTS slots; each slot holds a block of a size between its base and twice its base, or none. A
 *           step picks a slot by chance and fills, changes or empties it. Bases lie between 16 B and 2 MiB; most are
 *           small. Every block has a pattern at both ends, checked before each change.
 *
 *               load_step  --> slot full? -- no --> malloc, calloc, aligned_alloc
 *                                        \-- yes -> check; realloc or free, here or in the thread that takes it (swap)
 *
 * owner     A load belongs to one thread; the exchange, through which blocks change threads, to all.
 * failure   A wrong pattern ends the process by abort, with a line on stderr. An allocation that fails leaves the slot
 *           empty, and is counted.
 */
#ifndef HAK_TEST_SOAK_LOAD_H
#define HAK_TEST_SOAK_LOAD_H

#include <stddef.h>
#include <stdint.h>

enum { SLOTS = 3000 };

struct load_block {
  unsigned char *bytes;
  size_t size;
};

struct load {
  uint64_t random;
  uint64_t steps, failed;
  struct load_block blocks[SLOTS];
};

void load_begin(struct load *load, uint64_t seed);
void load_step(struct load *load);
/* Empties all slots. */
void load_end(struct load *load);
/* Checks the ends of all blocks. */
void load_check(const struct load *load);
/* A number below `below`, which must not be 0. */
uint64_t load_chance(struct load *load, uint64_t below);

#endif
