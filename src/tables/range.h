/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* range.h: the address range, its class map and its unit table.
 *
 * what      All blocks up to the big threshold lie in a single range of addresses that grows in place. Two tables
 *           grow with the range, at fixed distances below:
 *
 *               addresses   [ class map .... ][ unit table .......... ][ range: unit 0 | 1 | 2 | ... ........ ]
 *                             1 B per unit      64 B per unit            ^ base          64 KiB each
 *
 *           No address is reserved: the place is random, and the space between the three is expected to stay unused.
 *           In the secure flavour the tables lie at random distances, each behind a guard (apart.h).
 *           If a foreign mapping lies in the way of the range, the range skips the mapping; skipped units stay holes
 *           (kind HAK_UNIT_HOLE). If a foreign mapping lies in the way of the unit table, the range skips the units
 *           whose entries would lie there: a gap, whose units have no entry.
 *           Unit 0 is always a hole, so 0 means "no unit".
 * owner     g_range. A unit's entry belongs to the block layer that holds the unit (its lock), or to src/runs.
 * locks     Growth: g_runs.lock held.
 * orders    `units` is published with release after the tables; readers without a lock may see an old, smaller number.
 *           Map bytes are stored with release after the row of a class. A thread with a pointer into a unit got the
 *           pointer after the byte was stored; all further readers acquire the byte.
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
  HAK_UNIT_HOLE,  /* foreign memory, or never mapped */
  HAK_UNIT_CLEAN, /* first or last unit of a free run without pages */
  HAK_UNIT_DIRTY, /* first or last unit of a free run that may hold pages */
  HAK_UNIT_UNMAPPED,  /* first or last unit of a free run that was unmapped: addresses only */
  HAK_UNIT_SLAB,  /* first unit of a slab */
  HAK_UNIT_LARGE, /* first unit of a large block */
  HAK_UNIT_TAIL,  /* any further unit of a slab or large block: see `head` */
  HAK_UNIT_PAGED  /* cut in pages: see struct hak_paged */
};

/* One cache line per unit. A run's facts stand at its first unit. */
struct hak_unit {
  uint8_t kind;
  uint8_t size_class;
  uint8_t owned;   /* slab: current slab of a thread, on no list */
  uint8_t bin;     /* slab: number of its list, or HAK_NO_BIN */
  uint32_t head;   /* first unit of the run */
  uint32_t length; /* units of the run */
  uint32_t next;   /* list links of free runs and of partial slabs */
  uint32_t previous;
  uint16_t free;   /* slab: free slots in the bitmap */
  uint16_t filled; /* slab: tick in which blocks were last taken from the slab */
  union {
    uint64_t summary; /* slab: which words of the bitmap are not zero */
    struct {
      uint32_t older, newer; /* dirty run: neighbours by age */
    };
  };
  uint64_t *words;    /* slab: bit set = slot free */
  union {
    uint64_t word;    /* slab: the bitmap itself when there are at most 64 slots */
    uint64_t origin;  /* large block: its site and the time of its allocation; 0: unknown */
  };
  uint32_t filler;    /* slab: mark of the thread that last filled from the slab */
  uint16_t purged_at; /* slab: tick in which pages were last released */
  uint16_t swept;     /* slab: `free` at the last sweep for empty pages; 0: blocks were taken since, or pages stayed */
  uint64_t empty;     /* slab: bit set = page known to be empty, as released or never used */
};
static_assert(sizeof(struct hak_unit) == 64, "one line of cache per unit");

enum { HAK_PAGE_SHIFT = 12, HAK_UNIT_PAGES = 16, HAK_HALF_PAGES = HAK_UNIT_PAGES / 2 };
#define HAK_PAGE_BYTES ((size_t)1 << HAK_PAGE_SHIFT)

/* The entry of a unit that is cut in pages (runs/pages.h). Blocks have more than 8 pages, so in a half of a unit begins
 * at most one block and at most one stretch of free pages. */
