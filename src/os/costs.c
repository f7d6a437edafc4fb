/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* costs.c: the time that the kernel's work takes on this machine.
 *
 * what      See costs.h. An interruption of the thread lengthens any of the three times: retain/cost.c takes the least
 *           of three trials.
 */
#include "os/costs.h"

#include <stddef.h>

#include "base/bits.h"
#include "os/os.h"

enum {
  PAGES = 16,
  MOVE_CALLS = 2,
  DEARER = 10 /* first touch / second touch of a page, at least */
};

static void touch(char *p, size_t page) {
  for (size_t i = 0; i < PAGES; i++) ((volatile char *)p)[i * page] = 1;
}

static uint64_t touch_ns(char *p, size_t page) {
  uint64_t begun = hak_os_now_ns();
  touch(p, page);
  return hak_os_now_ns() - begun;
}

/* Moves the pages. move_ns = (time of mremap - calls_ns) / PAGES; 0 if the calls were interrupted when measured. */
static enum hak_os_moved try_move(char *from, char *to, size_t bytes, uint64_t calls_ns, struct hak_os_costs *out) {
  uint64_t begun = hak_os_now_ns();
  enum hak_os_moved moved = hak_os_move(from, bytes, to);
  uint64_t move_ns = hak_os_now_ns() - begun;
  if (moved == HAK_OS_MOVED) out->move_ns = (move_ns - hak_min(move_ns, calls_ns)) / PAGES;
  return moved;
}

/* Unmaps the pages. Returns the time of munmap - call_ns, at least 0 [ns]. */
static uint64_t drop_ns(char *p, size_t bytes, uint64_t call_ns) {
  uint64_t begun = hak_os_now_ns();
  hak_os_unmap_probe(p, bytes);
  uint64_t took_ns = hak_os_now_ns() - begun;
  return took_ns - hak_min(took_ns, call_ns);
}

/* A first touch that costs no more than a second touch means that mapping fetched the pages, as under mlockall: the
 * times then cannot be told apart, and *out stays 0. */
static void try_on(char *from, char *to, uint64_t mapped_ns, struct hak_os_costs *out) {
  size_t page = hak_os_page_bytes(), bytes = PAGES * page;
  uint64_t first_ns = touch_ns(from, page), again_ns = touch_ns(from, page);
  bool fetched = first_ns / DEARER > again_ns;
  uint64_t call_ns = hak_max(mapped_ns / 2, 1);
  if (fetched) *out = (struct hak_os_costs){call_ns, 0, 0};
  enum hak_os_moved moved = HAK_OS_STAYED;
  if (fetched) moved = try_move(from, to, bytes, MOVE_CALLS * mapped_ns / 2, out);
  first_ns += drop_ns(moved == HAK_OS_MOVED ? to : from, bytes, call_ns);
  if (moved == HAK_OS_STAYED) hak_os_unmap_probe(to, bytes);
  if (fetched) out->page_ns = hak_max(first_ns / PAGES, 1);
}

bool hak_os_measure(struct hak_os_costs *out) {
  size_t bytes = PAGES * hak_os_page_bytes();
  *out = (struct hak_os_costs){0, 0, 0};
  uint64_t begun = hak_os_now_ns();
  char *from = hak_os_map(bytes), *to = hak_os_map(bytes);
  uint64_t mapped_ns = hak_os_now_ns() - begun;
  if (from != NULL && hak_os_middle_bytes() != 0) hak_os_advise_huge(from, bytes, false);
  if (from != NULL && to != NULL) try_on(from, to, mapped_ns, out);
  if (from == NULL && to != NULL) hak_os_unmap_probe(to, bytes);
  if (from != NULL && to == NULL) hak_os_unmap_probe(from, bytes);
  return out->page_ns != 0;
}
