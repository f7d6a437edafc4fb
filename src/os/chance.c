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

/* Fisher and Yates' shuffle. */
void hak_chance_shuffle(void **out, size_t n) {
  for (; n > 1; n--) {
    uint32_t other = hak_chance_below((uint32_t)n);
    void *p = out[other];
    out[other] = out[n - 1];
    out[n - 1] = p;
  }
}
