/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* identity.c: libhakident.so, preloaded into timed runs: tells which library serves malloc and free, and nothing more.
 *
 * what      A constructor fills the record of proof.h and asks hak_owns(), if defined, about one block. The library
 *           defines no name of the malloc family, so every call of the program goes its usual way. Where $HAKPROBE_END
 *           asks for it, a destructor notes what the process has at its end.
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
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

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

static struct proof *ending; /* the record that gets the end; NULL: nobody asked */

__attribute__((constructor)) static void prove_identity(void)
{
  struct proof *proof = proof_open(proof_identity);
  proof->owned = fresh_block_is_owned();
  if (getenv("HAKPROBE_END") != NULL)
    ending = proof;
}

/* ---- the end ---- */

/* [bytes] The row `key` of a text of /proc, in KiB there; 0: there is none. Without malloc, whose figures are asked for. */
static uint64_t row_of_file(const char *path, const char *key)
{
  char text[4096];
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : -1;
  if (file >= 0)
    close(file);
  text[length > 0 ? length : 0] = '\0';
  const char *row = strstr(text, key);
  return row != NULL ? (uint64_t)strtoull(row + strlen(key), NULL, 10) << 10 : 0;
}

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

static void note_own_memory(struct proof_end *end)
{
  struct hak_stats now = {.version = HAK_STATS_VERSION, .size = sizeof now};
  stats_fn *stats;
  AS_FUNCTION(stats_fn, proof_serving("hak_get_stats"), stats);
  if (stats == NULL || stats(&now) != 0)
    return;
  end->live = now.in_use;
  end->caches = now.cached;
  end->dirty = now.span_dirty + now.big_cached;
  end->holes = kept_of(&now) - end->caches - end->dirty;
  end->metadata = now.metadata;
}

/* A filter of kernel calls may end the process for a call that the program itself does not make. */
static bool is_filtered(void)
{
  return prctl(PR_GET_SECCOMP) != 0;
}

/* Of the process that the record is about: a forked child has it, too. smaps_rollup counts each page, status roughly. */
__attribute__((destructor)) static void note_end(void)
{
  if (ending == NULL || is_filtered() || ending->pid != (uint64_t)getpid())
    return;
  struct proof_end *end = &ending->end;
  if (ending->owned)
    note_own_memory(end);
  end->resident = row_of_file("/proc/self/smaps_rollup", "\nRss:");
  if (end->resident == 0)
    end->resident = row_of_file("/proc/self/status", "\nVmRSS:");
  end->peak = row_of_file("/proc/self/status", "\nVmHWM:");
  if (end->peak < end->resident)
    end->peak = end->resident;
  __atomic_store_n(&end->told, 1, __ATOMIC_RELEASE);
}
