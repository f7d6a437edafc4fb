/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy.h: what was learnt, kept for the next run.
 *
 * what      A text file of rows of learn/leader.h. Sites are told by their module's build-id and their offset in it, as
 *           addresses change from run to run.
 *
 *               hakmem-policy 1
 *               process ARM WAITS PAID x 8          arm: 0 .. 7; waits: 128 to each; paid: 1 << 16 is a fetch
 *               bin BIN ARM WAITS PAID x 8          four bins to a doubling, from 64 KiB on
 *               module BUILDID NAME                 "-": it has none
 *               site OFFSET DEPTH BIN ARM WAITS PAID x 8      of the module above; offset and depth as tables/site.h
 *               end LINES SUM                       lines before it, FNV-1a (64 bits) of their bytes
 *
 *           Rows that are in the file when it is written, and that this process does not have, stay: of programs that
 *           share a file each adds its own. Those of modules that were built anew go.
 * owner     g_policy.
 * locks     A lock on the file's folder while it is written, for processes; its own, above the loader's
 *           and those of the boxes.
 * failure   A file that is damaged, was written by something else, or could have been by another user (os/trusted.h) is
 *           read not at all; rows of modules that are not loaded, or were built anew, are left out. One line on stderr
 *           for what is damaged, what was built anew, and, in the mode frozen, a file of which no site is here: some
 *           that are not may be loaded later.
 * not here  What a row means: learn/leader.h. Where rows live: blocks/big_learn.c.
 */
#ifndef HAK_LEARN_POLICY_H
#define HAK_LEARN_POLICY_H

#include <stddef.h>

enum { HAK_POLICY_MODULES = 256, HAK_POLICY_LINES = 16384 };

/* What came of reading a file. */
struct hak_policy_read {
  int error;       /* 0; EINVAL: line `line` is wrong; EPERM: as `why` says; another errno */
  unsigned line;   /* from 1 on */
  const char *why; /* another user could have written it; NULL: that is not so, or not known */
  unsigned rows, sites;   /* that it has; of these, of sites */
  unsigned foreign, stale; /* of modules that are not loaded; of modules that were built anew */
};
struct hak_policy_read hak_policy_read(const char *path);

/* 0, or an errno: the file is as it was. ENODATA: nothing was learnt. */
int hak_policy_write(const char *path);

/* As hakmem.h says. */
int hak_policy_load_now(const char *path);
int hak_policy_save_now(const char *path);

/* There is a policy_file: reads it, if the mode asks for it; and sees to it that it is written, if the mode does then,
 * when main has returned or exit was called. At start, when libraries are mapped. */
void hak_policy_start(void);

/* A sandbox comes, which may end the process for opening a file: what was learnt is written now, and not at exit. */
void hak_policy_finish(void);

#endif
