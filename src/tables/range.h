/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* range.h: the address range, its class map and its unit table.
 *
 * what      All blocks up to the big threshold lie in one range of addresses that grows in place. Two tables grow
 *           with it, at fixed distances below it:
 *
 *               addresses   [ class map .... ][ unit table .......... ][ range: unit 0 | 1 | 2 | ... ........ ]
 *                             1 B per unit      64 B per unit            ^ base          64 KiB each
 *
 *           Nothing is reserved: the gaps are addresses that no one is expected to use, at a random place. If
 *           someone does sit there, the range skips over it; skipped units stay holes (kind HAK_UNIT_HOLE). So it does
 *           where someone sits behind the unit table: then skipped units have no entry, and are passed by.
 *           Unit 0 is always a hole, so 0 means "no unit".
 * owner     g_range; a unit's entry belongs to the box that holds the unit (its lock), or to span.
 * locks     Growth happens under span's lock.
 * orders    `units` is published with release after the tables behind it; readers without a lock may see an old,
 *           smaller number. Map bytes are released, after the row of a class: whoever has a pointer into a
 *           unit got it after the byte, others acquire it.
 * hot path  hak_range_class.
 * failure   Growth returns false: no memory, or no addresses.
 * not here  Which units are free: runs/runs.h.
 */
#ifndef HAK_TABLES_RANGE_H
#define HAK_TABLES_RANGE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "tables/extents.h"

#define HAK_NO_UNIT 0u

enum hak_unit_kind {
  HAK_UNIT_HOLE,  /* not ours, or never mapped */
  HAK_UNIT_CLEAN, /* first or last unit of a free run without pages */
  HAK_UNIT_DIRTY, /* first or last unit of a free run that may hold pages */
  HAK_UNIT_UNMAPPED,  /* first or last unit of a free run that was unmapped: its addresses wait to be mapped again */
  HAK_UNIT_SLAB,  /* first unit of a slab */
  HAK_UNIT_LARGE, /* first unit of a large block */
  HAK_UNIT_TAIL   /* any further unit of a slab or large block: see `head` */
};

/* One line of cache per unit. A run's facts stand at its first unit. */
struct hak_unit {
  uint8_t kind;
  uint8_t size_class;
  uint8_t owned;   /* slab: some thread's current slab, on no list */
  uint8_t bin;     /* slab: the list it is on, or HAK_NO_BIN */
  uint32_t head;   /* first unit of the run */
  uint32_t length; /* units of the run */
  uint32_t next;   /* list links of free runs and of partial slabs */
  uint32_t previous;
  uint16_t free;   /* slab: free slots in the bitmap */
  uint16_t filled; /* slab: the tick in which blocks were last taken from it */
  union {
    uint64_t summary; /* slab: which words of the bitmap are not zero */
    struct {
      uint32_t older, newer; /* dirty run: its neighbours by age */
    };
  };
  uint64_t *words;    /* slab: bit set = slot free */
  union {
    uint64_t word;    /* slab: the bitmap itself when there are at most 64 slots */
    uint64_t origin;  /* large block: its site, and when it was taken; 0: nobody was told */
  };
  uint32_t filler;    /* slab: mark of the thread that last filled from it */
  uint16_t purged_at; /* slab: the tick in which pages of it last went back */
  uint16_t swept;     /* slab: `free` when it was last swept; 0: blocks were taken since, or pages stayed */
  uint64_t empty;     /* slab: bit set = page known to hold nothing, since it went back or was never used */
};
static_assert(sizeof(struct hak_unit) == 64, "one line of cache per unit");

struct hak_range {
  uintptr_t base; /* 2^63 until there is a range: who frees NULL meanwhile may see that beside the new length */
  size_t units; /* published length */
  uint8_t *map; /* class of each unit of a slab, and of a short run's first; 0: none */
  struct hak_unit *unit;
  size_t map_mapped, unit_mapped; /* bytes of the tables that are mapped */
  size_t mapped;                  /* bytes of the range that are mapped */
  size_t tail;                    /* bytes behind the published units that are mapped and no block's */
  size_t least_step;              /* units by which the range grows at least */
  bool refused;                   /* the kernel had no room for the last growth, not even for what was asked for */
  size_t entered;                 /* units below have an entry each: all that are published, or those before a gap */
};
extern HAK_HIDDEN struct hak_range g_range;

/* The unit p lies in; >= g_range.units when p is outside the range, as all pointers are until there is one. */
HAK_INLINE size_t hak_range_unit_of(const void *p) {
  return ((uintptr_t)p - HAK_PEEK(&g_range.base)) >> HAK_UNIT_SHIFT;
}

/* The class of the slab, or of a short run's first unit, p lies in; 0 for all else. Any value may be asked about. */
HAK_INLINE unsigned hak_range_class(const void *p) {
  size_t u = hak_range_unit_of(p);
  if (HAK_UNLIKELY(u >= hak_load(&g_range.units))) return 0;
  return hak_load(&g_range.map[u]);
}

HAK_INLINE void *hak_range_address(uint32_t u) { return (void *)(g_range.base + ((uintptr_t)u << HAK_UNIT_SHIFT)); }
HAK_INLINE struct hak_unit *hak_range_entry(uint32_t u) { return &g_range.unit[u]; }
HAK_INLINE uint32_t hak_range_index(const struct hak_unit *e) { return (uint32_t)(e - g_range.unit); }

/* Holes whose entries are others' memory, or none: of the unit table, in units. */
enum { HAK_RANGE_GAPS = 8 };
struct hak_range_gaps {
  size_t n;
  uint32_t first[HAK_RANGE_GAPS], end[HAK_RANGE_GAPS];
};
extern HAK_HIDDEN struct hak_range_gaps g_range_gaps;
size_t hak_range_gap_end(size_t u);

/* The unit, or the first behind the gap it lies in: for who walks through the entries. */
HAK_INLINE size_t hak_range_pass(size_t u) {
  return HAK_LIKELY(hak_load_acquire(&g_range_gaps.n) == 0) ? u : hak_range_gap_end(u);
}

/* Appends at least `units` fresh, zero units. Stores the first and how many. Span's lock is held. */
bool hak_range_grow(size_t units, uint32_t *first, size_t *count);

/* The first unit of the live run that p lies in, or HAK_NO_UNIT. */
uint32_t hak_range_run_of(const void *p);

/* Writes the class of a slab's units into the map; 0 when it is one no more. */
void hak_range_set_class(uint32_t first, size_t units, unsigned c);

/* Fetches the pages of the two tables that are mapped. */
void hak_range_populate_tables(void);

/* Bytes mapped for the two tables, and the tail. */
size_t hak_range_table_bytes(void);

/* Where these lie, and the range: without what it skipped, but with what of it was unmapped since. */
void hak_range_extents(struct hak_extents *list);

#endif
