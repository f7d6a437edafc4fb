/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* os.h: the kernel's services for all layers.
 *
 * what      Map, unmap, purge, remap, clock, page size, random bits, a line on stderr. Each call succeeds as a whole or
 *           changes nothing.
 *           A sandbox may end the process for a kernel call that glibc's malloc does not make. So while the program
 *           runs the calls are mmap, munmap, mremap, madvise, futex, the clock (no call where there is a vdso) and
 *           write. All further calls happen at load, belong to files, or are marked "no sandbox" below.
 * owner     The page size, the processors and the tally of calls.
 * locks     None. All functions are thread-safe and signal-safe.
 * orders    The tally is relaxed.
 * failure   NULL or false; errno is not changed, except by hak_os_ask.
 * not here  The decision to map: src/runs, src/blocks. Locks: lock.h. The fatal message: die.h.
 */
#ifndef HAK_OS_OS_H
#define HAK_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

/* A kernel call by libc's convention: -1 and errno if refused. In place of a function that this libc lacks. */
int hak_os_ask(long number, long a, long b, long c, long d, long e);

/* The kernel's page size [bytes], read once. */
size_t hak_os_page_bytes(void);

/* Maps `bytes` (a multiple of the page) of zero memory at any address. NULL: refused. */
void *hak_os_map(size_t bytes);

/* Takes `bytes` (a multiple of the page) of addresses that no access reaches. NULL: refused. */
void *hak_os_reserve(size_t bytes);

/* Opens a part of such addresses: zero memory; shuts the part again, its pages are gone. False: refused; the addresses
 * may be free now, and soon another mapping's: never touch them again. Kernel call: mmap. */
bool hak_os_open(void *p, size_t bytes);
bool hak_os_shut(void *p, size_t bytes);

/* Lets no access reach a page of the library's mapping, and again any; the page is zero then. By advice, which uses no
 * further mapping, or where the kernel has none by protection. False: refused, the page is as it was. */
bool hak_os_shut_page(void *page);
bool hak_os_open_page(void *page);

/* Maps exactly at `where`, and never over an existing mapping. False: *taken if the addresses are in use, else no
 * memory. */
bool hak_os_map_at(void *where, size_t bytes, bool *taken);

/* Extends the mapping that ends at `end` by `bytes`. Needs no further mapping, so works at the kernel's limit of
 * mappings, too. False: the addresses are in use, or no memory. */
bool hak_os_extend(void *end, size_t bytes);

/* Unmaps. False: the kernel refused; the memory is still mapped. */
bool hak_os_unmap(void *p, size_t bytes);

/* Unmaps memory of an experiment: a refused call is repeated, as no later code would unmap it. */
void hak_os_unmap_probe(void *p, size_t bytes);

/* Releases the pages and keeps the addresses. True: the memory reads as zero from now on. */
bool hak_os_purge(void *p, size_t bytes);

/* Purges up to HAK_OS_EXTENTS pieces. Returns a set: bit i is 1 if piece i was purged. */
enum { HAK_OS_EXTENTS = 16 };
struct hak_extent {
  void *address;
  size_t bytes;
};
uint64_t hak_os_purge_many(const struct hak_extent *extents, size_t n);

/* Requests huge pages in this memory, or none. False: refused. */
bool hak_os_advise_huge(void *p, size_t bytes, bool on);

/* look: reads which pages the system gives, and whether only where advised. Opens files. unadvise: if huge pages come
 * by advice, withdraws it from this memory; no call otherwise, nor before the look: such memory has the system's
 * default, which no advice can restore. none: no memory is to have huge pages, so the default is withdrawn, too. */
void hak_os_look_at_huge(bool none);
void hak_os_unadvise_huge(void *p, size_t bytes);

struct hak_huge_modes {
  size_t middle_bytes;
  bool huge_by_advice;
};
extern HAK_HIDDEN struct hak_huge_modes g_huge_modes; /* in huge_modes.c */

/* True if huge pages are given only where advised, as far as looked; or if none are wanted, and some are given. */
bool hak_os_huge_is_by_advice(void);

/* [bytes] The largest pages from 64 KiB to 1 MiB that the system gives without advice, where it gives no huge pages
 * without advice; 0: none, as far as looked. Memory that was advised to have no huge pages gets none of these. */
static inline size_t hak_os_middle_bytes(void) { return hak_load(&g_huge_modes.middle_bytes); }

