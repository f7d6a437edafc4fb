/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* waits.c: open waits, from the free of a block to the next request in the block's size bin.
 *
 * what      Each wait is in two doubly linked lists: of all waits, by age, and of the bin; see waits.h.
 */
#include "learn/waits.h"

#include "base/bytes.h"

bool hak_waits_full(const struct hak_waits *waits) { return waits->free == 0 && waits->used == HAK_WAITS; }

static uint16_t take(struct hak_waits *waits) {
  uint16_t n = waits->free;
  if (n == 0) return ++waits->used;
  waits->free = waits->wait[n].older;
  return n;
}

static void link_by_age(struct hak_waits *waits, uint16_t n) {
  struct hak_open_wait *wait = waits->wait;
  wait[n].older = wait[0].older;
  wait[n].younger = 0;
  wait[wait[0].older].younger = n;
  wait[0].older = n;
}

static void link_in_bin(struct hak_waits *waits, uint16_t n) {
  struct hak_open_wait *wait = waits->wait;
  uint16_t *top = &waits->top[wait[n].freed.bin];
  wait[n].below = *top;
  wait[n].above = 0;
  if (*top != 0) wait[*top].above = n;
  *top = n;
}

void hak_waits_open(struct hak_waits *waits, struct hak_freed freed) {
  uint16_t n = take(waits);
  waits->wait[n].freed = freed;
  link_by_age(waits, n);
  link_in_bin(waits, n);
}

static void unlink_in_bin(struct hak_waits *waits, uint16_t n) {
  struct hak_open_wait *wait = waits->wait, *it = &wait[n];
  if (it->above != 0) wait[it->above].below = it->below;
  else waits->top[it->freed.bin] = it->below;
  if (it->below != 0) wait[it->below].above = it->above;
}

static void close(struct hak_waits *waits, uint16_t n, struct hak_freed *out) {
  struct hak_open_wait *wait = waits->wait, *it = &wait[n];
  *out = it->freed;
  wait[it->older].younger = it->younger;
  wait[it->younger].older = it->older;
  unlink_in_bin(waits, n);
  it->older = waits->free;
  waits->free = n;
}

bool hak_waits_close(struct hak_waits *waits, uint32_t bin, struct hak_freed *out) {
  uint16_t n = waits->top[bin];
  if (n != 0) close(waits, n, out);
  return n != 0;
}

bool hak_waits_close_oldest(struct hak_waits *waits, uint64_t before, struct hak_freed *out) {
  uint16_t n = waits->wait[0].younger;
  bool any = n != 0 && waits->wait[n].freed.since < before;
  if (any) close(waits, n, out);
  return any;
}
