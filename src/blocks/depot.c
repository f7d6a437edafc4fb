/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* depot.c: full magazines on their way between threads.
 *
 * what      Push and pop of packs; see depot.h for the drawing.
 * owner     g_depot, g_depot_used.
 * not here  Limits.
 */
#include "blocks/depot.h"

#include <assert.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "tables/meta.h"

enum { PACK_BYTES = 1 << HAK_DEPOT_PACK_SHIFT, FEW = 32 };
static_assert(sizeof(struct hak_depot_pack) == PACK_BYTES, "a pack is one metadata piece");

HAK_RARE struct hak_depot g_depot;

bool g_depot_used;

static struct hak_depot_pack *pack_of(uint64_t head) {
  return (struct hak_depot_pack *)(uintptr_t)(head >> HAK_DEPOT_TAG_BITS << HAK_DEPOT_PACK_SHIFT);
}

static uint64_t head_for(const struct hak_depot_pack *pack, uint64_t old) {
  uint64_t tag = (old + 1) & (((uint64_t)1 << HAK_DEPOT_TAG_BITS) - 1);
  return (uint64_t)(uintptr_t)pack >> HAK_DEPOT_PACK_SHIFT << HAK_DEPOT_TAG_BITS | tag;
}

/* Blocks of a pack and of all lower packs. If another thread popped the pack meanwhile: any number. */
static uint32_t blocks_from(const struct hak_depot_pack *pack) {
  return pack != NULL ? hak_load(&pack->count) + hak_load(&pack->below) : 0;
}

static void push_pack(struct hak_depot_stack *stack, struct hak_depot_pack *pack) {
  uint64_t old = hak_load_acquire(&stack->head);
  do {
    hak_store(&pack->next, (uint64_t)(uintptr_t)pack_of(old));
    if (pack->count != 0) hak_store(&pack->below, blocks_from(pack_of(old))); /* of empty packs no count is asked */
  } while (!hak_cas_acq_rel(&stack->head, &old, head_for(pack, old)));
}

static struct hak_depot_pack *pop_pack(struct hak_depot_stack *stack) {
  uint64_t old = hak_load_acquire(&stack->head);
  for (;;) {
    struct hak_depot_pack *pack = pack_of(old);
    if (pack == NULL) return NULL;
    const struct hak_depot_pack *next = (const struct hak_depot_pack *)(uintptr_t)hak_load(&pack->next);
    if (hak_cas_acq_rel(&stack->head, &old, head_for(next, old))) return pack;
  }
}

static struct hak_depot_pack *empty_pack(void) {
  struct hak_depot_pack *pack = pop_pack(&g_depot.empty);
  return pack != NULL ? pack : hak_meta_get(PACK_BYTES);
}

/* Takes from the top of a pack that the calling thread owns. */
static size_t unpack(struct hak_depot_pack *pack, void **out, size_t want) {
  size_t n = pack->count < want ? pack->count : want;
  hak_store(&pack->count, pack->count - (uint32_t)n);
  __builtin_memcpy(out, pack->blocks + pack->count, n * sizeof *out);
  return n;
}

size_t hak_depot_take(unsigned c, void **out, size_t want) {
  struct hak_depot_stack *full = &g_depot.full[c];
  size_t n = 0;
  while (n < want) {
    struct hak_depot_pack *pack = pop_pack(full);
    if (pack == NULL) break;
    n += unpack(pack, out + n, want - n);
    push_pack(pack->count != 0 ? full : &g_depot.empty, pack);
  }
  return n;
}

/* A pack with room for n blocks: the top pack if n < FEW and the blocks fit, else an empty pack. NULL: no memory. */
static struct hak_depot_pack *pack_for(struct hak_depot_stack *full, size_t n) {
  struct hak_depot_pack *top = n < FEW ? pop_pack(full) : NULL;
  if (top != NULL && top->count + n <= HAK_DEPOT_PACK) return top;
  if (top != NULL) push_pack(full, top);
  struct hak_depot_pack *pack = empty_pack();
  if (pack != NULL) hak_store(&pack->count, 0);
  return pack;
}

size_t hak_depot_put(unsigned c, void *const *blocks, size_t n) {
  struct hak_depot_stack *full = &g_depot.full[c];
  size_t done = 0;
  if (HAK_UNLIKELY(!hak_load(&g_depot_used))) hak_store(&g_depot_used, true);
  while (done < n) {
    size_t more = n - done < HAK_DEPOT_PACK ? n - done : HAK_DEPOT_PACK;
    struct hak_depot_pack *pack = pack_for(full, more);
    if (pack == NULL) break;
    __builtin_memcpy(pack->blocks + pack->count, blocks + done, more * sizeof *blocks);
    hak_store(&pack->count, pack->count + (uint32_t)more);
    done += more;
    push_pack(full, pack);
  }
  return done;
}

size_t hak_depot_blocks(unsigned c) { return blocks_from(pack_of(hak_load_acquire(&g_depot.full[c].head))); }

/* Packs are never unmapped. A pack that moved leads into a different stack: the walk is bounded. */
bool hak_depot_holds(unsigned c, const void *p) {
  enum { PACKS_MOST = 1 << 16 };
  const struct hak_depot_pack *pack = pack_of(hak_load_acquire(&g_depot.full[c].head));
  for (unsigned n = 0; pack != NULL && n < PACKS_MOST; n++) {
    size_t count = pack->count < HAK_DEPOT_PACK ? pack->count : HAK_DEPOT_PACK;
    for (size_t i = 0; i < count; i++) {
      if (pack->blocks[i] == p) return true;
    }
    pack = (const struct hak_depot_pack *)(uintptr_t)hak_load(&pack->next);
  }
  return false;
}
