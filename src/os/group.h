/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* group.h: where the files of this process's control groups lie.
 *
 * what      Puts two lists of the kernel together: which group the process is in, and where groups are mounted.
 *
 *               /proc/thread-self/cgroup     4:memory:/docker/ab/c             "/docker/ab" is cut off, for it is
 *               /proc/thread-self/mountinfo  ... /docker/ab /sys/fs/cgroup/memory ... - cgroup ... rw,memory
 *               folder                       /sys/fs/cgroup/memory/c           limits apply from here up to the mount
 *
 * owner     The caller owns the groups.
 * locks     None; one thread at a time.
 * failure   A group that is not found is said to be so; lists that cannot be read are told to the caller.
 * not here  What the files say: limits.h.
 */
#ifndef HAK_OS_GROUP_H
#define HAK_OS_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#define HAK_GROUP_BYTES 1024

struct hak_group {
  bool found;
  bool v1;      /* of the first version of control groups, with other file names */
  size_t root;  /* the part of `folder` that is the mount: no parent is to be seen above it */
  char folder[HAK_GROUP_BYTES];
};

/* A process may be in one group for each: in those of version 1 where it has the controller, else in that of
 * version 2, which is `unified`. */
struct hak_groups {
  struct hak_group memory, cpu, unified;
};

/* Finds them in these two lists; `say` is told which of them is unreadable or malformed, and why. */
void hak_groups_find(struct hak_groups *out, const char *cgroup, const char *mountinfo,
                     void (*say)(const char *file, const char *why));

/* Finds the group that limits memory where it would be if groups are mounted in the folder `usual`, as they nearly
 * always are: `usual`/memory/PATH, or `usual`/PATH in version 2. False: it is not there, look closer. `text` is room
 * for HAK_GROUP_BYTES of the list. */
bool hak_group_find_usual(struct hak_group *out, const char *cgroup, const char *usual, char *text);

/* The length of the parent's part of `folder`, given that of a group; 0 when there is none to be seen. */
size_t hak_group_parent(const struct hak_group *group, size_t length);

#endif
