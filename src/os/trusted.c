/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trusted.c: files whose contents are trusted.
 *
 * what      See trusted.h.
 */
#define _GNU_SOURCE
#include "os/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/fmt.h"
#include "base/str.h"
#include "os/call.h"
#include "os/text.h"

enum { BYTES_MOST = 16 << 20, TRIES = 200, PAUSE_NS = 5000000 };

/* ---- the folder ---- */

static const char *name_in(const char *path) {
  const char *slash = hak_strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* Opens the folder of `path`. */
static long open_folder(const char *path, int flags) {
  struct hak_line folder;
  size_t bytes = (size_t)(name_in(path) - path);
  if (*path == '\0') return -ENOENT;
  if (bytes >= sizeof folder.text) return -ENAMETOOLONG;
  memcpy(folder.text, path, bytes);
  folder.text[bytes] = '\0';
  return HAK_KERNEL(SYS_openat, AT_FDCWD, bytes != 0 ? folder.text : ".", O_DIRECTORY | O_CLOEXEC | flags);
}

/* ---- trust ---- */

static bool belongs_to_user(const struct stat *facts) {
  return facts->st_uid == 0 || facts->st_uid == (uid_t)HAK_KERNEL(SYS_geteuid);
}

static bool others_write(const struct stat *facts) { return (facts->st_mode & (S_IWGRP | S_IWOTH)) != 0; }

static const char *why_no_folder(const struct stat *facts) {
  if (!belongs_to_user(facts)) return "its folder is another user's";
  return others_write(facts) ? "its folder may be written by others" : NULL;
}

static const char *why_no_file(const struct stat *facts) {
  if (!S_ISREG(facts->st_mode)) return "it is not a regular file";
  if (!belongs_to_user(facts)) return "it is another user's";
  if (others_write(facts)) return "it may be written by others";
  if (facts->st_nlink > 1) return "it has a second name (a hard link)"; /* 0: another process has just replaced it */
  return facts->st_size > BYTES_MOST ? "it is too large" : NULL;
}

/* Returns 0 or a negative errno: EPERM, or EISDIR for a folder, with *why. */
static long check(long descriptor, const char *(*judge)(const struct stat *), const char **why) {
  struct stat facts;
  if (descriptor < 0) return descriptor;
  long error = HAK_KERNEL(SYS_fstat, descriptor, &facts);
  if (error != 0) return error;
  *why = judge(&facts);
  if (*why != NULL && S_ISDIR(facts.st_mode) && judge == why_no_file) return -EISDIR;
  return *why != NULL ? -EPERM : 0;
}

static long open_file(long folder, const char *name, const char **why) {
  enum { NO_OTHER = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
  long file = HAK_KERNEL(SYS_openat, folder, name, O_RDONLY | NO_OTHER);
  if (file == -ELOOP) *why = "it is a symbolic link";
  if (file == -ELOOP) return -EPERM;
  long error = check(file, why_no_file, why);
  if (error == 0) return file;
  hak_text_close(file);
  return error;
}

long hak_trusted_open(const char *path, const char **why) {
  *why = NULL;
  long folder = open_folder(path, O_PATH);
  long error = check(folder, why_no_folder, why);
  long file = error == 0 ? open_file(folder, name_in(path), why) : error;
  hak_text_close(folder);
  return file;
}

/* ---- the lock ---- */

long hak_trusted_lock(const char *path) {
  const struct timespec pause = {.tv_nsec = PAUSE_NS};
  long folder = open_folder(path, O_RDONLY), error = -EWOULDBLOCK;
  for (unsigned n = 0; folder >= 0 && error == -EWOULDBLOCK && n < TRIES; n++) {
    if (n != 0) HAK_KERNEL(SYS_nanosleep, &pause, NULL);
    error = HAK_KERNEL(SYS_flock, folder, LOCK_EX | LOCK_NB);
  }
  if (error == 0) return folder;
  hak_text_close(folder);
  return -EWOULDBLOCK;
}
