/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* next.c: looks up libc's functions of the names that this library stands in front of.
 *
 * what      See next.h. A result that lies in this library (of an interposer that looks up from inside itself) is
 *           refused: the function would call itself for ever.
 * owner     g_next.
 * orders    Two threads that look up at the same time store the same addresses.
 */
#define _GNU_SOURCE
#include "api/next.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "os/lookup.h"
#include "os/os.h"
#include "os/seal.h"

HAK_SEALED struct hak_next g_next;

/* ---- replacements for functions that were not found ---- */

static int prctl_plainly(int option, ...) {
  long own[4];
  va_list list;
  va_start(list, option);
  for (unsigned n = 0; n < sizeof own / sizeof own[0]; n++) own[n] = va_arg(list, long);
  va_end(list);
  return hak_os_ask(SYS_prctl, option, own[0], own[1], own[2], own[3]);
}

static int capset_plainly(void *header, const void *data) {
  return hak_os_ask(SYS_capset, (long)header, (long)data, 0, 0, 0);
}

static int unshare_plainly(int flags) { return hak_os_ask(SYS_unshare, flags, 0, 0, 0, 0); }

static int setns_plainly(int descriptor, int kind) { return hak_os_ask(SYS_setns, descriptor, kind, 0, 0, 0); }

static int chroot_plainly(const char *folder) { return hak_os_ask(SYS_chroot, (long)folder, 0, 0, 0, 0); }

/* Calls that concern all threads are refused: only libc knows the threads. */
static int refuse(void) {
  errno = ENOSYS;
  return -1;
}

__attribute__((unused)) static void *open_nothing(void) { return NULL; }

/* ---- looking up ---- */

/* First and last address of this library, from the linker. */
extern HAK_HIDDEN const char __ehdr_start[], _end[];

static bool lies_in_library(const char *address) { return address >= __ehdr_start && address < _end; }

static void find_next(void *cell, const char *name, hak_lookup_function *lookup, void *instead) {
  void *found = lookup(RTLD_NEXT, name);
  bool is_it = found != NULL && !lies_in_library(found);
  hak_store((void **)cell, is_it ? found : instead);
}

/* Where nothing can be stored any more (seccomp's strict mode), no function of these can be called either. */
HAK_INLINE void keep_next(const struct hak_next *own) {
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) {
    g_next = *own;
    hak_store_release(&g_next.found, true);
  }
  hak_reseal(seal);
}

/* The secure flavour looks up before it unseals: libc's loader has locks, and may allocate. */
void hak_next_find(void) {
  hak_lookup_function *lookup = hak_lookup();
  struct hak_next own = {.found = false}, *next = HAK_SECURE ? &own : &g_next;
#define NEXT_FIND(name, result, parameters, instead) find_next(&next->name, #name, lookup, (void *)(instead));
  HAK_NEXT_NAMES(NEXT_FIND)
#undef NEXT_FIND
  if (HAK_SECURE) keep_next(&own);
  else hak_store_release(&g_next.found, true);
}
