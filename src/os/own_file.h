/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* own_file.h: a file for other programs to read, at a known name.
 *
 * what      Always a new file: a file already at the name is never opened for writing, and no link is followed.
 *
 *               "<stem>.<random>.new"  made, locked --> the caller fills the file --> renamed to "<stem><ending>"
 *                                                                          or, if that name is taken, to
 *                                                            "<stem>.1<ending>", "<stem>.2<ending>", ...
 *
 *           The lock (flock) belongs to the descriptor that created the file, and lasts as long as a process has that
 *           descriptor open or the file mapped by it. So a locked file at the name belongs to a running process: a
 *           process of the same number in another container, or a child of the program that this process ran before.
 *           Such a file stays, and so does a file of another user. An unlocked file of this user was left by a process
 *           that ended, and is replaced.
 * owner     The caller's record.
 * failure   A negative errno; no file is left behind. On a file system without locks a file of this user is always
 *           replaced.
 * not here  Room for the contents: file.h. Text files written in one go: draft.h.
 */
#ifndef HAK_OS_OWN_FILE_H
#define HAK_OS_OWN_FILE_H

#include <stdbool.h>

#include "base/fmt.h"

struct hak_own_file {
  const char *stem, *ending;
  long descriptor;       /* open for reading and writing */
  long left;             /* the replaced file of a process that ended, open for reading; -1: none that is trusted */
  long folder;           /* descriptor of the file's folder, open until the end; AT_FDCWD: working folder */
  size_t base;           /* offset of the file name in `name` */
  struct hak_line name;  /* the present name, with the folder */
};

/* Creates the file under a temporary name, and locks the file. Returns 0 or a negative errno. */
long hak_own_file_make(struct hak_own_file *file, const char *stem, const char *ending);

/* Renames the file to the final name. After a failure there is no file, and no descriptor is open. */
long hak_own_file_place(struct hak_own_file *file);

/* Removes the file and closes the descriptors. */
void hak_own_file_drop(struct hak_own_file *file);

/* Closes the descriptors. A mapping keeps the lock. */
void hak_own_file_close(struct hak_own_file *file);

#endif
