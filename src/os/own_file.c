/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* own_file.c: a file for other programs to read, at a known name.
 *
 * what      See own_file.h.
 */
#define _GNU_SOURCE
#include "os/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "os/call.h"
#include "os/file.h"
#include "os/os.h"
#include "os/text.h"

enum { NAMES = 64, TRIES = 4, TAKEN = 1 };
#define NOT_REPLACED 1u /* RENAME_NOREPLACE */

/* Locks the file, without waiting. False: another process holds the lock. */
static bool lock_file(long descriptor) { return HAK_KERNEL(SYS_flock, descriptor, LOCK_EX | LOCK_NB) != -EWOULDBLOCK; }

/* ---- creation ---- */

static void name_new_file(struct hak_own_file *file) {
  hak_line_start(&file->name);
  hak_line_text(&file->name, file->stem);
  hak_line_text(&file->name, ".");
  hak_line_hex(&file->name, hak_fold(hak_os_random(), hak_os_now_ns() | 1)); /* tells nothing of the random number */
  hak_line_text(&file->name, ".new");
}

long hak_own_file_make(struct hak_own_file *file, const char *stem, const char *ending) {
  *file = (struct hak_own_file){.stem = stem, .ending = ending, .descriptor = -EEXIST, .left = -1};
  name_new_file(file);
  file->folder = hak_os_folder_open(file->name.text, &file->base);
  if (file->folder < 0 && file->folder != AT_FDCWD) return file->folder;
  for (unsigned n = 0; n < TRIES && file->descriptor == -EEXIST; n++) {
    name_new_file(file);
    file->descriptor = hak_os_file_create(file->folder, file->name.text + file->base, O_RDWR);
  }
  if (file->descriptor >= 0) lock_file(file->descriptor);
  else hak_os_folder_close(file->folder);
  return file->descriptor < 0 ? file->descriptor : 0;
}

/* ---- the name ---- */

static void name_numbered(struct hak_line *line, const struct hak_own_file *file, unsigned n) {
  hak_line_start(line);
  hak_line_text(line, file->stem);
  if (n != 0) hak_line_text(line, ".");
  if (n != 0) hak_line_dec(line, n);
  hak_line_text(line, file->ending);
}

static long rename_new_file(const struct hak_own_file *file, const char *name, unsigned how) {
  return HAK_KERNEL(SYS_renameat2, file->folder, file->name.text + file->base, file->folder, name, how);
}

static long facts_at(const struct hak_own_file *file, const char *name, struct stat *facts) {
  return HAK_KERNEL(SYS_newfstatat, file->folder, name, facts, AT_SYMLINK_NOFOLLOW);
}

/* True if `name` still is the file that `descriptor` has open. */
static bool is_at(const struct hak_own_file *file, const char *name, long descriptor) {
  struct stat there, open;
  return facts_at(file, name, &there) == 0 && HAK_KERNEL(SYS_fstat, descriptor, &open) == 0 &&
         there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

/* True if no other user can have written the file. */
static bool is_trusted(long descriptor) {
  struct stat facts;
  return HAK_KERNEL(SYS_fstat, descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
         facts.st_uid == (uid_t)HAK_KERNEL(SYS_geteuid) && facts.st_nlink == 1 &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Replaces a regular file of this user while holding that file's lock: of several processes only the lock's holder
 * replaces. */
static long replace_file(struct hak_own_file *file, const char *name) {
  long old = HAK_KERNEL(SYS_openat, file->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (old < 0) return old == -EACCES ? rename_new_file(file, name, 0) : TAKEN;
  bool ours = lock_file(old) && is_at(file, name, old), trusted = ours && is_trusted(old);
  long error = ours ? rename_new_file(file, name, 0) : TAKEN;
  if (error == 0 && trusted) file->left = old;
  else hak_text_close(old);
  return error;
}

/* Returns 0; TAKEN: the file belongs to another user or is locked, or `name` is a folder; or a negative errno. */
static long replace_at(struct hak_own_file *file, const char *name) {
  struct stat facts;
  if (facts_at(file, name, &facts) != 0) return rename_new_file(file, name, 0);
  if (facts.st_uid != (uid_t)HAK_KERNEL(SYS_geteuid) || S_ISDIR(facts.st_mode)) return TAKEN;
  return S_ISREG(facts.st_mode) ? replace_file(file, name) : rename_new_file(file, name, 0);
}

/* A file system may lack RENAME_NOREPLACE (EINVAL, ENOSYS). */
static long place_at(struct hak_own_file *file, const char *name) {
  long error = rename_new_file(file, name, NOT_REPLACED);
  return error == -EEXIST || error == -EINVAL || error == -ENOSYS ? replace_at(file, name) : error;
}

long hak_own_file_place(struct hak_own_file *file) {
  long error = TAKEN;
  struct hak_line name;
  for (unsigned n = 0; n < NAMES && error == TAKEN; n++) {
    name_numbered(&name, file, n);
    error = place_at(file, name.text + file->base);
  }
  if (error == 0) file->name = name;
  else hak_own_file_drop(file);
  return error == TAKEN ? -EEXIST : error;
}

/* ---- the end ---- */

void hak_own_file_drop(struct hak_own_file *file) {
  HAK_KERNEL(SYS_unlinkat, file->folder, file->name.text + file->base, 0);
  hak_own_file_close(file);
}

void hak_own_file_close(struct hak_own_file *file) {
  hak_text_close(file->left);
  hak_text_close(file->descriptor);
  hak_os_folder_close(file->folder);
  file->left = file->descriptor = -1;
}
