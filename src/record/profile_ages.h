/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_ages.h: how big sampled blocks are, and how long they live.
 *
 * what      Sums over the whole process, in rows:
 *
 *               sizes   16, 24, 32, 48, 64, 96 ... bytes and fewer, the last any    blocks ever had  | live ones
 *               ages    less than 1 us, 10 us, ... 10,000 s, the last any           blocks freed     | live ones
 *
 *           Each block counts by the weight of its sample, so that sums are those of the stacks. The live ones are
 *           summed up anew when they are asked for. As text, which a profile has as comments:
 *
 *               hakmem sizes: 64 10 640 4 256; 96 2 192 0 0; ...    up to, blocks, bytes, live blocks, their bytes
 *
 *           The bound of a row without one is written as 0. Rows before the first and behind the last that has any are
 *           left out.
 * owner     g_ages (in profile_ages.c).
 * locks     The table's. A vanished holder: a block may be counted in part.
 * not here  Which blocks there are: profile_samples.h.
 */
#ifndef HAK_RECORD_PROFILE_AGES_H
#define HAK_RECORD_PROFILE_AGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/profile_samples.h"

enum hak_ages_kind { HAK_SIZES, HAK_AGES, HAK_AGES_KINDS };

/* The block was sampled. */
void hak_ages_add(const struct hak_sample *sample);

/* It goes now; and it stays after all. In between its row must keep what the first wrote there. */
void hak_ages_withdraw(struct hak_sample *sample, uint64_t now_ns);
void hak_ages_restore(const struct hak_sample *sample);

/* The live ones: none, then one after the other. */
void hak_ages_forget_live(void);
void hak_ages_add_live(const struct hak_sample *sample, uint64_t now_ns);

/* The rows from *next on, as many as there is room for (128 bytes have one), and *next moves on. False: no more. */
bool hak_ages_text(enum hak_ages_kind kind, unsigned *next, char *text, size_t bytes);

#endif
