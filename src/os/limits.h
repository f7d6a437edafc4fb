/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* limits.h: what the process may use of the machine.
 *
 * what      Reads what the control group and its parents allow, and how much they press.
 *
 *               /sys/fs/cgroup/a    memory.max 1G   ---\
 *               /sys/fs/cgroup/a/b  memory.max 512M ----+--> 512M, and how much of it group b uses
 *                                   memory.high max ---/
 *
 *           Both versions of control groups are known, also beside each other.
 * owner     The paths that were found, which files were complained of, the tightest group.
 * locks     None. hak_limits_start is for one thread, and takes 3 KiB of the first thread's stack or 1 KiB of another
 *           one; hak_limits_read is thread-safe and signal-safe, and takes 1 KiB: its room is claimed, and whoever does
 *           not get it does without.
 * orders    Relaxed.
 * hot path  No. At load two to four opens where there is no limit; else some per level of groups, a few times a second.
 * failure   A file that cannot be read or understood is complained of (complain.h), once for each kind of file, and is
 *           taken as no limit. One that is not there is no limit, without a word. errno is left as it was.
 * not here  What is done near a limit: front.
 */
#ifndef HAK_OS_LIMITS_H
#define HAK_OS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define HAK_LIMITS_NONE UINT64_MAX

struct hak_limits {
  uint64_t memory_bytes;  /* the smallest limit of the group and its parents, memory.high too; or HAK_LIMITS_NONE */
  uint64_t used_bytes;    /* of the group that has this limit, less idle file cache; 0 when there is none */
  uint32_t pressure;      /* share of the last ten seconds in which something waited for memory, in 1/100 percent */
  uint32_t cpus;          /* that the process may use at once, by affinity and quota; at least 1 */
};

/* Finds the group, or takes `folder` in its place when that is not "": the files of version 2, no parents. False: it
 * has no limit of memory, and nothing of it need ever be read again. As the library is loaded, before a sandbox
 * is entered, which may forbid to open files. */
bool hak_limits_start(const char *folder);
/* The same, told where groups are usually mounted, and in which lists to find the group if it is not there. */
bool hak_limits_start_from(const char *usual, const char *cgroup, const char *mountinfo);

/* All of it, as it is now. False: another thread, or what this one interrupts, is reading it. */
bool hak_limits_read(struct hak_limits *out);

#endif
