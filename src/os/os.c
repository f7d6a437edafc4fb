/* os.c: the only door to the kernel.
 *
 * what      Linux calls behind the contract of os.h.
 * owner     g_os: the page size and where calls are tallied.
 * locks     None.
 * orders    Relaxed; the page size is written once with the same value by whoever comes first.
 * hot path  No.
 * failure   NULL or false; errno restored.
 * not here  Policy.
 */
#define _GNU_SOURCE
#include "os/os.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "os/text.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static uint64_t first_cells[HAK_OS_CALLS];

static struct {
  size_t page_bytes;
  bool no_vector; /* the kernel takes one range at a time */
  uint64_t *tally[HAK_OS_CALLS];
} g_os = {.tally = {&first_cells[0], &first_cells[1], &first_cells[2], &first_cells[3], &first_cells[4]}};

void hak_os_tally(enum hak_os_call call) { hak_add(hak_load(&g_os.tally[call]), 1); }

void hak_os_tally_to(enum hak_os_call call, uint64_t *cell) {
  uint64_t *old = hak_load(&g_os.tally[call]);
  if (old == cell) return;
  hak_add(cell, hak_load(old));
  hak_store(&g_os.tally[call], cell);
}

size_t hak_os_page_bytes(void) {
  size_t bytes = hak_load(&g_os.page_bytes);
  if (bytes == 0) {
    bytes = getauxval(AT_PAGESZ);
    hak_store(&g_os.page_bytes, bytes);
  }
  return bytes;
}

static void *map(void *where, size_t bytes, int extra_flags, int *error) {
  int saved = errno;
  hak_os_tally(HAK_OS_MAP);
  void *p = mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | extra_flags, -1, 0);
  *error = errno;
  errno = saved;
  return p == MAP_FAILED ? NULL : p;
}

void *hak_os_map(size_t bytes) {
  int error;
  return map(NULL, bytes, 0, &error);
}

bool hak_os_map_at(void *where, size_t bytes, bool *taken) {
  int error;
  void *p = map(where, bytes, MAP_FIXED_NOREPLACE, &error);
  if (p == where) return true;
  *taken = p != NULL || error == EEXIST;
  if (p != NULL) hak_os_unmap(p, bytes); /* an old kernel or an emulator took the address as a mere hint */
  return false;
}

bool hak_os_unmap(void *p, size_t bytes) {
  int saved = errno;
  hak_os_tally(HAK_OS_UNMAP);
  bool ok = munmap(p, bytes) == 0;
  errno = saved;
  return ok;
}

static bool advise(void *p, size_t bytes, int advice) {
  int saved = errno;
  hak_os_tally(HAK_OS_ADVISE);
  bool ok = madvise(p, bytes, advice) == 0;
  errno = saved;
  return ok;
}

bool hak_os_purge(void *p, size_t bytes) { return advise(p, bytes, MADV_DONTNEED); }

/* process_madvise on this process itself, which the kernel knows by a descriptor that needs no opening (Linux 6.14).
 * How many bytes it advised, from the front; an older kernel says none, and is not asked again. An emulator, which
 * hides the kernel's vdso, may complain of a call that it does not know: it is not asked at all. */
static size_t purge_vector(const struct hak_extent *extents, size_t n) {
  static_assert(sizeof(struct hak_extent) == sizeof(struct iovec) && offsetof(struct hak_extent, bytes) ==
                offsetof(struct iovec, iov_len), "an extent is an iovec");
  enum { THIS_THREAD = -10000 };
  if (hak_load(&g_os.no_vector) || getauxval(AT_SYSINFO_EHDR) == 0) return 0;
  int saved = errno;
  hak_os_tally(HAK_OS_ADVISE);
  long done = syscall(SYS_process_madvise, THIS_THREAD, extents, n, MADV_DONTNEED, 0);
  if (done < 0 && (errno == EBADF || errno == ENOSYS || errno == EPERM)) hak_store(&g_os.no_vector, true);
  errno = saved;
  return done < 0 ? 0 : (size_t)done;
}

