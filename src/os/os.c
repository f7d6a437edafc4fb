/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* os.c: the only door to the kernel.
 *
 * what      Linux calls behind the contract of os.h.
 * owner     g_os: the page size, the processors and where calls are tallied.
 * orders    Relaxed; the page size is written once with the same value by whoever comes first.
 * failure   NULL or false; errno restored.
 * not here  Policy.
 */
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/file.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static uint64_t first_cells[HAK_OS_CALLS];

static struct {
  size_t page_bytes;
  uint32_t processors; /* 0: not asked yet */
  unsigned barrier; /* 0: not asked for yet, 1: registered, 2: refused */
  bool torn;        /* a place that pages were to move to was lost: none move any more */
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

bool hak_os_extend(void *end, size_t bytes) {
  int saved = errno;
  size_t page = hak_os_page_bytes();
  char *last = (char *)end - page;
  hak_os_tally(HAK_OS_REMAP);
  bool ok = mremap(last, page, page + bytes, 0) == last;
  errno = saved;
  return ok;
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

uint64_t hak_os_purge_many(const struct hak_extent *extents, size_t n) {
  uint64_t done = 0;
  for (size_t i = 0; i < n; i++) done |= (uint64_t)hak_os_purge(extents[i].address, extents[i].bytes) << i;
  return done;
}

bool hak_os_advise_huge(void *p, size_t bytes, bool on) {
  return advise(p, bytes, on ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* Advice for a part of it makes the kernel split it: this one does nothing else but to call one page cold. */
bool hak_os_split_huge(void *p) { return advise(p, hak_os_page_bytes(), MADV_COLD); }

bool hak_os_advise_dump(void *p, size_t bytes, bool dump) {
  return advise(p, bytes, dump ? MADV_DODUMP : MADV_DONTDUMP);
}

size_t hak_os_huge_bytes(void) { return hak_os_page_bytes() / sizeof(uint64_t) * hak_os_page_bytes(); }

void *hak_os_remap(void *p, size_t old_bytes, size_t new_bytes) {
  int saved = errno;
  hak_os_tally(HAK_OS_REMAP);
  void *q = mremap(p, old_bytes, new_bytes, MREMAP_MAYMOVE);
  errno = saved;
  return q == MAP_FAILED ? NULL : q;
}

/* Is it one of the kernel's mappings, or part of one? Another is refused for that (EFAULT) before it is refused to be
 * as long as its own address, which ends beyond all addresses. */
static bool is_one_mapping(char *p, size_t bytes) {
  size_t far = hak_max((size_t)(uintptr_t)p, bytes + hak_os_page_bytes());
  hak_os_tally(HAK_OS_REMAP);
  bool longer = mremap(p, bytes, far, 0) == p, one = longer || errno != EFAULT;
  if (longer) hak_os_unmap(p + bytes, far - bytes);
  return one;
}

/* Is this page said to be none that may be written? What was not there is fetched by the question. */
HAK_INLINE bool is_said_guarded(char *page) {
  int saved = errno;
  hak_os_tally(HAK_OS_ADVISE);
  bool guarded = madvise(page, hak_os_page_bytes(), MADV_POPULATE_WRITE) != 0 && errno == EINVAL;
  errno = saved;
  return guarded;
}

/* A kernel before 5.14 does not know the question, and says so of a page of the stack, too. */
bool hak_os_is_guarded(void *page) {
  char own, *stack = (char *)((uintptr_t)&own & -(uintptr_t)hak_os_page_bytes());
  return HAK_UNLIKELY(is_said_guarded(page)) && !is_said_guarded(stack);
}

bool hak_os_is_plain(void *p, size_t bytes) {
  int saved = errno;
  bool plain = is_one_mapping(p, bytes) && !hak_os_is_guarded(p);
  errno = saved;
  return plain;
}

/* The kernel takes what is mapped at `to` away before it finds that `from` does not move, and others may map there
 * then: so it is asked before. What it refuses all the same, it refuses first (too many mappings), or for want of
 * memory for itself: then the place is mapped anew. Where that fails, too, it is not known whether what lies there is
 * ours: once is enough. */
enum hak_os_moved hak_os_move(void *from, size_t bytes, void *to) {
  int saved = errno;
  bool moved = false, torn = false, taken;
  if (!hak_load(&g_os.torn) && is_one_mapping(from, bytes)) {
    hak_os_tally(HAK_OS_REMAP);
    moved = mremap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
    torn = !moved && !hak_os_map_at(to, bytes, &taken);
  }
  if (torn) hak_store(&g_os.torn, true);
  errno = saved;
  return moved ? HAK_OS_MOVED : torn ? HAK_OS_TORN : HAK_OS_STAYED;
}

static void *map_descriptor(int fd, size_t bytes) {
  if (!hak_os_file_may_end(bytes)) return NULL;
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

/* Which processors; a kernel may know more than one set holds. The beginning is written before the first block. */
static HAK_TABLE cpu_set_t g_allowed[8];

/* The bare call, and a count of our own: libc's lie on pages that a tiny process has no other use for. */
static uint32_t count_processors(void) {
  int saved = errno;
  long bytes = syscall(SYS_sched_getaffinity, 0, sizeof g_allowed, g_allowed);
  uint32_t count = 0;
  for (long n = 0; n < bytes * 8; n++) count += (uint32_t)CPU_ISSET_S((size_t)n, sizeof g_allowed, g_allowed);
  errno = saved;
  return count != 0 ? count : 1;
}

uint32_t hak_os_processors(void) {
  if (g_os.processors == 0) g_os.processors = count_processors();
  return g_os.processors;
}

/* The maker of a thread may be bound to one processor, or be a real-time thread that nothing else may delay, or
 * one that anything else delays. */
void hak_os_run_anywhere(void) {
  const struct sched_param none = {0};
  int saved = errno, policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
  if (policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_IDLE) sched_setscheduler(0, SCHED_OTHER, &none);
  if (CPU_COUNT_S(sizeof g_allowed, g_allowed) != 0) sched_setaffinity(0, sizeof g_allowed, g_allowed);
  errno = saved;
}

static uint64_t in_ms(struct timespec t) { return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000; }

uint64_t hak_os_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return in_ms(t);
}

/* The program forbade itself to read the processor's clock: it would end. */
static bool g_coarse;

static bool forbids_clock(int option, unsigned long value) {
  bool strict = option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT;
  return strict || (option == PR_SET_TSC && value == PR_TSC_SIGSEGV);
}

uint64_t hak_os_now_ns(void) {
  struct timespec t = {0};
  clock_gettime(HAK_UNLIKELY(hak_load(&g_coarse)) ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t hak_os_wall_ns(void) {
  struct timespec t = {0};
  clock_gettime(HAK_UNLIKELY(hak_load(&g_coarse)) ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t hak_os_start_ms(void) {
  int saved = errno;
  struct timespec t = {0};
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC_COARSE, &t);
  errno = saved;
  return in_ms(t);
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

static bool membarrier(int command) {
  int saved = errno;
  bool ok = syscall(SYS_membarrier, command, 0, 0) == 0;
  errno = saved;
  return ok;
}

bool hak_os_has_barrier(void) {
  enum { REGISTERED = 1, REFUSED };
  if (hak_load(&g_os.barrier) == 0) {
    bool ok = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
    hak_store(&g_os.barrier, ok ? REGISTERED : REFUSED);
  }
  return hak_load(&g_os.barrier) == REGISTERED;
}

bool hak_os_barrier(void) {
  return hak_os_has_barrier() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

int hak_os_prctl(int option, const unsigned long *own) {
  if (forbids_clock(option, own[0])) hak_store(&g_coarse, true);
  return (int)syscall(SYS_prctl, option, own[0], own[1], own[2], own[3]);
}

int hak_os_unshare(int flags) { return (int)syscall(SYS_unshare, flags); }
int hak_os_setns(int descriptor, int kind) { return (int)syscall(SYS_setns, descriptor, kind); }

bool hak_os_err_takes_text(void) {
  enum { SET_BYTES = 8 };
  struct pollfd err = {.fd = STDERR_FILENO, .events = POLLOUT};
  struct timespec most = {.tv_sec = 1};
  int saved = errno;
  bool takes = syscall(SYS_ppoll, &err, 1, &most, NULL, SET_BYTES) != 0;
  errno = saved;
  return takes;
}

/* The bare call: libc's own ends a thread that was cancelled, in the middle of what it had to say. */
void hak_os_write_err(const char *text, size_t bytes) {
  int saved = errno;
  while (bytes > 0) {
    ssize_t n = syscall(SYS_write, STDERR_FILENO, text, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text += n;
    bytes -= (size_t)n;
  }
  errno = saved;
}
