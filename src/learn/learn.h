/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* learn.h: the interface of learning.
 *
 * what      The functions that entry and api call. Lower layers call src/learn through g_learning (tables/learning.h),
 *           which is set in the modes above baseline.
 *
 *               entry, api --learn.h--> src/learn         the library learns
 *                                   \-> src/learn_absent  built without learning (HAKMEM_LEARN=OFF): a line on stderr
 *                                                         for each setting that asks for learning, ENOTSUP per call
 * hot path  No. In a process without settings for learning only hak_learn_heed is called.
 * not here  What is learnt, and how: docs/design/learning.md.
 */
#ifndef HAK_LEARN_LEARN_H
#define HAK_LEARN_LEARN_H

#include <stdbool.h>
#include <stddef.h>

#include "tables/settings.h"

/* True if a setting that is read at start asks for learning. */
static inline bool hak_learn_is_asked_for(void) {
  bool files = g_settings.decisions_file != NULL || g_settings.learn_log != NULL || g_settings.policy_file != NULL;
  return files || hak_setting(mode) > HAK_MODE_BASELINE;
}

/* Call at start, if hak_learn_is_asked_for(), after the settings are read and before there are threads. */
void hak_learn_start(void);

/* Call at start, if there is a policy_file, when libraries are mapped. Reads the file if the mode asks for that. Writes
 * the file when main has returned or exit was called, if the mode then asks for that. */
void hak_learn_start_policy(void);

/* Writes a policy_file now and not at exit. Call before a sandbox that may end the process for opening a file. */
void hak_learn_finish_policy(void);

/* Call after a change of settings. ENOTSUP: the mode needs learning, which this build lacks; the mode is baseline
 * now. */
int hak_learn_heed(void);

/* A slow call for n bytes (0: for none) begins. No lock held. Call while slow calls are counted (cache/account.h). */
void hak_learn_passed(size_t n);

/* See hakmem/experimental.h. */
int hak_learn_save_policy(const char *path);
int hak_learn_load_policy(const char *path);

#endif
