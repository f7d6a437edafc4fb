/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hakmem.h: the public interface of the HAKMEM memory allocator.
 *
 * what      Names for a program that links HAKMEM without overriding malloc, and HAKMEM's own names (statistics,
 *           settings, ownership). The malloc family itself needs no header.
 * owner     A block belongs to the caller from the return of hak_malloc & co. to its hak_free.
 * locks     Any thread may call any function at any time. hak_version is async-signal-safe, all other functions are
 *           not.
 * orders    A block may be freed by a thread that did not allocate it; the program passes the pointer between threads
 *           with release and acquire, as with any malloc.
 * hot path  hak_malloc and hak_free of blocks up to 32 KiB: no lock, no call.
 * failure   NULL with errno = ENOMEM (or EINVAL where said). A wrong pointer ends the program with one line: a foreign
 *           pointer at the call; a second free or a pointer inside a block at the call or when a cache is flushed, or
 *           not at all where the block is handed out before the flush. With the setting checks=on every wrong pointer
 *           at the call.
 * not here  The malloc family (glibc's headers declare malloc & co.) and operator new/delete. Names that may still
 *           change: experimental.h.
 */
#ifndef HAKMEM_HAKMEM_H
#define HAKMEM_HAKMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HAK_VERSION_MAJOR 0
#define HAK_VERSION_MINOR 1
#define HAK_VERSION_PATCH 0

/* Returns the version of the library that runs, "0.1.0". Async-signal-safe. */
const char *hak_version(void);

/* ---- the malloc family under HAKMEM's names: arguments, results and errors as the standard functions ---- */

/* Returns n bytes, 16-byte aligned, contents undefined. n = 0 gives a unique pointer. ENOMEM. */
void *hak_malloc(size_t n);
/* Returns count * size bytes, all zero. ENOMEM also when the product overflows. */
void *hak_calloc(size_t count, size_t size);
/* Resizes p to n bytes, in place or by a copy to a new block. p = NULL allocates; n = 0 frees p and gives NULL. On
 * ENOMEM p is untouched. */
void *hak_realloc(void *p, size_t n);
/* hak_realloc of count * size bytes. ENOMEM also when the product overflows. */
void *hak_reallocarray(void *p, size_t count, size_t size);
/* Returns n bytes at a multiple of align (a power of two, else EINVAL). ENOMEM. */
void *hak_aligned_alloc(size_t align, size_t n);
/* As hak_aligned_alloc, but rounds align up to a power of two; EINVAL when align has no such power. ENOMEM. */
void *hak_memalign(size_t align, size_t n);
/* Stores the block in *out. Returns 0, EINVAL or ENOMEM. On ENOMEM errno is ENOMEM, too; otherwise errno is unchanged.
 * On failure *out is unchanged. */
int hak_posix_memalign(void **out, size_t align, size_t n);
/* Frees p. NULL does nothing. errno is unchanged. */
void hak_free(void *p);
/* C23: n (and align) as at the allocation. Both are ignored: the class map gives the block's size, as in hak_free. */
void hak_free_sized(void *p, size_t n);
void hak_free_aligned_sized(void *p, size_t align, size_t n);
/* Usable bytes at p (at least the requested number); 0 for NULL. */
size_t hak_usable_size(const void *p);

/* ---- beyond malloc ---- */

/* As hak_malloc. `site` labels the caller (any address; blocks of one site are expected to behave alike). The label
 * costs nothing. Policies that use the label choose only where a block lies and how long free memory stays. */
void *hak_alloc_at(size_t n, const void *site);

/* Sets how long memory stays resident after this site frees blocks of 1 MiB and more: `ms` milliseconds, or up to twice
 * as long (range 64 ms to 17 minutes), at any price, unless memory is short. 0: the price decides, the initial state of
 * every site. Counts for blocks allocated from now on. In a program of one thread overdue memory is released at the
 * next free of a block of 1 MiB or more, and at once when the second-to-last thread ends. Returns 0; EINVAL: site is
 * NULL; ENOMEM: the table of sites is full. */
int hak_keep_at(const void *site, size_t ms);

/* True if p lies in a block that HAKMEM handed out or could hand out. Any value of p is allowed and never faults. */
bool hak_owns(const void *p);

/* Usable bytes of all live blocks: exact while no other thread is inside a call. Walks caches, not blocks. */
size_t hak_bytes_in_use(void);

/* Releases free memory to the kernel, pages inside slabs too, except about `pad` bytes of free runs. True if at least
 * one page was released. */
bool hak_trim(size_t pad);

/* Limits [bytes] of the memory of HAKMEM's blocks, 0 for none. Above `soft` free memory is released first; an
 * allocation that would exceed `hard` fails with ENOMEM. Sets the settings soft_limit and hard_limit together. Returns
 * 0; EINVAL: `hard` is not 0 and below `soft`, or a limit is too large; then both limits are unchanged. A limit below
 * the memory in use adds one to the counter `unsaid`. */
int hak_set_limit(size_t soft, size_t hard);

/* Heap profile by stack. From hak_profile_start to hak_profile_stop (the setting `profile`) one byte in `bytes` is
 * sampled (0: the setting profile_bytes; at most 1 TiB, else EINVAL). The allocating stack of a sampled block is kept
 * until the block is freed, also after the stop. hak_profile_dump writes the samples to a file in the format of pprof
 * (profile.proto, not compressed): live bytes and bytes ever allocated, per stack, without bias. The file is written
 * completely or not at all. `path`: NULL is the file of the setting profile_file. Any thread may call these functions
 * at any time, but not in a signal handler. Returns 0; EINVAL: no path, or the path names something that is no file;
 * ENOMEM; ENAMETOOLONG; or the kernel's error, as ENOENT, EACCES, ENOSPC, EFBIG. errno is unchanged. */
int hak_profile_start(size_t bytes);
void hak_profile_stop(void);
int hak_profile_dump(const char *path);

#define HAK_STATS_VERSION 1
/* Sizes in bytes. A newer library fills only the caller's first `size` bytes. */
struct hak_stats {
  uint32_t version;       /* in: HAK_STATS_VERSION */
  uint32_t size;          /* in: sizeof(struct hak_stats) */
  uint64_t in_use;        /* usable bytes of live blocks */
  uint64_t cached;        /* bytes of free blocks in magazines and depots */
  uint64_t slab_bytes;    /* address space of open slabs */
  uint64_t slab_live;     /* bytes of blocks handed out by slabs: live or cached */
  uint64_t large_live;    /* bytes of runs handed out, 32 KiB up to the big threshold: live or cached */
  uint64_t big_live;      /* bytes of live blocks above the big threshold */
  uint64_t big_cached;    /* bytes of freed big blocks cached for reuse */
  uint64_t span_dirty;    /* bytes of free runs with resident pages */
  uint64_t span_clean;    /* bytes of free runs without resident pages */
  uint64_t metadata;      /* bytes mapped for HAKMEM's own tables */
  uint64_t mapped;        /* bytes of address space mapped in all */
  uint64_t threads;       /* thread contexts in use */
  uint64_t big_blocks;    /* number of live blocks above the big threshold */
};

/* Fills *s. Returns 0; EINVAL when version is 0 or newer than the library, or size is too small for version and size;
 * EBUSY in a signal handler, or at the exit that a handler began, where the thread was inside malloc or free. */
int hak_get_stats(struct hak_stats *s);

#define HAK_UTILIZATION_VERSION 1
/* How full the slab of a block is, for programs that defragment by moving blocks. A block is handed out while live or
 * in a thread's cache. A block above 32 KiB, or a guarded one (setting guard_bytes), counts as a slab with one slot,
 * and the class figures are 0. A newer library fills only the caller's first `size` bytes. */
struct hak_utilization {
  uint32_t version;      /* in: HAK_UTILIZATION_VERSION */
  uint32_t size;         /* in: sizeof(struct hak_utilization) */
  uint64_t block_bytes;  /* usable bytes of the block */
  uint64_t slab_bytes;   /* address space of the block's slab [bytes] */
  uint64_t slab_blocks;  /* slots of the slab */
  uint64_t slab_out;     /* slots of the slab that are handed out */
  uint64_t class_slabs;  /* slabs of the class with a free slot and a slot handed out */
  uint64_t class_out;    /* slots handed out in these slabs; both up to 20 ms old, older in a heap of many GiB */
  uint64_t page_bytes;   /* size of the kernel page that p lies on */
  uint64_t page_out;     /* bytes of blocks handed out on this page */
  uint64_t current;      /* 1: a thread takes new blocks from this slab */
  uint64_t worth_moving; /* 1: moving pays: not current, has a free slot, at most 1/8 fuller than the class average */
};

/* Fills *u for the block that p lies in (any byte of the block). To defragment where worth_moving is 1: hak_malloc,
 * copy, hak_free. Free in batches of some hundred, after all copies of the batch: the block that a thread freed last is
 * the next block handed to that thread. Takes the lock of the block's class; now and then walks the table of slabs, for
 * at most 1/64 of the time. Any thread may ask about any value, but not in a signal handler. If another thread frees
 * the block meanwhile, either answer is possible. Returns 0; ENOENT: p lies in no block that is handed out (NULL, free,
 * another allocator's); EINVAL: version or size are wrong, as with hak_get_stats. errno is unchanged. */
int hak_page_utilization(const void *p, struct hak_utilization *u);

/* Gives name and value of counter n (0, 1, 2 ...); false past the last counter. Routes are counted per call only while
 * the setting `count_calls` is on. */
bool hak_counter(unsigned n, const char **name, uint64_t *value);

#define HAK_SITE_VERSION 1
#define HAK_SITE_NAME_BYTES 256
/* A call site: an address in the program that allocates blocks, and the fate of these blocks. Counted: blocks of 64 KiB
 * and more, up to 256 KiB only where no magazine served the block (with the setting `site_all_sizes` every block of 32
 * KiB and more), and blocks of hak_alloc_at (where a magazine served: only the allocation). A site that allocates for
 * several purposes has a row for each depth of the stack. Bytes are usable bytes. A newer library fills only the
 * caller's first `size` bytes. */
struct hak_site_stats {
  uint32_t version;      /* in: HAK_SITE_VERSION */
  uint32_t size;         /* in: sizeof(struct hak_site_stats) */
  uint64_t address;      /* return address of the call, or the site passed to hak_alloc_at */
  uint64_t depth;        /* depth of the stack [16 bytes]; 0: all depths without a row of their own */
  uint64_t count, bytes; /* blocks allocated */
  uint64_t live, live_bytes;   /* blocks of these that are not freed yet */
  uint64_t lifetime_ms;  /* sum of the lifetimes of the freed blocks [ms] */
  uint64_t gaps, gap_ms; /* big blocks freed here and reused: number, and sum of the times from free to reuse [ms] */
  uint64_t hits;         /* blocks served without a page from the kernel */
  uint64_t fetched;      /* pages fetched from the kernel for blocks that are no hit */
  uint64_t sizes;        /* bit k: a block of 2^k to 2^(k+1) - 1 bytes was allocated */
  uint64_t keep_ms;      /* time that memory freed by this site stays [ms]; 0: the price decides */
};

/* Fills *s for site n (0, 1, 2 ...); false past the last site, and when version or size are wrong. Unused rows have
 * address 0. Any thread may call; a row that changes during the call may mix two states. */
bool hak_site(unsigned n, struct hak_site_stats *s);

/* Writes a name of the address, at most `size` bytes with the terminating zero: "symbol+0x12 (module)", or
 * "module+0x1234", or the number when the address lies in no loaded module. Returns 0; ERANGE: the name is longer and
 * was cut. C++ symbols are not demangled and may exceed HAK_SITE_NAME_BYTES. Calls the dynamic loader: not in a signal
 * handler. */
int hak_site_name(uint64_t address, char *out, size_t size);

/* Sets a setting by name from text ("64M", "on", "250"). Returns 0; EINVAL: malformed or out of range; ENOENT: no such
 * setting; EPERM: the setting can only be set at start, or settings are sealed (libhakmem-secure.so in seccomp's strict
 * mode); ENOTSUP: a mode that this build lacks. The setting keeps its value unless the answer is 0. */
int hak_set(const char *name, const char *value);
/* Writes the setting's present value as text, at most `size` bytes with the terminating zero. Returns 0, ENOENT or
 * ERANGE. */
int hak_get(const char *name, char *out, size_t size);

/* Settings compiled into the program, beside the environment and hak_set: a program may define this symbol,
 *   const char hak_options[] = "big_cache_bytes=64M,count_calls=on";
 * read at start, before the environment. */
extern const char hak_options[] __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