uint64_t hak_os_purge_many(const struct hak_extent *extents, size_t n) {
  size_t left = n > 1 ? purge_vector(extents, n) : 0;
  uint64_t done = 0;
  for (size_t i = 0; i < n; i++) {
    bool ok = left >= extents[i].bytes;
    if (ok) left -= extents[i].bytes;
    else left = 0;
    if (!ok) ok = hak_os_purge(extents[i].address, extents[i].bytes);
    done |= (uint64_t)ok << i;
  }
  return done;
}

bool hak_os_advise_huge(void *p, size_t bytes, bool on) {
  return advise(p, bytes, on ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

bool hak_os_advise_dump(void *p, size_t bytes, bool dump) {
  return advise(p, bytes, dump ? MADV_DODUMP : MADV_DONTDUMP);
}

size_t hak_os_resident(void *p, size_t bytes) {
  enum { STEP = 512 };
  unsigned char in[STEP];
  int saved = errno;
  size_t page = hak_os_page_bytes(), left = bytes / page, found = 0;
  for (char *at = p; left > 0;) {
    size_t n = left < STEP ? left : STEP;
    if (mincore(at, n * page, in) != 0) break;
    for (size_t i = 0; i < n; i++) found += in[i] & 1;
    at += n * page;
    left -= n;
  }
  errno = saved;
  return found * page;
}

size_t hak_os_huge_bytes(void) {
  char mode[64], digits[24];
  if (hak_text_of("/sys/kernel/mm/transparent_hugepage/enabled", mode, sizeof mode) != 0) return 0;
  if (hak_text_of("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", digits, sizeof digits) != 0) return 0;
  if (strstr(mode, "[always]") == NULL && strstr(mode, "[madvise]") == NULL) return 0;
  size_t bytes = 0;
  for (const char *d = digits; *d >= '0' && *d <= '9'; d++) bytes = bytes * 10 + (size_t)(*d - '0');
  return bytes;
}

void *hak_os_remap(void *p, size_t old_bytes, size_t new_bytes) {
  int saved = errno;
  hak_os_tally(HAK_OS_REMAP);
  void *q = mremap(p, old_bytes, new_bytes, MREMAP_MAYMOVE);
  errno = saved;
  return q == MAP_FAILED ? NULL : q;
}

static void *map_descriptor(int fd, size_t bytes) {
  if (posix_fallocate(fd, 0, (off_t)bytes) != 0) return NULL; /* a full disk says so now, not at the first count */
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return p == MAP_FAILED ? NULL : p;
}

void *hak_os_map_file(const char *path, size_t bytes) {
  int saved = errno;
  void *p = NULL;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0) {
    p = map_descriptor(fd, bytes);
    close(fd);
  }
  errno = saved;
  return p;
}

/* A folder has a link for each folder in it, and two of its own. */
size_t hak_os_threads(void) {
  int saved = errno;
  struct stat folder;
  bool ok = stat("/proc/self/task", &folder) == 0 && folder.st_nlink > 2;
  errno = saved;
  return ok ? (size_t)folder.st_nlink - 2 : 0;
}

uint64_t hak_os_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* AT_RANDOM's 16 bytes come from the kernel at exec; the stack's own random address is stirred in. The mixing
 * steps are those of splitmix64 (Steele, Lea and Flood, 2014). */
uint64_t hak_os_random(void) {
  const unsigned char *seed = (const unsigned char *)getauxval(AT_RANDOM);
  uint64_t x = (uint64_t)(uintptr_t)&seed;
  for (int i = 0; seed != NULL && i < 16; i++) x = (x << 5 | x >> 59) ^ seed[i];
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void hak_os_write_err(const char *text, size_t bytes) {
  int saved = errno;
  while (bytes > 0) {
    ssize_t n = write(STDERR_FILENO, text, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text += n;
    bytes -= (size_t)n;
  }
  errno = saved;
}
