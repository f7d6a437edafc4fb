/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pairs.h: a table from two numbers to one.
 *
 * what      Open addressing, hashed with a seed of this process, so that no file can be made to be slow.
 * owner     The caller, until hak_pairs_drop; all zeros is an empty table.
 * failure   NULL: no memory.
 */
#ifndef HAK_TOOLS_PAIRS_H
#define HAK_TOOLS_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct hak_pair {
  uint64_t a, b;
  uint32_t value; /* 0: an empty place */
};

struct hak_pairs {
  struct hak_pair *pair;
  size_t places, used;
};

/* Where the value of (a, b) is. One that is new is 0, and the caller sets it. */
uint32_t *hak_pairs_at(struct hak_pairs *pairs, uint64_t a, uint64_t b);
void hak_pairs_drop(struct hak_pairs *pairs);

/* Another one in every run. */
uint64_t hak_hash_seed(void);

static inline uint64_t hak_hash(uint64_t seed, uint64_t key)
{
  uint64_t mixed = (key ^ seed) * 0x9E3779B97F4A7C15u;
  return (mixed ^ mixed >> 32) * (seed | 1);
}

#endif
