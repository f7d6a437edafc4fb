/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* file.c: a file that grows piece by piece; each piece is mapped.
 *
 * what      See file.h.
 * owner     The caller.
 */
#define _GNU_SOURCE
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/bits.h"
#include "base/str.h"
#include "os/call.h"
#include "os/os.h"

static void close_number(int number) { HAK_KERNEL(SYS_close, number); }

/* Moves the descriptor to a number as high as the limits allow: some programs rely on the lowest free numbers, or close
 * low numbers without having opened a file there. */
static int lift(int number) {
  static const int least[] = {1000, 200, 3};
  int high = -1;
  for (unsigned n = 0; high < 0 && n < sizeof least / sizeof least[0]; n++) {
    high = (int)HAK_KERNEL(SYS_fcntl, number, F_DUPFD_CLOEXEC, least[n]);
  }
  close_number(number);
  return high;
}

/* true: the group may read files that are created (setting group_reads) */
static HAK_RARE bool g_for_group;

void hak_os_files_for_group(bool reads) { g_for_group = reads; }

/* AT_FDCWD if `path` names no folder. */
long hak_os_folder_open(char *path, size_t *base) {
  const char *slash = hak_strrchr(path, '/');
  *base = slash != NULL ? (size_t)(slash + 1 - path) : 0;
  if (*base == 0) return AT_FDCWD;
  char first = path[*base];
  path[*base] = '\0';
  long folder = HAK_KERNEL(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  path[*base] = first;
  return folder;
}

void hak_os_folder_close(long folder) {
  if (folder >= 0) HAK_KERNEL(SYS_close, folder);
}

/* fchmod after openat: the umask must not take away the group's permission, which the user asked for. */
long hak_os_file_create(long folder, const char *path, int flags) {
  enum { OWN = 0600, GROUP = 0640 };
  long number = HAK_KERNEL(SYS_openat, folder, path, flags | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, OWN);
  if (number >= 0 && g_for_group) HAK_KERNEL(SYS_fchmod, number, GROUP);
  return number;
}

static int make_high(const char *path) {
  long number = hak_os_file_create(AT_FDCWD, path, O_RDWR);
  return number < 0 ? (int)number : lift((int)number);
}

/* Opens an existing file. Another user may have put an object at `path`: no link is followed, no FIFO or terminal is
 * waited for, and the caller compares device and inode. */
static int open_high(const char *path) {
  enum { NO_OTHER = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
  int number = (int)HAK_KERNEL(SYS_openat, AT_FDCWD, path, O_RDWR | NO_OTHER);
  return number < 0 ? number : lift(number);
}

static long facts_of(int number, struct stat *facts) { return HAK_KERNEL(SYS_fstat, number, facts); }

static bool is_still_open(const struct hak_os_file *file) {
  struct stat facts;
  return file->descriptor >= 0 && facts_of(file->descriptor, &facts) == 0 && facts.st_dev == file->device &&
         facts.st_ino == file->inode;
}

/* Stores descriptor, device and inode in the record. Returns 0 or a negative errno: `number` itself or fstat's. */
static long remember_descriptor(struct hak_os_file *file, int number) {
  struct stat facts;
  file->descriptor = number;
  long error = number < 0 ? number : facts_of(number, &facts);
  if (error != 0) return error;
  file->device = facts.st_dev;
  file->inode = facts.st_ino;
  return 0;
}

int hak_os_file_make(struct hak_os_file *file, const char *path) {
  long error = remember_descriptor(file, make_high(path));
  return error == -EEXIST ? -1 : (int)-error;
}

bool hak_os_file_adopt(struct hak_os_file *file, long descriptor) {
  return remember_descriptor(file, lift((int)descriptor)) == 0;
}

bool hak_os_file_is_device(const char *path) {
  struct stat facts;
  if (HAK_KERNEL(SYS_newfstatat, AT_FDCWD, path, &facts, 0) != 0) return false;
  return S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode);
}

void hak_os_file_remove(const char *path) { HAK_KERNEL(SYS_unlinkat, AT_FDCWD, path, 0); }

static bool open_again(struct hak_os_file *file, const char *path) {
  file->descriptor = path != NULL ? open_high(path) : -1;
  if (is_still_open(file)) return true;
  if (file->descriptor >= 0) close_number(file->descriptor);
  file->descriptor = -1;
  return false;
}

bool hak_os_file_may_end(uint64_t end) {
  struct rlimit limit;
  bool known = HAK_KERNEL(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) == 0;
  return !known || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

/* Reserves disk space by writing, for a file system without fallocate. */
static bool write_zeros(int number, uint64_t offset, size_t bytes) {
  static const char zeros[4096];
  size_t done = 0;
  while (done < bytes) {
    long n = HAK_KERNEL(SYS_pwrite64, number, zeros, hak_min(bytes - done, sizeof zeros), offset + done);
    if (n > 0) done += (size_t)n;
    else if (n != -EINTR) return false;
  }
  return true;
}

static bool take_room(int number, uint64_t offset, size_t bytes) {
  long answer;
  do {
    answer = HAK_KERNEL(SYS_fallocate, number, 0, offset, bytes);
  } while (answer == -EINTR);
  return answer == 0 || ((answer == -EOPNOTSUPP || answer == -ENOSYS) && write_zeros(number, offset, bytes));
}

static void *map_piece(int number, uint64_t offset, size_t bytes) {
  long p = HAK_KERNEL(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number, offset);
  return hak_kernel_refused(p) ? NULL : (void *)p;
}

static void *map_room(int number, uint64_t offset, size_t bytes) {
  bool ready = hak_os_file_may_end(offset + bytes) && take_room(number, offset, bytes);
  return ready ? map_piece(number, offset, bytes) : NULL;
}

void *hak_os_file_grow(struct hak_os_file *file, const char *again, uint64_t offset, size_t bytes) {
  bool ready = is_still_open(file) || open_again(file, again);
  return ready ? map_room(file->descriptor, offset, bytes) : NULL;
}

void hak_os_file_close(struct hak_os_file *file) {
  if (is_still_open(file)) close_number(file->descriptor);
  file->descriptor = -1;
}

/* Reserves the disk space: a full disk is reported here, not at the first store into the mapping. */
void *hak_os_file_map(long descriptor, size_t bytes) { return map_room((int)descriptor, 0, bytes); }
