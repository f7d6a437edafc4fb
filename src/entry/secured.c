/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* secured.c: realloc, the usable size and long blocks in the secure flavour: see secured.h.
 *
 * what      Runs are zeroed and longer blocks asked for as zero, as slots are when they are handed out. realloc changes
 *           a slot where it is, lets the layers below move the pages of runs and big blocks, and else copies.
 */
#include "entry/secured.h"

#include <errno.h>

#include "entry/front.h"
#include "entry/slow_path.h"
#include "os/os.h"

/* The magazine's block, or the slow path's. */
static void *slot(size_t room, const void *site) {
  struct hak_context *x = hak_context;
  unsigned c = hak_context_class(x, room);
  void **top;
  return hak_cache_has(x, c, &top) ? hak_cache_pop(x, c, top) : hak_slow_malloc(room, site, top, c, x);
}

void *hak_secured_malloc(size_t n, const void *site) {
  size_t room = hak_secure_room(n);
  if (n <= HAK_SECURE_ZEROED) return hak_front_dress(slot(room, site), n, 16);
  void *p = room <= HAK_RUN_MAX ? slot(room, site) : hak_slow_calloc(1, room, site);
  if (p != NULL && room <= HAK_RUN_MAX) hak_libc_memset(p, 0, n);
  return hak_front_dress(p, n, 16);
}

size_t hak_secured_usable(const void *p, const void *site) {
  size_t n = hak_secure_bytes(p, site);
  return HAK_LIKELY(n != SIZE_MAX) ? n : hak_slow_usable(p, site); /* which ends the program */
}

void hak_secured_free(void *p, const void *site) {
  void *older = hak_secure_undress(p, site);
  if (older == NULL) hak_secured_note_free(p, site);
  else if (older == p || hak_calls_are_observed()) hak_slow_free(older, site);
  else hak_fast_free(older);
}

void hak_secured_note_free(void *p, const void *site) {
  if (p == NULL) hak_slow_free(NULL, site);
  else if (hak_calls_are_observed()) hak_slow_note(HAK_COUNTER_free_magazine);
}

/* Each was counted when it began to wait. A trace has them here. */
void hak_secured_empty(bool close) {
  for (void *p; (p = hak_quarantine_take(close)) != NULL;) {
    hak_secure_leaves(p);
    if (hak_calls_are_traced()) hak_slow_free(p, NULL);
    else hak_untraced_free(p, NULL, false);
  }
}

static void *copy(void *p, size_t have, size_t n, const void *site) {
  void *q = hak_secured_malloc(n, site);
  if (q == NULL) return NULL;
  hak_libc_memcpy(q, p, hak_min(have, n));
  hak_secured_free(p, site);
  return q;
}

/* What a block grew by may be another's past. Of much the kernel takes the pages, which may never have been touched. */
static void zero_growth(char *p, size_t n) {
  enum { MUCH = 256 << 10 };
  char *end = p + n, *first = (char *)hak_round_up((uintptr_t)p, hak_os_page_bytes());
  size_t whole = n >= MUCH ? (size_t)(end - first) & -hak_os_page_bytes() : 0;
  if (whole == 0 || hak_secure_is_in_range(p) || !hak_os_purge(first, whole)) {
    hak_libc_memset(p, 0, n);
    return;
  }
  hak_libc_memset(p, 0, (size_t)(first - p));
  hak_libc_memset(first + whole, 0, (size_t)(end - first) - whole);
}

/* Runs and big blocks: their pages may move. A block that stays keeps its alignment's kind. */
static void *move(void *p, size_t have, size_t n, const void *site) {
  size_t room = hak_secure_room_moved(p, n), align = hak_secure_is_aligned(p) ? 32 : 16;
  void *open = hak_secure_undress(p, site);
  if (HAK_UNLIKELY(open == NULL)) return copy(p, have, n, site); /* the kernel does not open its guard */
  void *q = hak_slow_realloc(open, room, site, NULL, 0, NULL);
  if (q == NULL) hak_secure_dress(p, have, align);
  if (q != NULL && n > have) zero_growth((char *)q + have, n - have);
  return hak_front_dress(q, n, 16);
}

void *hak_secured_realloc(void *p, size_t n, const void *site) {
  if (p == NULL) return hak_secured_malloc(n, site);
  if (HAK_LIKELY(hak_calls_are_unobserved()) && hak_secure_grow(p, n)) return p;
  if (n == 0) return hak_secured_free(p, site), NULL;
  size_t have = hak_secured_usable(p, site);
  if (hak_calls_are_unobserved() && hak_secure_resize(p, have, n)) return p;
  bool moves = hak_min(have, n) > HAK_SECURE_ZEROED;
  return moves ? move(p, have, n, site) : copy(p, have, n, site);
}
