/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* leader.h: which keep time pays, learnt from how long free blocks waited.
 *
 * what      Follow the leader (Hannan, 1957; Kalai and Vempala, 2005) over a ladder of keep times, as Krishnan, Long
 *           and Vitter (1995) do for rent or buy. A wait says what every arm would have paid, whichever was taken:
 *
 *               arm        0     1/16   1/8   1/4   1/2   1     2     4      times the break-even time
 *               paid       the rent for the wait, where the arm is as long; else the rent for the arm, and fetching
 *
 *           A leader is a row of what each arm has paid, in fetches; a wait counts 1/256 less at each that follows.
 *           Three are told of each wait: the process's, that of the size bin, that of the pair of site and bin. Who
 *           chooses joins them: the process is worth 4 waits to a bin, which with it is worth 16 to a pair (empirical
 *           Bayes: Robbins, 1956), and break-even, than which nothing is better for who knows nothing, two fetches. The
 *           arm chosen last stays until another is better by 1/64 of a fetch for each wait that is remembered.
 *           A row remembers the last 32 waits, too, of those that came one at a time: at most one in a break-even
 *           time. Where these paid for some arm up to break-even half a fetch more or less each than the long memory
 *           says, the load is another one, and the row forgets the rest (tracking the best expert: Herbster and
 *           Warmuth, 1998).
 *           A burst of waits that end together is one event, and does not do that.
 *           A wait that outlasts the longest arm has told all it can, so it is noted then: a ghost.
 *           Times are of any unit, milliseconds or nanoseconds. Nothing is random, nothing is a fraction.
 * owner     The caller, who has one thread in here at a time. All zeros is who knows nothing.
 * failure   Who has no room in the table of pairs takes the place of the one of its four that was told least lately.
 * not here  The clock, the price, what is done to a block: the caller. What it comes to: lab/docs/learning.md.
 */
#ifndef HAK_LEARN_LEADER_H
#define HAK_LEARN_LEADER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arms.h"

enum { HAK_LEADER_BINS = 128, HAK_LEADER_SETS = 2048, HAK_LEADER_WAYS = 4, HAK_LEADER_SITES = 1 << 22 };

/* For all sites, or sizes, together. */
#define HAK_ANY UINT32_MAX

struct hak_leader {
  uint32_t paid[HAK_ARMS]; /* decayed; 1 << 16 is a fetch */
  uint32_t site : 22, bin : 7, arm : 3; /* arm: chosen last; its bits that differ from break-even's */
  uint16_t lately[HAK_ARMS]; /* the short memory; 1 << 8 is a fetch */
  uint16_t weight, lately_weight; /* waits that are remembered, times 128; 0: never told */
  uint16_t told, epoch; /* when: by hak_leaders.notes; by the clock, in break-even times */
};
static_assert(sizeof(struct hak_leader) == 60, "8,192 pairs are 480 KiB");

struct hak_leaders {
  struct hak_leader process, bin[HAK_LEADER_BINS], pair[HAK_LEADER_SETS][HAK_LEADER_WAYS];
  uint64_t notes;
};

/* Four bins to a doubling, from 64 KiB on: 0 .. HAK_LEADER_BINS - 1. */
uint32_t hak_leader_bin(uint64_t bytes);

/* Pages of 4 KiB of the largest block of a bin. */
static inline uint64_t hak_leader_pages(uint32_t bin) { return (uint64_t)(5 + bin % 4) << (bin / 4 + 1); }

/* A wait that lasts for longer has told all it can. */
static inline uint64_t hak_leader_longest(uint64_t break_even) {
  return hak_arm_time(HAK_ARMS - 1, break_even);
}

/* How long a block waited. One that waits still is noted when that is longer than the longest arm; earlier only if
 * nobody will know more, which counts as for ever: UINT64_MAX. */
struct hak_wait {
  uint64_t lasted, break_even, now; /* break_even: of its size */
};

/* `site` below HAK_LEADER_SITES, `bin` below HAK_LEADER_BINS; or HAK_ANY as below. */
void hak_leaders_note(struct hak_leaders *leaders, uint32_t site, uint32_t bin, struct hak_wait wait);

/* What a wait costs at an arm: the rent, and fetching where the arm is shorter; 1 << 16 is a fetch. */
uint32_t hak_wait_loss(struct hak_wait wait, unsigned arm);

/* An arm, and that of the choice before. What both paid in the waits remembered, in fetches of 1 << 16: of the row, and
 * of those that it inherits from. `waits`: of the row alone; 0: it was never told, and has no choice before. */
struct hak_choice {
  uint8_t arm, before;
  uint16_t waits;
  uint32_t paid, paid_before;
};

/* Two rows by themselves, where there are no sites: one for all of a kind, and one of those that inherit from it. */
void hak_leader_note(struct hak_leader *general, struct hak_leader *own, struct hak_wait wait);
struct hak_choice hak_leader_choose(const struct hak_leader *general, struct hak_leader *own);

/* Was it told of more waits than what it inherits is worth? */
bool hak_leader_knows(const struct hak_leader *own);

/* The arm for a block. HAK_ANY for the site: by its bin; for both: by the process. */
struct hak_choice hak_leaders_choose(struct hak_leaders *leaders, uint32_t site, uint32_t bin);

/* The arm that this would be; the choice before stays what it was. */
unsigned hak_leaders_arm(const struct hak_leaders *leaders, uint32_t site, uint32_t bin);

/* The row of a site and bin, of a bin, or of the process; NULL: it was never told. And puts one in its place, as it was
 * when it was read: arm, weight, and what each arm paid, each at most HAK_LEADER_PAID_MOST. */
enum { HAK_LEADER_WEIGHT_MOST = 128 << 8, HAK_LEADER_PAID_MOST = 5 << 24 };
const struct hak_leader *hak_leaders_row(const struct hak_leaders *leaders, uint32_t site, uint32_t bin);
void hak_leaders_restore(struct hak_leaders *leaders, uint32_t site, uint32_t bin, unsigned arm,
                         const struct hak_leader *as);
unsigned hak_leader_arm(const struct hak_leader *row);

#endif
