/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* identity.c: libhakident.so, preloaded into timed runs: tells which library serves malloc and free, and nothing more.
 *
 * what      A constructor fills the record of proof.h and asks hak_owns(), if defined, about one block. The library
 *           defines no name of the malloc family, so every call of the program goes its usual way.
 * owner     The process; see proof.h.
 * locks     None.
 * orders    None.
 * hot path  None: done before main. The cost is a few system calls and the pages of a small library, the same in the
 *           run on glibc and in the run on HAKMEM.
 * failure   As in proof.h.
 * not here  Counting calls: libhakprobe.so, in an untimed run.
 */
#include "proof.h"
#include <stddef.h>
#include <string.h>

typedef void *alloc_fn(size_t n);
typedef void free_fn(void *p);
typedef bool owns_fn(const void *p);

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

__attribute__((constructor)) static void prove_identity(void)
{
  struct proof *proof = proof_open(proof_identity);
  proof->owned = fresh_block_is_owned();
}
