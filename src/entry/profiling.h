/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profiling.h: when calls are sampled, and when a profile is written.
 *
 * what      The settings `profile`, `profile_file` and `profile_table`, hak_profile_start and hak_profile_stop, and
 *           two signals.
 *
 *              profile_file=/tmp/x, or profile=on     calls are sampled from the first block on
 *              profile_table=/tmp/y                   the same, and samples are in /tmp/y.<pid> at once
 *              SIGUSR2 | exit | SIGTERM               /tmp/x.<pid> is written anew; then SIGTERM ends the process
 *
 *           A fork's child inherits its parent's blocks and samples, and writes files with its own process id.
 * owner     g_profiling.
 * locks     The sample table's, inside its calls.
 * failure   One line on stderr that names the file; the old file stays as it was.
 * not here  Sampling: sampled.h. The files' formats: record/profile_write.h, record/profile_samples_file.h.
 */
#ifndef HAK_ENTRY_PROFILING_H
#define HAK_ENTRY_PROFILING_H

#include <stddef.h>

/* After the settings were read: starts sampling if there is a profile_file or a profile_table. */
void hak_profiling_settle(void);

/* At start, when libraries are mapped, and after a change of the setting `profile`. Not from inside malloc. */
void hak_profiling_begin(void);

/* Before a sandbox, which may end the process for opening a file: writes profile_file for the last time, and stops the
 * growth of profile_table. */
void hak_profiling_finish(void);

/* Returns 0 or an errno. path NULL: the setting's path; EINVAL if there is none. */
int hak_profiling_dump(const char *path);

#endif
