/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pairs.c: see pairs.h.
 *
 * what      The number of places is a power of two, at most half in use; an entry stays.
 */
#define _GNU_SOURCE
#include "pairs.h"
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

enum { first_places = 16 };

uint64_t hak_hash_seed(void)
{
  static uint64_t seed;
  if (seed == 0 && getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
    seed = (uint64_t)time(NULL) * 0x9E3779B97F4A7C15u;
  return seed;
}

static struct hak_pair *place_of(const struct hak_pairs *pairs, uint64_t a, uint64_t b)
{
  uint64_t seed = hak_hash_seed();
  size_t at = (size_t)(hak_hash(seed, a + hak_hash(seed, b)) >> 32) & (pairs->places - 1);
  struct hak_pair *pair = &pairs->pair[at];
  while (pair->value != 0 && (pair->a != a || pair->b != b)) {
    at = (at + 1) & (pairs->places - 1);
    pair = &pairs->pair[at];
  }
  return pair;
}

static struct hak_pair *grow(struct hak_pairs *pairs)
{
  struct hak_pairs wider = {.places = pairs->places == 0 ? first_places : 2 * pairs->places, .used = pairs->used};
  wider.pair = calloc(wider.places, sizeof *wider.pair);
  if (wider.pair == NULL)
    return NULL;
  for (size_t i = 0; i < pairs->places; i++)
    if (pairs->pair[i].value != 0)
      *place_of(&wider, pairs->pair[i].a, pairs->pair[i].b) = pairs->pair[i];
  free(pairs->pair);
  *pairs = wider;
  return wider.pair;
}

uint32_t *hak_pairs_at(struct hak_pairs *pairs, uint64_t a, uint64_t b)
{
  if (2 * pairs->used >= pairs->places && grow(pairs) == NULL)
    return NULL;
  struct hak_pair *pair = place_of(pairs, a, b);
  if (pair->value == 0) {
    *pair = (struct hak_pair){a, b, 0};
    pairs->used++;
  }
  return &pair->value;
}

void hak_pairs_drop(struct hak_pairs *pairs)
{
  free(pairs->pair);
  *pairs = (struct hak_pairs){0};
}
