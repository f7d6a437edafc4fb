/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* file.c: a file that grows piece by piece, each of which is mapped.
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
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bits.h"
#include "os/os.h"

static void close_number(int number) { syscall(SYS_close, number); }

/* Out of the way of programs that expect the lowest numbers, or close those that they know; as high as there may be. */
static int lift(int number) {
  static const int least[] = {1000, 200, 3};
  int high = -1;
  for (unsigned n = 0; high < 0 && n < sizeof least / sizeof least[0]; n++) {
    high = (int)syscall(SYS_fcntl, number, F_DUPFD_CLOEXEC, least[n]);
  }
  close_number(number);
  return high;
}

static int open_high(const char *path, int flags) {
  int number = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  return number < 0 ? number : lift(number);
}

static bool is_ours(const struct hak_os_file *file) {
  struct stat facts;
  return file->descriptor >= 0 && fstat(file->descriptor, &facts) == 0 && facts.st_dev == file->device &&
         facts.st_ino == file->inode;
}

static bool remember(struct hak_os_file *file, int number) {
  struct stat facts;
  file->descriptor = number;
  if (number < 0 || fstat(number, &facts) != 0) return false;
  file->device = facts.st_dev;
  file->inode = facts.st_ino;
  return true;
}

int hak_os_file_make(struct hak_os_file *file, const char *path) {
  int saved = errno, error = 0;
  if (!remember(file, open_high(path, O_CREAT | O_EXCL))) error = errno == EEXIST ? -1 : errno;
  errno = saved;
  return error;
}

void hak_os_file_remove(const char *path) {
  int saved = errno;
  syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  errno = saved;
}

static bool open_again(struct hak_os_file *file, const char *path) {
  file->descriptor = path != NULL ? open_high(path, 0) : -1;
  if (is_ours(file)) return true;
  if (file->descriptor >= 0) close_number(file->descriptor);
  file->descriptor = -1;
  return false;
}

bool hak_os_file_may_end(uint64_t end) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur;
}

/* Where a file system cannot take room by itself, it is written to. */
static bool write_zeros(int number, uint64_t offset, size_t bytes) {
  static const char zeros[4096];
  size_t done = 0;
  while (done < bytes) {
    long n = syscall(SYS_pwrite64, number, zeros, hak_min(bytes - done, sizeof zeros), offset + done);
    if (n > 0) done += (size_t)n;
    else if (n == 0 || errno != EINTR) return false;
  }
  return true;
}

static bool take_room(int number, uint64_t offset, size_t bytes) {
  long answer;
  do {
    answer = syscall(SYS_fallocate, number, 0, offset, bytes);
  } while (answer != 0 && errno == EINTR);
  return answer == 0 || ((errno == EOPNOTSUPP || errno == ENOSYS) && write_zeros(number, offset, bytes));
}

static void *map_piece(int number, uint64_t offset, size_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, number, (off_t)offset);
  return p == MAP_FAILED ? NULL : p;
}

void *hak_os_file_grow(struct hak_os_file *file, const char *again, uint64_t offset, size_t bytes) {
  int saved = errno;
  void *p = NULL;
  bool ready = (is_ours(file) || open_again(file, again)) && hak_os_file_may_end(offset + bytes);
  if (ready && take_room(file->descriptor, offset, bytes)) p = map_piece(file->descriptor, offset, bytes);
  errno = saved;
  return p;
}

void hak_os_file_close(struct hak_os_file *file) {
  int saved = errno;
  if (is_ours(file)) close_number(file->descriptor);
  file->descriptor = -1;
  errno = saved;
}
