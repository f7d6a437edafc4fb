/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_ages.h: sizes and lifetimes of sampled blocks.
 *
 * what      Sums over the whole process, in rows:
 *
 *               sizes   up to 16, 24, 32, 48, 64, 96 ... bytes, the last any size    all sampled blocks | live blocks
 *               ages    below 1 us, 10 us, ... 10,000 s, the last any age            freed blocks       | live blocks
 *
 *           Each block counts by the weight of its sample, so that these sums equal the sums of the stacks. Sums of
 *           live blocks are computed anew for each profile. As text, which a profile holds as comments:
 *
 *               hakmem sizes: 64 10 640 4 256; 96 2 192 0 0; ...    bound, blocks, bytes, live blocks, live bytes
 *
 *           The bound of the last row (any) is written as 0. Rows before the first and behind the last row with a block
 *           are left out.
 * owner     g_ages (in profile_ages.c).
 * locks     Lock: g_samples.lock held. After a fork while another thread held the lock, the child may have a block
 *           counted in part.
 * not here  The sampled blocks: profile_samples.h.
 */
#ifndef HAK_RECORD_PROFILE_AGES_H
#define HAK_RECORD_PROFILE_AGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/profile_samples.h"

enum hak_ages_kind { HAK_SIZES, HAK_AGES, HAK_AGES_KINDS };

/* Counts a sampled block by its size. */
void hak_ages_add(const struct hak_sample *sample);

/* withdraw: counts a free at now_ns by the block's age, and stores now_ns in the sample. restore: takes the count back
 * if the block is not freed after all; needs the time that withdraw stored. */
void hak_ages_withdraw(struct hak_sample *sample, uint64_t now_ns);
void hak_ages_restore(const struct hak_sample *sample);

/* Sums of live blocks: set all to zero, then add each live block. */
void hak_ages_forget_live(void);
void hak_ages_add_live(const struct hak_sample *sample, uint64_t now_ns);

/* Writes the rows from *next on, as many as fit into `bytes` (128 bytes hold a row), and moves *next on. False: no more
 * rows. */
bool hak_ages_text(enum hak_ages_kind kind, unsigned *next, char *text, size_t bytes);

#endif