/* Splits the huge page of which this memory is a part into small pages, so that purged pages are free at once: the
 * kernel keeps an unsplit huge page whole until memory is short. No effect without a huge page. False: refused. */
bool hak_os_split_huge(void *part, size_t bytes);

/* Excludes this memory from core dumps, or includes the memory again. False: refused. */
bool hak_os_advise_dump(void *p, size_t bytes, bool dump);

/* Size of a huge page [bytes]: the memory mapped by one page of page-table entries. */
size_t hak_os_huge_bytes(void);

/* True if the program has made this page unwritable (mprotect). No byte changes; a missing page is fetched. False also
 * if the kernel cannot tell. */
bool hak_os_is_guarded(void *page);

/* True if the memory lies in a single mapping of the kernel and its first page is not guarded. No byte changes. */
bool hak_os_is_plain(void *p, size_t bytes);

/* Grows or shrinks a mapping, which may move. Returns the new address; NULL: refused, the mapping is unchanged. */
void *hak_os_remap(void *p, size_t old_bytes, size_t new_bytes);

/* Moves the pages of a mapping to `to`, in place of the mapping there. The addresses at `from` are free then. */
enum hak_os_moved {
  HAK_OS_STAYED, /* refused, e.g. for several of the kernel's mappings; memory without pages lies at `to` */
  HAK_OS_MOVED,
  HAK_OS_TORN    /* refused; the memory at `to` may be another thread's: never touch `to` again */
};
enum hak_os_moved hak_os_move(void *from, size_t bytes, void *to);

/* Number of processors that this thread may run on. The first call, at load, asks the kernel; later calls return the
 * same. */
uint32_t hak_os_processors(void);

/* Lets the calling thread run on all these processors, and resets a real-time or idle policy. */
void hak_os_run_anywhere(void);

/* Monotonic time [ms]; coarse (a few ms) and cheap. */
uint64_t hak_os_now_ms(void);

/* Monotonic time [ns], the same in every process. */
uint64_t hak_os_now_ns(void);

/* Wall-clock time since 1970 [ns]. */
uint64_t hak_os_wall_ns(void);

/* Monotonic time [ms] by a kernel call, for the start of the process: slower, but touches no page of the vdso, which a
 * small program would not use again. */
uint64_t hak_os_start_ms(void);

/* 64 random bits that another process cannot guess from its own. */
uint64_t hak_os_random(void);

/* A memory barrier in all threads of the process (membarrier). True: every thread has passed a point between two
 * instructions where the thread saw all earlier stores of the caller, and the caller sees all of the thread's stores
 * before that point. No sandbox. False: refused. The first call of hak_os_has_barrier registers the process, which
 * takes some ms; a fork's child inherits the registration. */
bool hak_os_has_barrier(void);
bool hak_os_barrier(void);

/* Called before the program's prctl(option, value): from then on the clocks above use only readings that stay
 * permitted. */
void hak_os_heed_prctl(int option, unsigned long value);

/* True once the program has begun seccomp's strict mode, in which all kernel calls but read and write end it. */
bool hak_os_is_strict(void);

/* The kernel's ids of the process and of the calling thread. */
uint64_t hak_os_process_id(void);
uint64_t hak_os_thread_id(void);

/* Writes to stderr; stops at the first error. */
void hak_os_write_err(const char *text, size_t bytes);

/* True if stderr accepts text within 1 s. False for a full pipe that no process reads. */
bool hak_os_err_takes_text(void);

/* Fetches all pages of this memory now, for reading or for writing. False: not all; with a kernel before 5.14 none. */
bool hak_os_populate(void *p, size_t bytes, bool write);

/* Counts of kernel calls, and of complaints kept from stderr (complain.h). hak_os_tally_shown sets the second copy of
 * the counts, for tables/counters.c. */
enum hak_os_call { HAK_OS_MAP, HAK_OS_UNMAP, HAK_OS_ADVISE, HAK_OS_REMAP, HAK_OS_FUTEX, HAK_OS_UNSAID, HAK_OS_CALLS };
enum { HAK_OS_SHOWN_STEP = 4 }; /* [cells] from a shown count to the next */
extern HAK_HIDDEN uint64_t g_os_tally[HAK_OS_CALLS];
void hak_os_tally_shown(uint64_t *first);
void hak_os_tally(enum hak_os_call call);
uint64_t hak_os_tallied(enum hak_os_call call);

#endif
