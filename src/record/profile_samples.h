/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_samples.h: sampled blocks, and the stacks that asked for them.
 *
 * what      A row for each live sampled block, found by address, and a record for each stack, found by its frames. Both
 *           lie in mappings of their own, which grow up to a bound.
 *
 *               address --hash--> row: bytes, weight, stack ----> stack: frames, sums of all its blocks so far
 *                                                         \--->   one record for equal stacks
 *
 *           A sample stands for `weight` blocks of its kind (base/poisson.h), so sums of weights are unbiased.
 *
 *           The first samples are dense: 256 times the set rate (one in HAK_DENSE_LEAST bytes at most), and half of
 *           that after each HAK_DENSE_SAMPLES, down to the set rate. A program that takes little has as many samples as
 *           one that takes 256 times as much, and each has at most 512 for that. A sample's weight is that of the rate
 *           at which its distance was drawn, which what came before has settled: sums stay unbiased.
 *
 *           At the peak: the moment of a sample at which most bytes were in use by the counters. These know nothing of
 *           the samples, and at that moment the new block, which is there for certain, stands for itself alone: so the
 *           sums of the peak are unbiased, too (a peak of the samples' own sum would be too high by chance). A new peak
 *           is a new number and no copy: a stack copies its live sums before their first change after the peak.
 *
 *               stack of number 7: live 30, peak 30    the peak is 7: `peak` holds
 *               stack of number 5: live 12, peak  9    unchanged since the peak: `live` holds
 * owner     g_samples (in profile_samples.c). A stack is never removed.
 * locks     g_samples.lock; with the lock held only the kernel is called. A signal handler that needs the lock while
 *           its own thread holds the lock registers a call for the moment of the unlock (hak_samples_is_busy).
 * orders    A row's address is written last and cleared first. So after a fork while another thread held the lock, the
 *           child can enter all rows into a new table.
 * failure   The sample is lost, and counted.
 * not here  Which blocks are sampled: entry/sampled.h. The profile: profile_write.h. The copy in a file:
 *           profile_samples_file.h.
 */
#ifndef HAK_RECORD_PROFILE_SAMPLES_H
#define HAK_RECORD_PROFILE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/lock.h"

enum { HAK_SAMPLES_MOST = 1 << 20, HAK_BACKTRACES_MOST = 1 << 17, HAK_BACKTRACE_HEADS = 1 << 14 };
enum { HAK_DENSE_STEPS = 8, HAK_DENSE_SAMPLES = 64 }; /* until the set rate; of each step */
enum { HAK_DENSE_LEAST = 2048 }; /* [bytes] no dense sample's mean is less: threads look at the settings so often */

struct hak_sums {
  double blocks, bytes, asked;
};

/* The live samples behind a sum, and the variance of the sum's bytes [bytes squared]. */
struct hak_evidence {
  uint64_t samples, bytes;
  double variance;
};

/* Blocks that their thread freed before its next request. */
struct hak_brief {
  double blocks, bytes;
};

/* Live sums at the peak `number`. */
struct hak_at_peak {
  double blocks, bytes;
  struct hak_evidence evidence;
  uint64_t number;
};

struct hak_backtrace {
  struct hak_backtrace *next; /* next stack with the same hash slot */
  uint64_t hash;
  struct hak_sums taken; /* all sampled blocks so far */
  struct hak_brief brief; /* of these */
  struct hak_sums live;  /* live blocks */
  struct hak_evidence evidence; /* of `live` */
  struct hak_at_peak peak;      /* of the last peak after hak_samples_visit */
  void *kept;              /* the stack's record in the file; NULL: no record */
  uint32_t depth;
  uint32_t kept_number;    /* number of the record in the file */
  uint64_t frame[]; /* return addresses, innermost first */
};

struct hak_sample {
  uint64_t address; /* 0: free row */
  uint64_t bytes, asked; /* usable; requested */
  double weight;
  struct hak_backtrace *stack;
  uint64_t taken_ns, freed_ns; /* freed_ns: after hak_samples_withdraw */
  void *kept; /* the row's copy in the file; NULL: no copy */
};

struct hak_rows {
  size_t mask;
  struct hak_sample row[]; /* by hash of the address, linear probing */
};
/* The last peak: of the samples since begun_ns. */
struct hak_samples_peak {
  uint64_t number; /* 0: no sample yet */
  uint64_t in_use; /* bytes, by the counters */
  uint64_t ns, begun_ns; /* by the monotonic clock */
};
struct hak_samples {
  struct hak_lock lock;
  struct hak_rows *rows; /* NULL: no table yet */
  uint64_t live, stacks, frames;
  uint64_t taken; /* samples so far, those of blocks that are free again too */
  char *arena, *arena_end; /* room for further stacks */
  struct hak_backtrace **head; /* lists by hash of the stack; NULL: no table yet */
  struct hak_samples_peak peak;
  bool whole; /* calls were sampled from the first block on: no live block is older, or from a pause */
};
extern HAK_HIDDEN struct hak_samples g_samples;

/* [bytes] Mean distance of the next sample, if `set` is what profile_bytes says: no sample so far was drawn with a
 * larger one, unless the setting was larger. Signal-safe. */
uint64_t hak_samples_mean(uint64_t set);

/* At start, before any block, if calls are sampled. */
static inline void hak_samples_begin_whole(void) { g_samples.whole = true; }

/* Calls are sampled no more: from now on blocks are missing in the table. */
void hak_samples_miss(void);

/* Adds a sampled block with this stack, until hak_samples_withdraw. in_use: bytes by the counters, with the block, if
 * these may be a new peak; else 0. */
void hak_samples_add(const struct hak_sample *sample, const uint64_t *frames, unsigned depth, uint64_t in_use);

/* Counts a sampled block that cannot be followed until its free, and so is in no profile. */
void hak_samples_lose(void);

/* Lock held, before a profile is written: what is in use now [bytes], by the counters, is the peak if more than at the
 * last one. Memory between two samples is seen by this alone. */
void hak_samples_end_peak(uint64_t in_use);

/* Removes the row of a block that is freed now; *out: the row. brief: its thread made no request since. False: p is not
 * sampled. */
bool hak_samples_withdraw(const void *p, bool brief, struct hak_sample *out);

/* Enters a withdrawn row again, perhaps at another address, for a block that was not freed after all. Counts no second
 * sample. */
void hak_samples_restore(const struct hak_sample *sample);

/* Sums up the live blocks of each stack and settles its peak, then calls `visit` for each stack. Lock: g_samples.lock
 * held. */
void hak_samples_visit(void (*visit)(const struct hak_backtrace *stack, void *to), void *to);

/* Frames of all stacks together; live sampled blocks. Lock: g_samples.lock held. */
uint64_t hak_samples_frames(void);
uint64_t hak_samples_live(void);

/* The stack that asked for the live sampled block at p; NULL: no such block. Takes no lock: concurrent changes may be
 * missed, or cause a fault. Signal-safe. */
const struct hak_backtrace *hak_samples_peek(const void *p);

void hak_samples_lock(void);
void hak_samples_unlock(void);

/* For a signal handler. True if the calling thread holds the lock; then the thread calls later(signal) right after its
 * unlock. */
bool hak_samples_is_busy(int signal, void (*later)(int));

#endif