struct hak_paged {
  uint8_t kind, unused[3];
  uint32_t head, length; /* this unit, 1 */
  struct {
    uint32_t next, previous;
  } link[2];          /* of each half: links of the stretch that begins there; of the half in which a stretch ends and
                       * none begins: `next` is the half in which it began */
  uint32_t stretch[2]; /* of each half: the stretch that begins there; 0: none */
  uint64_t origin[2]; /* of each half: site and time of the block that begins there; 0: unknown */
  uint16_t block[2];  /* of each half: the block that begins there; 0: none */
  union {
    uint32_t pages;   /* both of these */
    struct {
      uint16_t free;  /* bit set: free page */
      uint16_t dirty; /* bit set: free page that may hold data */
    };
  };
};
static_assert(sizeof(struct hak_paged) == sizeof(struct hak_unit), "a view of the entry");
static_assert(offsetof(struct hak_paged, head) == offsetof(struct hak_unit, head), "see hak_range_run_of");
static_assert(offsetof(struct hak_paged, length) == offsetof(struct hak_unit, length), "see hak_range_run_of");

struct hak_range {
  uintptr_t base; /* 2^63 until there is a range: beside any value of `units`, free(NULL) finds no unit */
  size_t units; /* published length */
  uint8_t *map; /* class of each unit of a slab, and of all blocks that begin in a paged unit; 0: none, or several */
  uintptr_t context_at; /* [bytes] hak_context's distance from the thread pointer; stored before `units` */
  struct hak_unit *unit;
  size_t map_mapped, unit_mapped; /* mapped bytes of the tables */
  size_t mapped;                  /* mapped bytes of the range */
  size_t tail;                    /* mapped bytes behind the published units, part of no block */
  size_t least_step;              /* least growth [units] */
  bool refused;                   /* the kernel refused the last growth, even of the requested units alone */
  size_t entered;                 /* all units below have an entry: all published units, or those up to the first gap */
};
extern HAK_HIDDEN struct hak_range g_range;

/* The unit of p. >= g_range.units if p lies outside the range, or if there is no range yet. */
HAK_INLINE size_t hak_range_unit_of(const void *p) {
  return ((uintptr_t)p - HAK_PEEK(&g_range.base)) >> HAK_UNIT_SHIFT;
}

/* The class of the slab at p, or of all blocks that begin in the paged unit at p; 0 otherwise. p may be any value. */
HAK_INLINE unsigned hak_range_class(const void *p) {
  size_t u = hak_range_unit_of(p);
  if (HAK_UNLIKELY(u >= hak_load(&g_range.units))) return 0;
  return hak_load(&g_range.map[u]);
}

HAK_INLINE void *hak_range_address(uint32_t u) { return (void *)(g_range.base + ((uintptr_t)u << HAK_UNIT_SHIFT)); }
HAK_INLINE struct hak_unit *hak_range_entry(uint32_t u) { return &g_range.unit[u]; }
HAK_INLINE struct hak_paged *hak_range_paged(uint32_t u) { return (struct hak_paged *)&g_range.unit[u]; }
HAK_INLINE uint32_t hak_range_index(const struct hak_unit *e) { return (uint32_t)(e - g_range.unit); }

/* Units without an entry: foreign memory lies where the unit table would hold their entries. */
enum { HAK_RANGE_GAPS = 8 };
struct hak_range_gaps {
  size_t n;
  uint32_t first[HAK_RANGE_GAPS], end[HAK_RANGE_GAPS];
};
extern HAK_HIDDEN struct hak_range_gaps g_range_gaps;
size_t hak_range_gap_end(size_t u);

/* u, or the first unit behind the gap around u: for walks over the entries. */
HAK_INLINE size_t hak_range_pass(size_t u) {
  return HAK_LIKELY(hak_load_acquire(&g_range_gaps.n) == 0) ? u : hak_range_gap_end(u);
}

/* True if u is a unit of the range with an entry. */
HAK_INLINE bool hak_range_has_entry(size_t u) {
  if (HAK_LIKELY(u < hak_load_acquire(&g_range.entered))) return true;
  return u < hak_load_acquire(&g_range.units) && hak_range_pass(u) == u;
}

/* Appends at least `units` fresh, zero units. Stores the first unit and the count. Lock: g_runs.lock held. */
bool hak_range_grow(size_t units, uint32_t *first, size_t *count);

/* The first unit of the live run at p, or HAK_NO_UNIT. */
uint32_t hak_range_run_of(const void *p);

/* Writes the class of a slab's units into the map; 0 when the slab ends. */
void hak_range_set_class(uint32_t first, size_t units, unsigned c);

/* Populates the mapped pages of both tables. */
void hak_range_populate_tables(void);

/* Mapped bytes of both tables and of the tail. */
size_t hak_range_table_bytes(void);

/* Appends the tables, the tail and the range: without skipped units, but with units that were unmapped since. */
void hak_range_extents(struct hak_extents *list);

#endif
