/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* own_file.h: a file for others to read, at a name that they know.
 *
 * what      Always a new one: what lies at the name is never opened for writing, and no link is followed.
 *
 *               "<stem>.<random>.new"  made, locked --> the caller fills it --> renamed to "<stem><ending>"
 *                                                                    or, where that is not to be had, to
 *                                                            "<stem>.1<ending>", "<stem>.2<ending>", ...
 *
 *           The lock (flock) belongs to the descriptor that the file was made with, and stays as long as some process
 *           has that open, or mapped by it. So what lies at the name and is locked is a process's that runs: one of the
 *           same number in another container, or a child of what this process ran before. It stays, and so does what is
 *           another user's. What is this user's own, and not locked, was left by a process that ended, and is replaced.
 * owner     The caller's record.
 * failure   A negative errno; nothing is left behind. Where the file system has no locks, what is the user's own is
 *           replaced.
 * not here  Room for what is in it: file.h. Text files that are written at once: draft.h.
 */
#ifndef HAK_OS_OWN_FILE_H
#define HAK_OS_OWN_FILE_H

#include <stdbool.h>

#include "base/fmt.h"

struct hak_own_file {
  const char *stem, *ending;
  long descriptor;       /* open for reading and writing */
  long left;             /* by a process that ended: what was replaced, open for reading; -1: none that is trusted */
  long folder;           /* that it lies in, open until the end; or where the process is */
  size_t base;           /* where the name in it begins */
  struct hak_line name;  /* that it has now, with its folder */
};

/* Makes the file, without its name. 0, or a negative errno. */
long hak_own_file_make(struct hak_own_file *file, const char *stem, const char *ending);

/* Gives it its name. After a failure there is no file, and no descriptor is open. */
long hak_own_file_place(struct hak_own_file *file);

/* There is to be none after all. */
void hak_own_file_drop(struct hak_own_file *file);

/* Closes the descriptors. The lock stays with what is mapped. */
void hak_own_file_close(struct hak_own_file *file);

#endif
