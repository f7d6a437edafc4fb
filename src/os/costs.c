/* costs.c: what the kernel's work costs on this machine.
 *
 * what      See costs.h. What interrupts the thread falls into one of the three times: who asks takes the least of some
 *           trials.
 */
#include "os/costs.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "base/bits.h"
#include "os/os.h"

enum { PAGES = 16, MOVE_CALLS = 2, NS_PER_SECOND = 1000000000 };

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static void touch(char *p, size_t page) {
  for (size_t i = 0; i < PAGES; i++) ((volatile char *)p)[i * page] = 1;
}

static bool try_on(char *from, char *to, uint64_t mapped_ns, struct hak_os_costs *out) {
  size_t page = hak_os_page_bytes(), bytes = PAGES * page;
  uint64_t begun = now_ns();
  touch(from, page);
  uint64_t touched = now_ns();
  bool moved = hak_os_move(from, bytes, to) == HAK_OS_MOVED;
  uint64_t calls_ns = MOVE_CALLS * mapped_ns / 2, move_ns = now_ns() - touched;
  out->call_ns = hak_max(mapped_ns / 2, 1);
  out->page_ns = hak_max((touched - begun) / PAGES, 1);
  out->move_ns = hak_max((move_ns - hak_min(move_ns, calls_ns)) / PAGES, 1);
  if (!moved) hak_os_unmap(from, bytes);
  hak_os_unmap(to, bytes);
  return moved;
}

bool hak_os_measure(struct hak_os_costs *out) {
  int saved = errno;
  size_t bytes = PAGES * hak_os_page_bytes();
  uint64_t begun = now_ns();
  char *from = hak_os_map(bytes), *to = hak_os_map(bytes);
  uint64_t mapped_ns = now_ns() - begun;
  bool ok = from != NULL && to != NULL && try_on(from, to, mapped_ns, out);
  if (from == NULL && to != NULL) hak_os_unmap(to, bytes);
  if (from != NULL && to == NULL) hak_os_unmap(from, bytes);
  errno = saved;
  return ok;
}
