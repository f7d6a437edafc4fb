/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learn.h: the door of all that is learnt.
 *
 * what      What entry and api call. Lower layers call src/learn through the seat of tables/learning.h, which it takes
 *           in the modes above baseline.
 *
 *               entry, api --learn.h--> src/learn         the library learns
 *                                   \-> src/learn_absent  it was built without (HAKMEM_LEARN=OFF): one line for each
 *                                                         setting that asks for it, ENOTSUP for each call
 * owner     Nothing here.
 * hot path  No. A process that asks for nothing calls none of these but hak_learn_heed.
 * not here  What is learnt, and how: docs/design/learning.md.
 */
#ifndef HAK_LEARN_LEARN_H
#define HAK_LEARN_LEARN_H

#include <stdbool.h>
#include <stddef.h>

#include "tables/settings.h"

/* Does a setting that is read at start want something of this layer? */
static inline bool hak_learn_is_asked_for(void) {
  bool files = g_settings.decisions_file != NULL || g_settings.learn_log != NULL || g_settings.policy_file != NULL;
  return files || hak_setting(mode) > HAK_MODE_BASELINE;
}

/* It does, and the settings are read. At start, before there are threads. */
void hak_learn_start(void);

/* There is a policy_file: it is read, if the mode asks for it; and written, if the mode does then, when main has
 * returned or exit was called. At start, when libraries are mapped. */
void hak_learn_start_policy(void);

/* A sandbox comes, which may end the process for opening a file: a policy_file is written now, and not at exit. */
void hak_learn_finish_policy(void);

/* A setting may have changed. 0, or ENOTSUP: the mode is one that this build has not, and is baseline again. */
int hak_learn_heed(void);

/* A slow path for n bytes (0: for none) begins, with no lock held, and slow paths are counted (cache/account.h). */
void hak_learn_passed(size_t n);

/* As hakmem/experimental.h says. */
int hak_learn_save_policy(const char *path);
int hak_learn_load_policy(const char *path);

#endif
