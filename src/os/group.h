/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* group.h: folders of the control groups of this process.
 *
 * what      Joins two lists of the kernel: the groups of the process, and the mounts of groups.
 *
 *               /proc/thread-self/cgroup     4:memory:/docker/ab/c             "/docker/ab", the mount's root, is cut
 *               /proc/thread-self/mountinfo  ... /docker/ab /sys/fs/cgroup/memory ... - cgroup ... rw,memory
 *               folder                       /sys/fs/cgroup/memory/c           limits apply from here up to the mount
 *
 * owner     The caller owns the groups.
 * locks     None; one thread at a time.
 * failure   A group that is not found has found = false. A list that is unreadable or malformed is reported by `say`.
 * not here  The contents of the files: limits.h.
 */
#ifndef HAK_OS_GROUP_H
#define HAK_OS_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#define HAK_GROUP_BYTES 1024

struct hak_group {
  bool found;
  bool v1;      /* version 1 of control groups, with different file names */
  size_t root;  /* length of the mount's part of `folder`: parents above are not visible */
  char folder[HAK_GROUP_BYTES];
};

/* Groups by controller: the group of version 1 if the process is in one, else `unified`, the group of version 2. */
struct hak_groups {
  struct hak_group memory, cpu, unified;
};

/* Finds the groups from the two lists. Calls `say` for each list that is unreadable or malformed. */
void hak_groups_find(struct hak_groups *out, const char *cgroup, const char *mountinfo,
                     void (*say)(const char *file, const char *why));

/* Finds the group that limits memory if groups are mounted in the folder `usual`, as nearly everywhere:
 * `usual`/memory/PATH in version 1, `usual`/PATH in version 2. False: no such folder; use hak_groups_find. `text` has
 * room for HAK_GROUP_BYTES. */
bool hak_group_find_usual(struct hak_group *out, const char *cgroup, const char *usual, char *text);

/* From the length of a group's part of `folder`, returns the length of the parent's part; 0: no visible parent. */
size_t hak_group_parent(const struct hak_group *group, size_t length);

#endif
