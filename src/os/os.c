/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* os.c: the kernel's services for all layers.
 *
 * what      Linux calls behind the contract of os.h.
 * owner     g_os: the page size and the processors; g_os_tally: the tally of calls.
 * orders    Relaxed; threads that come first at the same time store the same page size.
 * failure   NULL or false; errno is not touched.
 * not here  Policy.
 */
#define _GNU_SOURCE
#include "os/os.h"

#include <elf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/call.h"
#include "os/clock.h"
#include "os/given.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE 103
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { ERR = 2, USUAL_PAGE = 4096 };

static struct {
  size_t page_bytes;
  uint32_t processors; /* 0: not read yet */
  unsigned barrier; /* 0: not requested yet, 1: registered, 2: refused */
  unsigned purges;  /* 0: not asked yet, 1: a purged page has gone, 2: it stays */
  bool populates_not; /* the kernel does not know MADV_POPULATE_READ and _WRITE */
  bool torn;        /* a target of hak_os_move was lost: no further moves */
  bool strict;      /* a thread may make no kernel call but read and write (seccomp's first mode) */
  uint64_t *shown; /* second copy of g_os_tally, HAK_OS_SHOWN_STEP cells apart; NULL: none */
} g_os;
uint64_t g_os_tally[HAK_OS_CALLS];

HAK_INLINE void tally(enum hak_os_call call) {
  uint64_t *shown = hak_load(&g_os.shown);
  hak_add(&g_os_tally[call], 1);
  if (HAK_UNLIKELY(shown != NULL)) hak_add(shown + HAK_OS_SHOWN_STEP * call, 1);
}

void hak_os_tally(enum hak_os_call call) { tally(call); }

uint64_t hak_os_tallied(enum hak_os_call call) { return hak_load(&g_os_tally[call]); }

void hak_os_tally_shown(uint64_t *first) { hak_store(&g_os.shown, first); }

size_t hak_os_page_bytes(void) {
  size_t bytes = hak_load(&g_os.page_bytes);
  if (bytes == 0) {
    bytes = hak_given(AT_PAGESZ);
    if (bytes < USUAL_PAGE || !hak_is_power_of_two(bytes)) bytes = USUAL_PAGE;
    hak_store(&g_os.page_bytes, bytes);
  }
  return bytes;
}

HAK_INLINE long map(void *where, size_t bytes, int extra_flags, int access) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | extra_flags;
  tally(HAK_OS_MAP);
  return HAK_KERNEL(SYS_mmap, where, bytes, access, flags, -1, 0);
}

void *hak_os_map(size_t bytes) {
  long p = map(NULL, bytes, 0, PROT_READ | PROT_WRITE);
  return hak_kernel_refused(p) ? NULL : (void *)p;
}

void *hak_os_reserve(size_t bytes) {
  long p = map(NULL, bytes, MAP_NORESERVE, PROT_NONE);
  return hak_kernel_refused(p) ? NULL : (void *)p;
}

bool hak_os_open(void *p, size_t bytes) { return map(p, bytes, MAP_FIXED, PROT_READ | PROT_WRITE) == (long)p; }

bool hak_os_shut(void *p, size_t bytes) { return map(p, bytes, MAP_FIXED | MAP_NORESERVE, PROT_NONE) == (long)p; }

bool hak_os_map_at(void *where, size_t bytes, bool *taken) {
  long p = map(where, bytes, MAP_FIXED_NOREPLACE, PROT_READ | PROT_WRITE);
  if (p == (long)where) return true;
  *taken = !hak_kernel_refused(p) || p == -EEXIST;
  if (!hak_kernel_refused(p)) hak_os_unmap((void *)p, bytes); /* `where` was a hint: an old kernel or an emulator */
  return false;
}

HAK_INLINE long remap(void *p, size_t old_bytes, size_t new_bytes, int flags, void *to) {
  tally(HAK_OS_REMAP);
  return HAK_KERNEL(SYS_mremap, p, old_bytes, new_bytes, flags, to);
}

bool hak_os_extend(void *end, size_t bytes) {
  size_t page = hak_os_page_bytes();
  char *last = (char *)end - page;
  return remap(last, page, page + bytes, 0, NULL) == (long)last;
}

