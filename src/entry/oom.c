/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* oom.c: the program's handler of failed requests.
 *
 * what      See oom.h. Handler and argument are stored in the unused of two places, then the place is published: a fork
 *           in the middle leaves the earlier pair in the child.
 * owner     g_oom, g_oom_pairs.
 * locks     g_oom.lock, not held while the handler runs.
 */
#include "entry/oom.h"

#include <errno.h>

#include "entry/sampled.h"
#include "os/lock.h"
#include "os/seal.h"
#include "tables/counters.h"
#include "tables/settings.h"

struct pair {
  hak_oom_handler handler;
  void *argument;
};

static HAK_RARE struct {
  struct hak_lock lock;
} g_oom;

static HAK_SEALED_OR_RARE struct {
  uint64_t used; /* index of the pair in use */
  struct pair pair[2];
} g_oom_pairs;

void hak_oom_set(hak_oom_handler handler, void *argument) {
  hak_lock_take(&g_oom.lock);
  uint64_t next = 1 - hak_load(&g_oom_pairs.used);
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) {
    g_oom_pairs.pair[next] = (struct pair){handler, argument};
    hak_store_release(&g_oom_pairs.used, next);
  }
  hak_reseal(seal);
  hak_lock_drop(&g_oom.lock);
}

static struct pair pair_in_use(void) {
  hak_lock_take(&g_oom.lock);
  struct pair pair = g_oom_pairs.pair[hak_load(&g_oom_pairs.used)];
  hak_lock_drop(&g_oom.lock);
  return pair;
}

/* The handler's own calls leave other frames where the stack of a sample begins. */
static bool ask_handler(size_t n) {
  struct pair pair = pair_in_use();
  const void *frame = hak_pace.frame;
  bool freed = pair.handler != NULL && pair.handler(n, pair.argument);
  hak_pace.frame = frame;
  return freed;
}

bool hak_oom_begin(size_t n) {
  int saved = errno;
  bool asks = hak_self.asks == 0;
  if (asks) hak_self.asks = 1;
  bool again = asks && ask_handler(n);
  if (again && hak_setting(count_calls) != 0) hak_count(HAK_COUNTER_alloc_failed, (uint64_t)-1);
  if (asks && !again) hak_self.asks = 0;
  errno = again ? saved : ENOMEM;
  return again;
}
