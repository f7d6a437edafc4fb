/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_samples.h: sampled blocks, and the stacks that asked for them.
 *
 * what      A row for each live sampled block, found by its address, and a record for each stack, found by what it is.
 *           Both lie in memory of their own, which grows up to a bound.
 *
 *               address --hash--> row: bytes, weight, stack ----> stack: frames; how much it had so far
 *                                                         \--->   the same for equal stacks
 *
 *           A sample stands for `weight` blocks like it (base/poisson.h), so sums of weights are without bias.
 * owner     g_samples (in profile_samples.c). A stack stays.
 * locks     Its own; nothing is taken with it held but the kernel. A signal handler may come while a thread has it, and
 *           may want it: then it is told to wait until that thread has dropped it.
 * orders    A row's address is written last and taken away first: a cut leaves rows that can be entered anew.
 * failure   The sample is lost, and counted.
 * not here  Which blocks are sampled: entry/sampled.h. The profile: profile_write.h. The same in a file all the time:
 *           profile_samples_file.h.
 */
#ifndef HAK_RECORD_PROFILE_SAMPLES_H
#define HAK_RECORD_PROFILE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "os/lock.h"

enum { HAK_SAMPLES_MOST = 1 << 20, HAK_BACKTRACES_MOST = 1 << 16 };

struct hak_sums {
  double blocks, bytes, asked;
};

/* What live sums are made of, and the variance of the bytes among them, in bytes squared. */
struct hak_evidence {
  uint64_t samples, bytes;
  double variance;
};

struct hak_backtrace {
  struct hak_backtrace *next; /* of those whose hash is alike */
  uint64_t hash;
  struct hak_sums taken; /* ever */
  struct hak_sums live;  /* as it was when it was last asked for */
  struct hak_evidence evidence; /* of that */
  void *kept;              /* the same in the file; NULL: in none */
  uint32_t depth;
  uint32_t kept_number;    /* that it has there */
  uint64_t frame[]; /* return addresses, the innermost first */
};

struct hak_sample {
  uint64_t address; /* 0: none */
  uint64_t bytes, asked; /* that may be used, and that were asked for */
  double weight;
  struct hak_backtrace *stack;
  uint64_t taken_ns, freed_ns; /* the second: of one that was withdrawn */
  void *kept; /* the same in the file; NULL: in none */
};

struct hak_rows {
  size_t mask;
  struct hak_sample row[]; /* hash of address, linear probing */
};
struct hak_samples {
  struct hak_lock lock;
  struct hak_rows *rows; /* NULL: none yet */
  uint64_t live, stacks, frames;
  char *arena, *arena_end; /* for further stacks */
  struct hak_backtrace **head; /* by hash of the stack; NULL: none yet */
};
extern HAK_HIDDEN struct hak_samples g_samples;

/* A block was sampled, with this stack; it stays until it is withdrawn. */
void hak_samples_add(const struct hak_sample *sample, const uint64_t *frames, unsigned depth);

/* The block goes. False: it is not sampled. */
bool hak_samples_withdraw(const void *p, struct hak_sample *out);

/* And stays after all, perhaps elsewhere: it is not counted again. */
void hak_samples_restore(const struct hak_sample *sample);

/* Calls this for each stack, with the lock held, after what each has live was summed up. */
void hak_samples_visit(void (*visit)(const struct hak_backtrace *stack, void *to), void *to);

/* Frames of all stacks together, and sampled blocks that are live. With the lock held. */
uint64_t hak_samples_frames(void);
uint64_t hak_samples_live(void);

/* The stack that asked for the live sampled block at p; NULL: none. No lock is taken: what changes meanwhile may be
 * missed, or fault. Signal-safe. */
const struct hak_backtrace *hak_samples_peek(const void *p);

void hak_samples_lock(void);
void hak_samples_unlock(void);

/* For a signal handler: true when this thread has the lock; then `later` is called with the number as soon as it has
 * dropped it. */
bool hak_samples_is_busy(int signal, void (*later)(int));

#endif
