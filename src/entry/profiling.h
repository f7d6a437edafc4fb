/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profiling.h: when calls are sampled, and when a profile is written.
 *
 * what      The settings `profile`, `profile_file`, `profile_table`, hak_profile_start and its like, and two signals.
 *
 *               profile_file=/tmp/x, or profile=on     sampled from the first block on
 *               profile_table=/tmp/y                   the same, and samples stand in /tmp/y.<pid> at once
 *               SIGUSR2 | exit | SIGTERM               /tmp/x.<pid> is written anew; then SIGTERM ends the process
 *
 *           A fork's child has its parent's blocks, its samples too, and writes a file with its own number.
 * owner     g_profiling.
 * locks     The table's, inside its calls.
 * failure   One line on stderr that names the file; it is as it was.
 * not here  Sampling: sampled.h. The files' formats: record/profile_write.h, record/profile_samples_file.h.
 */
#ifndef HAK_ENTRY_PROFILING_H
#define HAK_ENTRY_PROFILING_H

#include <stddef.h>

/* The settings were read: with a profile_file calls are sampled. */
void hak_profiling_settle(void);

/* At start, when libraries are mapped; and when the setting `profile` may have changed. Not inside malloc. */
void hak_profiling_begin(void);

/* A sandbox comes, which may end the process for opening a file: the profile_file is written now, and no more; the
 * profile_table grows no more. */
void hak_profiling_finish(void);

/* 0, or an errno. path: NULL is that of the setting. */
int hak_profiling_dump(const char *path);

#endif