static bool advise(void *p, size_t bytes, int advice) {
  tally(HAK_OS_ADVISE);
  return HAK_KERNEL(SYS_madvise, p, bytes, advice) == 0;
}

/* True if the kernel does not know the advice (EINVAL, before 5.14: for a page of the stack, too), or is filtered. */
static HAK_NOINLINE bool never_populates(long answer) {
  size_t page = hak_os_page_bytes();
  char own, *stack = (char *)((uintptr_t)&own & -(uintptr_t)page);
  if (answer == -EINVAL) answer = HAK_KERNEL(SYS_madvise, stack, page, MADV_POPULATE_WRITE);
  return answer == -EINVAL || answer == -ENOSYS || answer == -EPERM;
}

/* Returns the kernel's answer. A kernel that cannot is asked once: then -ENOSYS. */
static long populate(void *p, size_t bytes, int advice) {
  if (hak_load(&g_os.populates_not)) return -ENOSYS;
  tally(HAK_OS_ADVISE);
  long answer = HAK_KERNEL(SYS_madvise, p, bytes, advice);
  if (HAK_LIKELY(answer == 0) || !never_populates(answer)) return answer;
  hak_store(&g_os.populates_not, true);
  return -ENOSYS;
}

bool hak_os_populate(void *p, size_t bytes, bool write) {
  return populate(p, bytes, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0;
}

/* Splits the middle pages that reach beyond an end, as the kernel keeps a part that went as long as the rest. By all
 * pages on this side of the border: single pages that were written while a fork's child lived are no part of it. */
static void split_ends(char *p, size_t bytes) {
  size_t middle = hak_os_middle_bytes();
  if (HAK_LIKELY(middle == 0)) return;
  size_t front = hak_min(-(uintptr_t)p % middle, bytes), back = ((uintptr_t)p + bytes) % middle;
  if (front != 0) hak_os_split_huge(p, front);
  if (back != 0 && back <= bytes - front) hak_os_split_huge(p + bytes - back, back);
}

bool hak_os_unmap(void *p, size_t bytes) {
  split_ends(p, bytes);
  tally(HAK_OS_UNMAP);
  return HAK_KERNEL(SYS_munmap, p, bytes) == 0;
}

void hak_os_unmap_probe(void *p, size_t bytes) {
  enum { TRIES = 4 };
  for (int n = 0; n < TRIES && !hak_os_unmap(p, bytes); n++) {
  }
}

/* False where the kernel, or an emulator or a filter in front of it, says that a page has gone which stays. Asked once
 * in a process: a page is written, purged and read. A kernel that refuses does not lie. */
static bool find_purges(void) {
  size_t bytes = hak_os_page_bytes();
  volatile char *page = hak_os_map(bytes);
  if (page == NULL) return true;
  *page = 1;
  bool lies = advise((void *)page, bytes, MADV_DONTNEED) && *page != 0;
  hak_os_unmap_probe((void *)page, bytes);
  hak_store(&g_os.purges, lies ? 2 : 1);
  return !lies;
}

static bool is_purging(void) {
  unsigned known = hak_load(&g_os.purges);
  return HAK_LIKELY(known == 1) || (known == 0 && find_purges());
}

bool hak_os_purge(void *p, size_t bytes) {
  split_ends(p, bytes);
  return is_purging() && advise(p, bytes, MADV_DONTNEED);
}

uint64_t hak_os_purge_many(const struct hak_extent *extents, size_t n) {
  uint64_t done = 0;
  for (size_t i = 0; i < n; i++) done |= (uint64_t)hak_os_purge(extents[i].address, extents[i].bytes) << i;
  return done;
}

bool hak_os_advise_huge(void *p, size_t bytes, bool on) {
  return advise(p, bytes, on ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

/* How pages are shut: asked once. */
enum { SHUT_UNKNOWN, SHUT_BY_ADVICE, SHUT_BY_MAPPING };
static HAK_RARE uint8_t g_shut;

bool hak_os_shut_page(void *page) {
  size_t bytes = hak_os_page_bytes();
  bool advised = hak_load(&g_shut) != SHUT_BY_MAPPING && advise(page, bytes, MADV_GUARD_INSTALL);
  if (hak_load(&g_shut) == SHUT_UNKNOWN) hak_store(&g_shut, advised ? SHUT_BY_ADVICE : SHUT_BY_MAPPING);
  return advised || (hak_load(&g_shut) == SHUT_BY_MAPPING && hak_os_shut(page, bytes));
}

bool hak_os_open_page(void *page) {
  size_t bytes = hak_os_page_bytes();
  return hak_load(&g_shut) == SHUT_BY_ADVICE ? advise(page, bytes, MADV_GUARD_REMOVE) : hak_os_open(page, bytes);
}

/* Advice for part of a huge page makes the kernel split the huge page. MADV_COLD is the advice with the least
 * effect. */
bool hak_os_split_huge(void *part, size_t bytes) { return advise(part, bytes, MADV_COLD); }

bool hak_os_advise_dump(void *p, size_t bytes, bool dump) {
  return advise(p, bytes, dump ? MADV_DODUMP : MADV_DONTDUMP);
}

size_t hak_os_huge_bytes(void) { return hak_os_page_bytes() / sizeof(uint64_t) * hak_os_page_bytes(); }

void *hak_os_remap(void *p, size_t old_bytes, size_t new_bytes) {
  long q = remap(p, old_bytes, new_bytes, MREMAP_MAYMOVE, NULL);
  return hak_kernel_refused(q) ? NULL : (void *)q;
}

/* True if [p, p + bytes) lies in a single mapping of the kernel. mremap refuses several mappings (EFAULT) before the
 * growth, which fails in any case: a mapping as long as its own address ends beyond all addresses. */
static bool is_one_mapping(char *p, size_t bytes) {
  size_t far = hak_max((size_t)(uintptr_t)p, bytes + hak_os_page_bytes());
  long answer = remap(p, bytes, far, 0, NULL);
  if (answer == (long)p) hak_os_unmap(p + bytes, far - bytes);
  return answer != -EFAULT;
}

/* True if the kernel says that the page may not be written. Fetches a missing page. */
bool hak_os_is_guarded(void *page) { return populate(page, hak_os_page_bytes(), MADV_POPULATE_WRITE) == -EINVAL; }

bool hak_os_is_plain(void *p, size_t bytes) {
  int saved = errno;
  bool plain = is_one_mapping(p, bytes) && !hak_os_is_guarded(p);
  errno = saved;
  return plain;
}

/* mremap unmaps the memory at `to` before finding that `from` does not move, and another thread may then map there:
 * hence is_one_mapping before. A refusal that remains comes either before the unmapping (too many mappings) or from
 * lack of kernel memory: then `to` is mapped again. If that mapping fails, too, the owner of the memory at `to` is
 * unknown, and no further moves are tried. */
enum hak_os_moved hak_os_move(void *from, size_t bytes, void *to) {
  bool moved = false, torn = false, taken;
  if (!hak_load(&g_os.torn) && is_one_mapping(from, bytes)) {
    moved = remap(from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == (long)to;
    torn = !moved && !hak_os_map_at(to, bytes, &taken);
  }
  if (torn) hak_store(&g_os.torn, true);
  return moved ? HAK_OS_MOVED : torn ? HAK_OS_TORN : HAK_OS_STAYED;
}

/* The processors of this thread. If the kernel has more processors than the first set holds, the first call is refused
 * and the second set is used, on a page that small processes never touch. The first set is written with the first
 * block, before anything on its page is read: a single page fault. */
static HAK_TABLE_AT(1) cpu_set_t g_processors;
static HAK_RARE cpu_set_t g_processors_of_many[8];

static uint32_t count_set(const cpu_set_t *set, size_t bytes) {
  uint32_t count = 0;
  for (size_t n = 0; n < bytes / sizeof(uint64_t); n++) {
    count += (uint32_t)__builtin_popcountll(((const uint64_t *)(const void *)set)[n]);
  }
  return count;
}

static uint32_t count_processors(void) {
  long bytes = HAK_KERNEL(SYS_sched_getaffinity, 0, sizeof g_processors, &g_processors), many = 0;
  uint32_t count = bytes > 0 ? count_set(&g_processors, (size_t)bytes) : 0;
  if (bytes < 0) many = HAK_KERNEL(SYS_sched_getaffinity, 0, sizeof g_processors_of_many, g_processors_of_many);
  if (many > 0) count = count_set(g_processors_of_many, (size_t)many);
  return count != 0 ? count : 1;
}

uint32_t hak_os_processors(void) {
  if (g_os.processors == 0) g_os.processors = count_processors();
  return g_os.processors;
}

/* Resets the policy and affinity inherited from the maker of the thread: a real-time policy would delay the program,
 * SCHED_IDLE would delay this thread, and the maker may be bound to a single processor. */
void hak_os_run_anywhere(void) {
  const struct sched_param none = {0};
  long policy = HAK_KERNEL(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;
  bool other = policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_IDLE;
  if (other) HAK_KERNEL(SYS_sched_setscheduler, 0, SCHED_OTHER, &none);
  bool few = count_set(&g_processors, sizeof g_processors) != 0; /* an empty set, never read, is refused */
  const cpu_set_t *set = few ? &g_processors : g_processors_of_many;
  HAK_KERNEL(SYS_sched_setaffinity, 0, few ? sizeof g_processors : sizeof g_processors_of_many, set);
}

static uint64_t in_ms(struct timespec t) { return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000; }

uint64_t hak_os_now_ms(void) { return in_ms(hak_clock(CLOCK_MONOTONIC_COARSE, CLOCK_MONOTONIC_COARSE)); }

static bool begins_strict(int option, unsigned long value) {
  return option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT;
}

static bool forbids_clock(int option, unsigned long value) {
  return begins_strict(option, value) || (option == PR_SET_TSC && value == PR_TSC_SIGSEGV);
}

static uint64_t in_ns(struct timespec t) { return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec; }

uint64_t hak_os_now_ns(void) { return in_ns(hak_clock(CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE)); }

uint64_t hak_os_wall_ns(void) { return in_ns(hak_clock(CLOCK_REALTIME, CLOCK_REALTIME_COARSE)); }

uint64_t hak_os_start_ms(void) { return in_ms(hak_clock_called(CLOCK_MONOTONIC_COARSE)); }

/* Mixes AT_RANDOM's 16 bytes, which the kernel gives at exec, and the stack's random address by the steps of splitmix64
 * (Steele, Lea and Flood, 2014). */
uint64_t hak_os_random(void) {
  const unsigned char *seed = (const unsigned char *)hak_given(AT_RANDOM);
  uint64_t x = (uint64_t)(uintptr_t)&seed;
  for (int i = 0; seed != NULL && i < 16; i++) x = (x << 5 | x >> 59) ^ seed[i];
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static bool membarrier(int command) { return HAK_KERNEL(SYS_membarrier, command) == 0; }

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

void hak_os_heed_prctl(int option, unsigned long value) {
  if (forbids_clock(option, value)) hak_clock_stay_coarse();
  if (begins_strict(option, value)) hak_store(&g_os.strict, true);
}

bool hak_os_is_strict(void) { return hak_load(&g_os.strict); }

int hak_os_ask(long number, long a, long b, long c, long d, long e) {
  long answer = HAK_KERNEL(number, a, b, c, d, e);
  if (!hak_kernel_refused(answer)) return (int)answer;
  errno = (int)-answer;
  return -1;
}

uint64_t hak_os_process_id(void) { return (uint64_t)HAK_KERNEL(SYS_getpid); }
uint64_t hak_os_thread_id(void) { return (uint64_t)HAK_KERNEL(SYS_gettid); }

bool hak_os_err_takes_text(void) {
  enum { SET_BYTES = 8 };
  struct pollfd err = {.fd = ERR, .events = POLLOUT};
  struct timespec most = {.tv_sec = 1};
  return HAK_KERNEL(SYS_ppoll, &err, 1, &most, NULL, SET_BYTES) != 0;
}

void hak_os_write_err(const char *text, size_t bytes) {
  while (bytes > 0) {
    long n = HAK_KERNEL(SYS_write, ERR, text, bytes);
    if (n == -EINTR) continue;
    if (n <= 0) break;
    text += n;
    bytes -= (size_t)n;
  }
}
