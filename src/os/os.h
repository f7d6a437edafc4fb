/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* os.h: the only door to the kernel.
 *
 * what      A small contract: map, unmap, purge, remap, clock, page size, random bits, one line on stderr. Each
 *           call either does all it says or nothing.
 *
 *           A sandbox may end the process for a kernel call that glibc's malloc does not make. So what is done while
 *           the program runs is mmap, munmap, mremap, madvise, futex, the clock (no call where there is a vdso) and
 *           write; all else happens at load, or where "files", "load" or "no sandbox" is said below.
 * owner     Nothing is kept but the page size, the processors and the tally of calls.
 * locks     None. All of it is thread-safe and signal-safe.
 * orders    The tally is relaxed.
 * failure   NULL or false; errno is left as it was by all but hak_os_ask.
 * not here  Who decides when to map: span and box. Locks: lock.h. The fatal message: die.h.
 */
#ifndef HAK_OS_OS_H
#define HAK_OS_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A kernel call as libc makes it: -1 and errno where it is refused. For one of libc's functions that is not there. */
int hak_os_ask(long number, long a, long b, long c, long d, long e);

/* The kernel's page size in bytes, read once at run time. */
size_t hak_os_page_bytes(void);

/* `bytes` (a multiple of the page) of zero memory anywhere, or NULL. */
void *hak_os_map(size_t bytes);

/* The same exactly at `where`, disturbing nothing that is there. False: *taken, or no memory. */
bool hak_os_map_at(void *where, size_t bytes, bool *taken);

/* Makes the mapping that ends at `end` longer by `bytes`: without a further one, so also where the kernel gives no more
 * of them. False: something is in the way, or no memory. */
bool hak_os_extend(void *end, size_t bytes);

/* Gives the mapping back. False: the kernel refused, and the memory is still there. */
bool hak_os_unmap(void *p, size_t bytes);

/* Gives the pages back and keeps the addresses. True: they read as zero from now on. */
bool hak_os_purge(void *p, size_t bytes);

/* The same for up to HAK_OS_EXTENTS pieces: bit i of the answer says whether piece i went back. */
enum { HAK_OS_EXTENTS = 16 };
struct hak_extent {
  void *address;
  size_t bytes;
};
uint64_t hak_os_purge_many(const struct hak_extent *extents, size_t n);

/* Asks for huge pages in this memory, or for none. False: refused. */
bool hak_os_advise_huge(void *p, size_t bytes, bool on);

/* Makes a huge page that begins at p many small ones, so that those which go are free at once: else the kernel keeps
 * the whole until it is short of memory. Nothing happens where there is none. False: refused. */
bool hak_os_split_huge(void *p);

/* Leaves this memory out of core dumps, or takes it in again. False: refused. */
bool hak_os_advise_dump(void *p, size_t bytes, bool dump);

/* Bytes of a huge page: what one page of page-table entries maps. */
size_t hak_os_huge_bytes(void);

/* Has the program forbidden itself to write this page (mprotect)? No byte is touched; a page that was not there yet is
 * fetched. False also of a kernel that cannot say. */
bool hak_os_is_guarded(void *page);

/* Is this one of the kernel's mappings, or part of one, and not guarded? No byte is touched. */
bool hak_os_is_plain(void *p, size_t bytes);

/* Grows or shrinks a mapping, moving it if needed. Its new address, or NULL with the old one untouched. */
void *hak_os_remap(void *p, size_t old_bytes, size_t new_bytes);

/* Moves the pages of a mapping to `to`, in place of what is mapped there; addresses at `from` are free then. */
enum hak_os_moved {
  HAK_OS_STAYED, /* refused, as where it is several of the kernel's mappings; memory without pages lies at `to` */
  HAK_OS_MOVED,
  HAK_OS_TORN    /* refused, and what lies at `to` may be another thread's by now: it is to be left alone for ever */
};
enum hak_os_moved hak_os_move(void *from, size_t bytes, void *to);

/* Processors that this thread may run on. The first call, at load, asks the kernel, and all others say the same. */
uint32_t hak_os_processors(void);

/* Lets the calling thread run on all of these, and takes a real-time policy from it. */
void hak_os_run_anywhere(void);

/* Milliseconds of a clock that never goes back; coarse (a few ms) and cheap. */
uint64_t hak_os_now_ms(void);

/* Nanoseconds of a clock that never goes back, and the same in every process. */
uint64_t hak_os_now_ns(void);

/* Nanoseconds since 1970, by the clock on the wall. */
uint64_t hak_os_wall_ns(void);

/* Milliseconds for a single look, when the process starts: dearer, but it touches no page of the kernel's own clock,
 * for which a small program has no other use. */
uint64_t hak_os_start_ms(void);

/* 64 bits that another process cannot guess from its own. */
uint64_t hak_os_random(void);

/* A barrier in other threads (membarrier): when it returns true, each has been between two of its instructions at which
 * it saw all that the caller had written, and the caller sees all that it had written. No sandbox. False: refused. The
 * first question registers the process for it, which takes some milliseconds; a fork's child inherits that. */
bool hak_os_has_barrier(void);
bool hak_os_barrier(void);

/* The program is about to call prctl(option, value): the clocks above stay those that it may read. */
void hak_os_heed_prctl(int option, unsigned long value);

/* The kernel's numbers of the process and of the calling thread. */
uint64_t hak_os_process_id(void);
uint64_t hak_os_thread_id(void);

/* Writes to stderr, as far as it goes. */
void hak_os_write_err(const char *text, size_t bytes);

/* Does stderr take some text within a second? It never does where it is a pipe that is full and nobody reads. */
bool hak_os_err_takes_text(void);

/* Fetches all pages of a stretch now, for reading or for writing. False: not all of them; a kernel before 5.14 none. */
bool hak_os_populate(void *p, size_t bytes, bool write);

/* How often each kernel call was made, and what complain.h kept from stderr. tables/counters.c has them shown once
 * more. */
enum hak_os_call { HAK_OS_MAP, HAK_OS_UNMAP, HAK_OS_ADVISE, HAK_OS_REMAP, HAK_OS_FUTEX, HAK_OS_UNSAID, HAK_OS_CALLS };
enum { HAK_OS_SHOWN_STEP = 4 }; /* of cells, from one that is shown to the next */
void hak_os_tally_shown(uint64_t *first);
void hak_os_tally(enum hak_os_call call);
uint64_t hak_os_tallied(enum hak_os_call call);

#endif
