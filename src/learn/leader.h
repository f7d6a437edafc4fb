/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* leader.h: the keep time that pays, learnt from how long free blocks waited.
 *
 * what      Follow the leader (Hannan, 1957; Kalai and Vempala, 2005) over a ladder of keep times, as Krishnan, Long
 *           and Vitter (1995) do for rent or buy. A wait tells what every arm would have paid, whichever was taken:
 *
 *               arm        0     1/16   1/8   1/4   1/2   1     2     4      times the break-even time
 *               paid       the rent for the wait, if the arm is as long; else the rent for the arm, and a fetch
 *
 *           A leader is a row: the sum paid by each arm, in fetches; a wait counts 1/256 less at each later wait. Each
 *           wait is noted in three rows: of the process, of the size bin, of the pair of site and bin. A choice joins
 *           the rows. The process counts as at most 4 waits in the choice of a bin, process and bin as at most 16 in
 *           the choice of a pair (empirical Bayes: Robbins, 1956). Prior: two fetches in favour of break-even. The arm
 *           chosen last stays until a different arm is better by 1/64 of a fetch for each wait remembered.
 *           A row has a short memory as well: of the last 32 waits, at most a wait per break-even time. If the short
 *           memory of some arm up to break-even differs from the long memory by more than half a fetch per wait, the
 *           load has changed: the row forgets all but the short memory (tracking the best expert: Herbster and
 *           Warmuth, 1998). A burst of waits that end together counts as a single wait there, so a burst alone does
 *           not make a row forget.
 *           A wait is noted when longer than the longest arm, as a longer wait tells nothing more: a ghost.
 *           Times have any unit, milliseconds or nanoseconds. No random numbers, no floating point.
 * owner     The caller, which serializes all calls. All zeros: nothing learnt.
 * failure   No room in the table of pairs: a new pair replaces the pair noted least recently in a set of four.
 * not here  The clock, the price, the effect on a block: the caller. Results: lab/docs/learning.md.
 */
#ifndef HAK_LEARN_LEADER_H
#define HAK_LEARN_LEADER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arms.h"

enum { HAK_LEADER_BINS = 128, HAK_LEADER_SETS = 2048, HAK_LEADER_WAYS = 4, HAK_LEADER_SITES = 1 << 22 };

/* All sites, or all sizes, together. */
#define HAK_ANY UINT32_MAX

struct hak_leader {
  uint32_t paid[HAK_ARMS]; /* decayed; 1 << 16 is a fetch */
  uint32_t site : 22, bin : 7, arm : 3; /* arm: chosen last, XOR HAK_ARM_BREAK_EVEN */
  uint16_t lately[HAK_ARMS]; /* the short memory; 1 << 8 is a fetch */
  uint16_t weight, lately_weight; /* waits remembered, times 128; 0: no note yet */
  /* told: hak_leaders.notes / 256 at the last note. epoch: [break-even times] clock at the last short-memory note. */
  uint16_t told, epoch;
};
static_assert(sizeof(struct hak_leader) == 60, "8,192 pairs are 480 KiB");

struct hak_leaders {
  struct hak_leader process, bin[HAK_LEADER_BINS], pair[HAK_LEADER_SETS][HAK_LEADER_WAYS];
  uint64_t notes;
};

/* The bin of a size: four bins per doubling, from 64 KiB on; 0 .. HAK_LEADER_BINS - 1. */
uint32_t hak_leader_bin(uint64_t bytes);

/* Pages of 4 KiB in the largest block of a bin. */
static inline uint64_t hak_leader_pages(uint32_t bin) { return (uint64_t)(5 + bin % 4) << (bin / 4 + 1); }

/* A wait longer than this tells nothing more. */
static inline uint64_t hak_leader_longest(uint64_t break_even) {
  return hak_arm_time(HAK_ARMS - 1, break_even);
}

/* How long a block waited. A wait still open is noted when longer than the longest arm, or early if its end will never
 * be known; then `lasted` is UINT64_MAX, for ever. */
struct hak_wait {
  uint64_t lasted, break_even, now; /* break_even: of the block's size */
};

/* Notes a wait. `site` is below HAK_LEADER_SITES, `bin` below HAK_LEADER_BINS; or HAK_ANY, see above. */
void hak_leaders_note(struct hak_leaders *leaders, uint32_t site, uint32_t bin, struct hak_wait wait);

/* The cost of a wait at an arm: the rent, and a fetch if the arm is shorter; 1 << 16 is a fetch. */
uint32_t hak_wait_loss(struct hak_wait wait, unsigned arm);

/* The arm chosen, and the arm chosen before. paid, paid_before: paid by these arms in the waits remembered, of the row
 * and of the rows inherited from, in fetches of 1 << 16. waits: of the row alone; 0: no note yet, and no arm before. */
struct hak_choice {
  uint8_t arm, before;
  uint16_t waits;
  uint32_t paid, paid_before;
};

/* Two rows without sites: `general` for all of a kind, and `own`, which inherits from `general`. */
void hak_leader_note(struct hak_leader *general, struct hak_leader *own, struct hak_wait wait);
struct hak_choice hak_leader_choose(const struct hak_leader *general, struct hak_leader *own);

/* True if the row noted more waits than the row inherited from counts for. */
bool hak_leader_knows(const struct hak_leader *own);

/* The arm for a block. HAK_ANY as site: by the bin; as site and bin: by the process. */
struct hak_choice hak_leaders_choose(struct hak_leaders *leaders, uint32_t site, uint32_t bin);

/* The arm that hak_leaders_choose would return; the arm chosen before stays. */
unsigned hak_leaders_arm(const struct hak_leaders *leaders, uint32_t site, uint32_t bin);

/* hak_leaders_row: the row of a site and bin, of a bin, or of the process; NULL: no note yet. hak_leaders_restore: puts
 * a row in place, with this arm, and with the weight and the paid sums of `as`, clamped to the maxima. */
enum { HAK_LEADER_WEIGHT_MOST = 128 << 8, HAK_LEADER_PAID_MOST = 5 << 24 };
const struct hak_leader *hak_leaders_row(const struct hak_leaders *leaders, uint32_t site, uint32_t bin);
void hak_leaders_restore(struct hak_leaders *leaders, uint32_t site, uint32_t bin, unsigned arm,
                         const struct hak_leader *as);
unsigned hak_leader_arm(const struct hak_leader *row);

/* hak_leader_restore: the same for a row without a site. hak_leader_join: of two rows, which may have begun
 * as the same row, the one that remembers more waits; the arm stays. */
void hak_leader_restore(struct hak_leader *row, unsigned arm, const struct hak_leader *as);
void hak_leader_join(struct hak_leader *row, const struct hak_leader *other);

#endif
