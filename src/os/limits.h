/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* limits.h: limits on the process's use of the machine.
 *
 * what      Reads the limits that the control group and its parents set, and the pressure on memory.
 *
 *               /sys/fs/cgroup/a    memory.max 1G   ---\
 *               /sys/fs/cgroup/a/b  memory.max 512M ----+--> 512M, and the memory that group b uses
 *                                   memory.high max ---/
 *
 *           Both versions of control groups are read, also side by side.
 * owner     The paths found, the files complained of, the tightest group.
 * locks     None. hak_limits_start is for a single thread; hak_limits_read is thread-safe and signal-safe. Each takes 1
 *           KiB of the stack; a larger static room is claimed, and a thread without the claim returns false.
 * orders    Relaxed.
 * hot path  No. Without a limit two to four opens, once; with a limit some opens per level of groups, a few times a
 *           second.
 * failure   A file that cannot be read or parsed counts as no limit, with a complaint (complain.h) once per kind of
 *           file. A missing file counts as no limit, without complaint. errno is not changed.
 * not here  The reaction near a limit: retain/memory_limit.c.
 */
#ifndef HAK_OS_LIMITS_H
#define HAK_OS_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#define HAK_LIMITS_NONE UINT64_MAX

struct hak_limits {
  uint64_t memory_bytes;  /* smallest limit of the group and its parents, memory.high included; or HAK_LIMITS_NONE */
  uint64_t used_bytes;    /* used by the group with this limit, less idle file cache; 0: no limit */
  uint32_t pressure;      /* share of the last 10 s in which a task waited for memory [1/100 percent] */
  uint32_t cpus;          /* processors that the process may use at once, by affinity and quota; at least 1 */
};

/* Finds the group. A `folder` other than "" takes the group's place: files of version 2, no parents. False: no limit of
 * memory, and no file need ever be read again. Called before the program enters a sandbox, which may forbid to open
 * files. */
bool hak_limits_start(const char *folder);
/* The same with the usual mount of groups, and with the lists to search if the group is not there. */
bool hak_limits_start_from(const char *usual, const char *cgroup, const char *mountinfo);

/* Reads the present values. False: another thread, or the code that this call interrupts, is reading. */
bool hak_limits_read(struct hak_limits *out);

#endif
