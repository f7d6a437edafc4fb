/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* next.h: libc's functions of the names that this library stands in front of.
 *
 * what      Addresses, found with the process's first block, or at the first call of one of these names: a tiny process
 *           that neither allocates nor calls such a name does not touch libc's symbol table.
 *
 *              program -> setuid, here -> hak_next()->setuid, libc's
 *
 * owner     g_next (in next.c).
 * locks     The loader's, during the lookup, taken while the process has one thread. Later calls take no lock: a thread
 *           may call while another thread inside dlopen waits for the caller, or after a fork that left a locked loader
 *           behind.
 * orders    `found` is stored with release, after the addresses.
 * failure   A function that was not found is replaced by a system call if that call concerns the calling thread alone;
 *           otherwise refused (ENOSYS, NULL).
 * not here  The work before libc's functions: process.c, dlopen.c.
 */
#ifndef HAK_API_NEXT_H
#define HAK_API_NEXT_H

#include <dlfcn.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/libc.h"

/* One row per name: NEXT(name, result, parameters, replacement if the name was not found). */
#define HAK_NEXT_NAMES(NEXT)                                       \
  HAK_LIBC_OPENS(NEXT, open_nothing)                               \
  NEXT(setuid, int, (uid_t), refuse)                               \
  NEXT(seteuid, int, (uid_t), refuse)                              \
  NEXT(setreuid, int, (uid_t, uid_t), refuse)                      \
  NEXT(setresuid, int, (uid_t, uid_t, uid_t), refuse)              \
  NEXT(setgid, int, (gid_t), refuse)                               \
  NEXT(setegid, int, (gid_t), refuse)                              \
  NEXT(setregid, int, (gid_t, gid_t), refuse)                      \
  NEXT(setresgid, int, (gid_t, gid_t, gid_t), refuse)              \
  NEXT(setgroups, int, (size_t, const gid_t *), refuse)            \
  NEXT(initgroups, int, (const char *, gid_t), refuse)             \
  NEXT(capset, int, (void *, const void *), capset_plainly)        \
  NEXT(prctl, int, (int, ...), prctl_plainly)                      \
  NEXT(unshare, int, (int), unshare_plainly)                       \
  NEXT(setns, int, (int, int), setns_plainly)                      \
  NEXT(chroot, int, (const char *), chroot_plainly)

struct hak_next {
#define HAK_NEXT_CELL(name, result, parameters, instead) result(*name) parameters;
  HAK_NEXT_NAMES(HAK_NEXT_CELL)
#undef HAK_NEXT_CELL
  bool found;
};
extern HAK_HIDDEN struct hak_next g_next;

/* Looks up every name of HAK_NEXT_NAMES. */
void hak_next_find(void);

static inline const struct hak_next *hak_next(void) {
  if (HAK_UNLIKELY(!hak_load_acquire(&g_next.found))) hak_next_find();
  return &g_next;
}

#endif
