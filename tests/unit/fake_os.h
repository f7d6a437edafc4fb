/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fake_os.h: a kernel layer that fails on demand, records its calls, and has a clock set by the test.
 *
 * what      Takes the place of os/os.c. Memory is real memory of the real kernel; each call can be made to fail alone
 *           or from a given call on, and mapped bytes are counted.
 * owner     fake_os; each test starts with fake_os_reset.
 * locks     None: one thread at a time.
 * failure   As ordered.
 * not here  The real layer: os_test.cpp.
 */
#ifndef HAK_TEST_FAKE_OS_H
#define HAK_TEST_FAKE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fake_os_call { FAKE_MAP, FAKE_MAP_AT, FAKE_UNMAP, FAKE_PURGE, FAKE_REMAP, FAKE_MOVE, FAKE_ADVISE, FAKE_OS_CALLS };

enum { FAKE_PROCESSORS = 4, FAKE_TORN_BYTE = 0x5a };

enum fake_advice { FAKE_HUGE, FAKE_NO_HUGE, FAKE_NO_DUMP, FAKE_DUMP, FAKE_SPLIT };

struct fake_os {
  uint64_t calls[FAKE_OS_CALLS];
  uint64_t fail_only[FAKE_OS_CALLS]; /* the n-th call fails (counted from the order on), 0: none */
  uint64_t fail_from[FAKE_OS_CALLS]; /* call n and all later calls fail, 0: none */
  uint64_t now_ms, randoms;
  uint64_t look_ns, looked_ns;       /* a look at the clock in ns takes so long; in all */
  uint64_t mapped_bytes;             /* given out and not returned */
  uint64_t refused_moves;            /* by the kernel, of moves and remaps */
  void *guarded;                     /* a page that the program guards */
  bool tears;                        /* a refused move leaves foreign memory at its target: */
  char *torn;                        /* the address of the last such memory */
  size_t torn_bytes;
  bool remap_moves;                  /* every remap moves */
  bool stray;                        /* map_at answers like a kernel that takes the address as a hint */
  void *last_unmapped, *last_purged;
  size_t last_unmapped_bytes, last_purged_bytes;
  uint64_t call_ns, page_ns, move_ns; /* the measured costs [ns]; page_ns 0: no memory for the measurement */
  uint64_t measurements;
  bool populates;                    /* hak_os_populate fetches pages; otherwise it fails */
  size_t huge_bytes;                 /* the size of the kernel's huge pages */
  size_t page_bytes;                 /* the size of the kernel's pages; 0: the machine's. No reset changes it */
  uint64_t unadvised;                /* calls of hak_os_unadvise_huge */
  /* Called with all accepted advice, unless NULL; the kernel gets no advice. */
  void (*on_advice)(void *p, size_t bytes, enum fake_advice advice);
  uint64_t purge_batches;            /* calls of hak_os_purge_many */
  /* Called before every purge that is not refused, unless NULL. */
  void (*on_purge)(void *p, size_t bytes);
};
extern struct fake_os fake_os;

void fake_os_reset(void);
/* From the next call on all calls of this kind fail. */
void fake_os_refuse(enum fake_os_call call);
/* Only the n-th call from here fails. */
void fake_os_refuse_once(enum fake_os_call call, uint64_t n);
void fake_os_permit(enum fake_os_call call);

#endif
