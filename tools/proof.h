/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* proof.h: the file in which a measured process tells which library serves its malloc and free.
 *
 * what      One record per executed program, in the file $HAKPROBE_FILE.<pid>, little endian:
 *            0     header, below            1024  forked_pid[1024]
 *            5120  exe path                 6144  path of the library that serves malloc
 *            7168  ... that serves free     8192  end of the used part; records lie 64 KiB apart in the file
 *           A process that executes a second program without forking adds a second record to the same file.
 *           With $HAKPROBE_END the identity mode also tells what HAKMEM has at the end, if the process ends by exit.
 * owner     The process maps its record shared, so the record survives _exit, abort and kill. Forked children share
 *           their parent's record and add to the counts.
 * locks     None.
 * orders    Counts are relaxed atomics: the file is read after the end of the processes.
 * hot path  None here; libhakprobe.so adds one to `allocs` or `frees` per call.
 * failure   Without the variable, or when the file cannot be made, the record lives in private memory: the reader
 *           finds no proof and says so.
 * not here  The wrappers (probe.c), the constructor without wrappers (identity.c), the reader
 *           (cli/hakmem/process/proof.py).
 */
#ifndef HAKMEM_TOOLS_PROOF_H
#define HAKMEM_TOOLS_PROOF_H

#include <stdbool.h>
#include <stdint.h>

enum {
  proof_path_bytes = 1024,
  proof_forks_listed = 1024,
  proof_used_bytes = 8192,
  proof_record_bytes = 65536 /* a multiple of every page size */
};

enum proof_mode { proof_counted = 1, proof_identity = 2 };

/* HAKMEM's memory at an end by exit, before libraries' destructors (struct hak_stats) [bytes]. */
struct proof_end {
  uint64_t told;   /* 1: the others are valid; stored last */
  uint64_t live;   /* in blocks of the program */
  uint64_t caches; /* free blocks in magazines and depots */
  uint64_t dirty;  /* free runs and freed big blocks that keep their pages */
  uint64_t holes;  /* free slots of slabs and the like, on pages that are likely to be there */
  uint64_t metadata;
};

struct proof {
  char magic[8]; /* "HAKPRF01" */
  uint32_t record_bytes;
  uint32_t mode; /* enum proof_mode */
  uint64_t pid;
  uint64_t allocs; /* calls that allocate: malloc, calloc, realloc, operator new ... */
  uint64_t frees;  /* calls that free, free(NULL) included */
  uint64_t forks;  /* children forked, also those that later executed a program */
  uint64_t owned;  /* identity mode: hak_owns() knew a fresh block */
  struct proof_end end;
  uint8_t unused[920];
  uint32_t forked_pid[proof_forks_listed];
  char exe[proof_path_bytes];
  char malloc_path[proof_path_bytes];
  char free_path[proof_path_bytes];
};
_Static_assert(sizeof(struct proof) == proof_used_bytes, "the reader knows this layout");

/* Maps this process's record and fills the facts known at start; never NULL. Call once. */
struct proof *proof_open(enum proof_mode mode);

/* The definition of `name` that a call from the program reaches, except in this code's own library. */
void *proof_serving(const char *name);

#endif
