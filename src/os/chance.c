/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* chance.c: random choices of the secure flavour.
 *
 * what      See chance.h.
 * owner     chaos, of each thread.
 */
#include "os/chance.h"

#include "base/bits.h"
#include "base/random.h"
#include "os/os.h"
#include "os/self.h"

static __thread struct hak_chaos chaos; /* count 0: not seeded */

static HAK_NOINLINE void seed_chaos(void) {
  uint64_t place = (uint64_t)(uintptr_t)&chaos;
  hak_chaos_stir(&chaos, hak_os_random(), hak_os_now_ns(), hak_rotate_right(place, 20) ^ hak_self_token());
}

uint64_t hak_chance(void) {
  if (HAK_UNLIKELY(chaos.count == 0)) seed_chaos();
  return hak_chaos_next(&chaos);
}

void hak_chance_stir(void) {
  if (chaos.count != 0) hak_chaos_stir(&chaos, 0, 0, hak_os_now_ns());
}

HAK_INLINE void swap(void **out, uint32_t a, uint32_t b) {
  void *p = out[a];
  out[a] = out[b];
  out[b] = p;
}

/* Fisher and Yates' shuffle, four places by each number. */
static void shuffle(struct hak_chaos *own, void **out, uint32_t n) {
  uint64_t drawn = 0;
  for (uint32_t left = n, i = 0; left > 1; left--, i++, drawn >>= 16) {
    if (i % 4 == 0) drawn = hak_chaos_next(own);
    swap(out, left - 1, (uint32_t)((drawn & 0xffff) * left >> 16));
  }
}

void hak_chance_shuffle(void **out, size_t n, size_t group) {
  if (HAK_UNLIKELY(chaos.count == 0)) seed_chaos();
  struct hak_chaos own = chaos;
  for (size_t at = 0; at < n; at += group) shuffle(&own, out + at, (uint32_t)hak_min(n - at, group));
  chaos = own;
}
