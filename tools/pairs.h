/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pairs.h: a table from two numbers to one.
 *
 * what      Open addressing, hashed with a random seed per process, so that no crafted file can make the table slow.
 * owner     The caller, until hak_pairs_drop; all zeros is an empty table.
 * failure   NULL: no memory.
 */
#ifndef HAK_TOOLS_PAIRS_H
#define HAK_TOOLS_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct hak_pair {
  uint64_t a, b;
  uint32_t value; /* 0: empty */
};

struct hak_pairs {
  struct hak_pair *pair;
  size_t places, used;
};

/* Address of the value of (a, b); a new value is 0, for the caller to set. */
uint32_t *hak_pairs_at(struct hak_pairs *pairs, uint64_t a, uint64_t b);
void hak_pairs_drop(struct hak_pairs *pairs);

/* A random seed, the same within a process. */
uint64_t hak_hash_seed(void);

static inline uint64_t hak_hash(uint64_t seed, uint64_t key)
{
  uint64_t mixed = (key ^ seed) * 0x9E3779B97F4A7C15u;
  return (mixed ^ mixed >> 32) * (seed | 1);
}

#endif
