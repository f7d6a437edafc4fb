/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hakmem.h: the public interface of the HAKMEM memory allocator.
 *
 * what      The names a program uses when it links HAKMEM without overriding malloc, and the ones that are
 *           HAKMEM's own (statistics, settings, ownership). The malloc family itself needs no header.
 * owner     Every block belongs to the caller from the return of hak_malloc & co. to its hak_free.
 * locks     Every function may be called by any thread at any time. None is async-signal-safe except
 *           hak_version.
 * orders    A block may be freed by a thread that did not allocate it; passing the pointer on safely
 *           (release/acquire) is the program's business, as with any malloc.
 * hot path  hak_malloc and hak_free of blocks up to 32 KiB: no lock, no call.
 * failure   NULL with errno = ENOMEM (or EINVAL where said). A wrong pointer ends the program with one line: a foreign
 *           one at the call; a second free or a pointer inside a block there or when a cache is flushed, or not at all
 *           where the block is handed out before. With the setting checks=on all of these at the call.
 * not here  The malloc family (glibc's headers declare it) and operator new/delete. What may still change:
 *           experimental.h.
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

/* The version of the library that runs, "0.1.0". Signal-safe. */
const char *hak_version(void);

/* ---- the malloc family under its own names: arguments, results and errors as the standard ones ---- */

/* n bytes, 16-byte aligned, contents undefined. n = 0 gives a unique pointer. ENOMEM. */
void *hak_malloc(size_t n);
/* count * size bytes, all zero. ENOMEM also when the product overflows. */
void *hak_calloc(size_t count, size_t size);
/* Moves or grows p to n bytes. p = NULL allocates; n = 0 frees p and gives NULL. On ENOMEM p is untouched. */
void *hak_realloc(void *p, size_t n);
/* hak_realloc of count * size bytes. ENOMEM also when the product overflows. */
void *hak_reallocarray(void *p, size_t count, size_t size);
/* n bytes at a multiple of align (a power of two, else EINVAL). ENOMEM. */
void *hak_aligned_alloc(size_t align, size_t n);
/* As hak_aligned_alloc, but rounds align up to a power of two; EINVAL when it cannot. ENOMEM. */
void *hak_memalign(size_t align, size_t n);
/* Stores the block in *out. Returns 0, EINVAL or ENOMEM, which is in errno too; else errno stays as it was, and so does
 * *out on failure. */
int hak_posix_memalign(void **out, size_t align, size_t n);
/* Gives p back; NULL does nothing; errno stays as it was. */
void hak_free(void *p);
/* C23: n (and align) as they were asked for. The class map is read all the same. */
void hak_free_sized(void *p, size_t n);
void hak_free_aligned_sized(void *p, size_t align, size_t n);
/* Bytes that may be used at p (at least as many as asked for); 0 for NULL. */
size_t hak_usable_size(const void *p);

/* ---- beyond malloc ---- */

/* As hak_malloc. `site` labels who asks (any address; blocks of one site are expected to behave alike). The
 * label is free; policies that use it only ever choose where a block lies and how long its memory is kept. */
void *hak_alloc_at(size_t n, const void *site);

/* For how long memory stays that this site's blocks of a MiB and more leave free: `ms` milliseconds or up to twice as
 * long (64 ms to 17 minutes), whatever the price, unless memory is short. 0: as the price says, which all sites begin
 * with. Counts for blocks had from now on. In a program of one thread what is over goes when it next frees a block of a
 * MiB or more, and it goes at once when the last thread but one ends. 0; EINVAL: site is NULL; ENOMEM: too many sites
 * are in use. */
int hak_keep_at(const void *site, size_t ms);

/* True when p lies in a block HAKMEM handed out or could hand out. Any value may be asked about; no fault. */
bool hak_owns(const void *p);

/* Usable bytes of all live blocks: exact when no other thread is inside a call. Walks caches, not blocks. */
size_t hak_bytes_in_use(void);

/* Gives free memory back to the kernel, pages inside slabs too, keeping about `pad` bytes of free runs. True when any
 * page went back. */
bool hak_trim(size_t pad);

/* Limits in bytes on what HAKMEM's blocks may take, 0 for none: above `soft` free memory goes back first, more than
 * `hard` is refused with ENOMEM. The settings soft_limit and hard_limit, both at once. 0; EINVAL: `hard` is not 0 and
 * below `soft`, or one is too large, nothing was changed. A limit below what is in use is counted (`unsaid`), once. */
int hak_set_limit(size_t soft, size_t hard);

/* Who holds memory: from hak_profile_start to hak_profile_stop (the setting `profile`) one byte in `bytes` is sampled
 * (0: as the setting profile_bytes says; at most a TiB, else EINVAL), and the stack that asked for its block is noted
 * until it is freed, be it after the stop. hak_profile_dump writes what is known to a file in the format of pprof
 * (profile.proto, not compressed), whole or not at all: what is live, and what was ever allocated, each by stack,
 * without bias. `path`: NULL is the file of the setting profile_file. Any thread may call them at any time, but not in
 * a signal handler. 0; EINVAL: no path, or what lies there is no file; ENOMEM; ENAMETOOLONG; or what the kernel says,
 * as ENOENT, EACCES, ENOSPC, EFBIG. errno stays. */
int hak_profile_start(size_t bytes);
void hak_profile_stop(void);
int hak_profile_dump(const char *path);

#define HAK_STATS_VERSION 1
/* Sizes in bytes. A newer library fills only the `size` bytes the caller knows. */
struct hak_stats {
  uint32_t version;       /* in: HAK_STATS_VERSION */
  uint32_t size;          /* in: sizeof(struct hak_stats) */
  uint64_t in_use;        /* usable bytes of live blocks */
  uint64_t cached;        /* bytes of free blocks in magazines and depots */
  uint64_t slab_bytes;    /* address space of open slabs */
  uint64_t slab_live;     /* bytes of blocks out of slabs: live or cached */
  uint64_t large_live;    /* bytes of runs out, 32 KiB up to the big threshold: live or cached */
  uint64_t big_live;      /* bytes of live blocks above it */
  uint64_t big_cached;    /* bytes of freed big blocks kept for re-use */
  uint64_t span_dirty;    /* bytes of free runs that still hold pages */
  uint64_t span_clean;    /* bytes of free runs that hold none */
  uint64_t metadata;      /* bytes mapped for HAKMEM's own tables */
  uint64_t mapped;        /* bytes of address space mapped in all */
  uint64_t threads;       /* thread contexts in use */
  uint64_t big_blocks;    /* live blocks above the big threshold: their number */
};

/* Fills *s. 0, or EINVAL when version is 0 or newer than the library, or size is too small to hold both. */
int hak_get_stats(struct hak_stats *s);

#define HAK_UTILIZATION_VERSION 1
/* How full the slab is that a block lies in, for programs that defragment by moving their blocks. Blocks that are out
 * are live or in a thread's cache. A block of more than 32 KiB has a slab, as it were, of its own: its class has no
 * figures. A newer library fills only the `size` bytes the caller knows. */
struct hak_utilization {
  uint32_t version;      /* in: HAK_UTILIZATION_VERSION */
  uint32_t size;         /* in: sizeof(struct hak_utilization) */
  uint64_t block_bytes;  /* of the block: usable bytes */
  uint64_t slab_bytes;   /* of its slab: address space */
  uint64_t slab_blocks;  /* how many blocks the slab has room for */
  uint64_t slab_out;     /* and how many are out */
  uint64_t class_slabs;  /* slabs of the same class that have room and are not empty: their number, */
  uint64_t class_out;    /* and blocks that are out of them: both up to 20 ms old, or older in a heap of many GiB */
  uint64_t page_bytes;   /* of the kernel's page that p lies on */
  uint64_t page_out;     /* bytes of blocks that are out, on that page */
  uint64_t current;      /* 1: some thread takes its new blocks from this slab */
  uint64_t worth_moving; /* 1: not so, it has room, and is no fuller than those slabs are on average, or by an eighth */
};

/* Fills *u for the block that p lies in (any of its bytes). To defragment: where worth_moving is 1, hak_malloc, copy,
 * and hak_free, but not at once: the block that a thread freed last is the one it gets next, so free some hundred at a
 * time, after their copies were had. Takes the lock of the block's class, and walks the table of slabs now and then,
 * for at most a 64th of the time. Any value may be asked about, by any thread, but not in a signal handler; of a block
 * that another thread frees meanwhile the answer may be either. 0; ENOENT: p lies in no block that is out (NULL, free,
 * another allocator's); EINVAL: version or size are wrong, as with hak_get_stats. errno stays. */
int hak_page_utilization(const void *p, struct hak_utilization *u);

/* The n-th counter (0, 1, 2 ...): its name and value; false past the last. Routes are counted per call only
 * while the setting `count_calls` is on. */
bool hak_counter(unsigned n, const char **name, uint64_t *value);

#define HAK_SITE_VERSION 1
#define HAK_SITE_NAME_BYTES 256
/* A call site: an address in the program that asked for blocks, and what became of them. Counted are blocks of 64 KiB
 * and more, up to 256 KiB those that no magazine served (with the setting `site_all_sizes` all, from 32 KiB on), and
 * what hak_alloc_at hands out (of what magazines serve: that it did). A site that serves many purposes has a row for
 * each depth of the stack. Bytes are usable bytes. A newer library fills only the `size` bytes the caller knows. */
struct hak_site_stats {
  uint32_t version;      /* in: HAK_SITE_VERSION */
  uint32_t size;         /* in: sizeof(struct hak_site_stats) */
  uint64_t address;      /* what the call returns to, or what hak_alloc_at was given */
  uint64_t depth;        /* of the stack, in units of 16 bytes; 0: all that have no row of their own */
  uint64_t count, bytes; /* blocks had */
  uint64_t live, live_bytes;   /* of these, not freed yet */
  uint64_t lifetime_ms;  /* of those freed: in all */
  uint64_t gaps, gap_ms; /* how often what it freed was taken again (big blocks), and after how long: in all */
  uint64_t hits;         /* of its blocks: had without a page from the kernel */
  uint64_t fetched;      /* pages that the kernel gave for the others */
  uint64_t sizes;        /* bit k: a block of 2^k bytes, or up to twice as many, was had */
  uint64_t keep_ms;      /* for how long what it leaves free stays; 0: as the price says */
};

/* Fills *s for the n-th site (0, 1, 2 ...); false past the last, and when version or size are wrong. Rows that are not
 * in use have address 0. Safe in any thread; a row that changes meanwhile may be of two moments. */
bool hak_site(unsigned n, struct hak_site_stats *s);

/* Writes a name of that address, at most `size` bytes with the closing zero: "symbol+0x12 (module)", or
 * "module+0x1234", or the number when it lies in no module that is loaded now. 0; ERANGE: it is longer, and was cut. A
 * C++ symbol, which is not demangled, may be longer than HAK_SITE_NAME_BYTES. Asks the dynamic loader: not in a signal
 * handler. */
int hak_site_name(uint64_t address, char *out, size_t size);

/* One setting by name, as text ("64M", "on", "250"). 0; EINVAL: malformed or out of range; ENOENT: no such
 * setting; EPERM: it can only be set at start. */
int hak_set(const char *name, const char *value);
/* Writes the setting's present value as text, at most `size` bytes with the closing zero. 0, ENOENT, ERANGE. */
int hak_get(const char *name, char *out, size_t size);

/* The third way to settings, beside the environment and hak_set: a program may define this symbol,
 *   const char hak_options[] = "big_cache_bytes=64M,count_calls=on";
 * read at start, before the environment. */
extern const char hak_options[] __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
