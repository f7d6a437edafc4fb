/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* identity.c: libhakident.so, preloaded into timed runs: tells which library serves malloc and free, and nothing more.
 *
 * what      A constructor fills the record of proof.h and asks hak_owns(), if defined, about one block. The library
 *           defines no name of the malloc family, so every call of the program goes its usual way. Where $HAKPROBE_END
 *           asks for it, a destructor notes what HAKMEM has at the end.
 * owner     The process; see proof.h.
 * locks     None.
 * orders    None.
 * hot path  None: done before main. The cost is a few system calls and the pages of a small library, the same in the
 *           run on glibc and in the run on HAKMEM.
 * failure   As in proof.h.
 * not here  Counting calls: libhakprobe.so, in an untimed run.
 */
#include "proof.h"
#include "hakmem/hakmem.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void *alloc_fn(size_t n);
typedef void free_fn(void *p);
typedef bool owns_fn(const void *p);
typedef int stats_fn(struct hak_stats *s);

/* As glibc's malloc.h has it since 2.33; HAKMEM's function is there before, too. */
struct own_mallinfo {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
typedef struct own_mallinfo mallinfo_fn(void);

/* ISO C has no conversion from void * to a function pointer. */
#define AS_FUNCTION(type, address, out)      \
  do {                                       \
    void *address_ = (address);              \
    memcpy(&(out), &address_, sizeof(type *)); \
  } while (0)

static bool fresh_block_is_owned(void)
{
  alloc_fn *alloc;
  free_fn *give_back;
  owns_fn *owns;
  AS_FUNCTION(alloc_fn, proof_serving("malloc"), alloc);
  AS_FUNCTION(free_fn, proof_serving("free"), give_back);
  AS_FUNCTION(owns_fn, proof_serving("hak_owns"), owns);
  if (alloc == NULL || give_back == NULL || owns == NULL)
    return false;
  void *block = alloc(64);
  bool owned = owns(block);
  give_back(block);
  return owned;
}

/* Where the record that gets the end is written down, on a page that the kernel clears in a forked child; NULL: the end
 * is not asked for. */
static struct proof **ending;

static void note_record(struct proof *proof)
{
  struct proof **page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, sizeof *page, MADV_WIPEONFORK) != 0)
    return;
  *page = proof;
  ending = page;
}

__attribute__((constructor)) static void prove_identity(void)
{
  struct proof *proof = proof_open(proof_identity);
  proof->owned = fresh_block_is_owned();
  if (proof->owned && getenv("HAKPROBE_END") != NULL)
    note_record(proof);
}

/* ---- the end ---- */

/* [bytes] Free memory that is likely to hold pages. On musl, without mallinfo2, all free slots count. */
static uint64_t kept_of(const struct hak_stats *now)
{
  mallinfo_fn *info;
  AS_FUNCTION(mallinfo_fn, proof_serving("mallinfo2"), info);
  uint64_t parts = now->cached + now->span_dirty + now->big_cached;
  uint64_t slots = now->slab_bytes > now->slab_live ? now->slab_bytes - now->slab_live : 0;
  uint64_t kept = info != NULL ? info().fordblks : parts + slots;
  return kept > parts ? kept : parts;
}

/* Makes no kernel call, as a filter may end the process for one that the program itself does not make. Not told: a
 * handler called exit inside malloc. */
__attribute__((destructor)) static void note_end(void)
{
  struct proof *proof = ending != NULL ? *ending : NULL;
  struct hak_stats now = {.version = HAK_STATS_VERSION, .size = sizeof now};
  stats_fn *stats;
  AS_FUNCTION(stats_fn, proof != NULL ? proof_serving("hak_get_stats") : NULL, stats);
  if (stats == NULL || stats(&now) != 0)
    return;
  struct proof_end *end = &proof->end;
  end->live = now.in_use;
  end->caches = now.cached;
  end->dirty = now.span_dirty + now.big_cached;
  end->holes = kept_of(&now) - end->caches - end->dirty;
  end->metadata = now.metadata;
  __atomic_store_n(&end->told, 1, __ATOMIC_RELEASE);
}
