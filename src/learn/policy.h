/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy.h: learnt rows, kept in a file for the next run.
 *
 * what      A text file of rows of learn/leader.h. A site is the build-id of a module and an offset in the module, as
 *           addresses change from run to run.
 *
 *               hakmem-policy 3                     2: without rows of learners; 1: without `past`, too
 *               past RUNS MS KIB PAID KEPT          learn/past.h
 *               process ARM WAITS PAID x 8          arm: 0 .. 7; waits: 128 per wait; paid: 1 << 16 is a fetch
 *               bin BIN ARM WAITS PAID x 8          four bins to a doubling, from 64 KiB on
 *               kind runs|slabs ARM WAITS PAID x 8         learners (rows.h): keep times, learn/kinds.h
 *               level runs|slabs MIB ARM WAITS PAID x 8    of the quantum that begins with this MiB
 *               class BYTES WEIGHT                         learn/extra_class.h
 *               capacity BYTES LOG LOG EIGHTHS WINDOWS SUM x 8     learn/caches.h
 *               arm, rating, pulls                         learn/tune_rows.h
 *               module BUILDID NAME                 "-": no build-id
 *               site OFFSET DEPTH BIN ARM WAITS PAID x 8      of the module above; offset and depth as tables/site.h
 *               end LINES SUM                       lines above, FNV-1a (64 bits) of the lines above
 *
 *           A setting that ends in "/" names a folder: each program has a file of its own there, NAME-BUILDID.policy,
 *           so that no run, and no shell around it, wipes what another program learnt.
 *           When a file is rewritten, rows of the file that this process does not have stay, so each program that
 *           shares a file adds rows. Rows of rebuilt modules go. Of a row that both have this process's is written, as
 *           it goes on from the file's. But where another process wrote the file since this process read or wrote it
 *           (the sums differ), or where this process never read it, the two rows are joined:
 *
 *               WAITS and PAID, arms        the row of more waits: both may go on from one row, whose waits count once
 *               rating, pulls, TRIED        what came since is added, exactly; of MATCHES only without a retirement
 *               CODE                        of more windows TRIED
 *               capacity                    the row of more windows
 *               class                       both, four in all; the greater weight
 *
 *           A process goes on from one file: policy_file, or else the first path read or written; and from a file
 *           that it reads later. In a file at a further path rows of this process replace rows of the same name, and no
 *           row is joined. Two spellings of a path are two paths.
 *           A level at which no quantum begins in this process (kinds.h) is not taken, and stays.
 * owner     g_policy.
 * locks     Between processes: a lock on the file's folder, while the file is written. Between threads: g_policy.lock,
 *           taken before the loader's lock and before the locks of the blocks.
 * failure   A file of a later format is not read, which a line on stderr says, and not written over.
 *           A file that is damaged, has a different format or an unknown row, or could have been written by a different
 *           user (os/trusted.h) is not read at all. Rows of modules that are not loaded or were rebuilt are left out. A
 *           line on stderr for a file not read, for rebuilt modules, and, in the mode frozen, for a file without a site
 *           of a loaded module; apart from that a module not loaded is no error, as modules may be loaded later.
 * not here  The meaning of a row: learn/leader.h. The rows in memory: learn/big_keep.h. Rows of learners, and when they
 *           count: rows.h.
 */
#ifndef HAK_LEARN_POLICY_H
#define HAK_LEARN_POLICY_H

#include <stddef.h>

#include "learn/past.h"

enum { HAK_POLICY_FORMAT = 3, HAK_POLICY_MODULES = 256, HAK_POLICY_LINES = 16384 };

/* The result of reading a file. */
struct hak_policy_read {
  int error;       /* 0; EINVAL: line `line` is wrong; EPERM, EPROTONOSUPPORT: see `why`; or a further errno */
  unsigned line;   /* from 1 */
  const char *why; /* how a different user, or a newer HAKMEM, wrote the file; NULL: not so, or unknown */
  unsigned rows, sites;   /* in the file: all, and of sites */
  unsigned foreign, stale; /* of modules not loaded; of rebuilt modules */
  struct hak_past past;    /* of a sound file; runs 0: the file has no such row */
};
struct hak_policy_read hak_policy_read(const char *path);

/* 0, or an errno, and the file is as before. ENODATA: nothing was learnt. EPROTONOSUPPORT: a later format. */
int hak_policy_write(const char *path);

/* See hakmem/experimental.h. */
int hak_policy_load_now(const char *path);
int hak_policy_save_now(const char *path);

/* Call at start, if there is a policy_file, when libraries are mapped. Reads the file if the mode asks for that. Writes
 * the file when main has returned or exit was called, if the mode then asks for that. */
void hak_policy_start(void);

/* Writes the policy_file now and not at exit. Call before a sandbox that may end the process for opening a file. */
void hak_policy_finish(void);

#endif
