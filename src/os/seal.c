/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* seal.c: data that is read-only while the program runs, in the secure flavour.
 *
 * what      See seal.h.
 * owner     g_seal, g_seal_secret.
 * locks     g_seal.lock.
 */
#include "os/seal.h"

#include <sys/mman.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/call.h"
#include "os/chance.h"
#include "os/lock.h"
#include "os/os.h"

/* Set by the linker (cmake/sealed.ld). */
extern HAK_HIDDEN char hak_sealed_begin[], hak_sealed_end[];

static struct {
  struct hak_lock lock;
  bool sealed;
  bool open;    /* the holder of the lock has made the pages writable */
  bool closing; /* the holder of the lock is about to make the pages read-only, or has done so */
} g_seal;

HAK_SEALED uintptr_t g_seal_secret;

static bool protect(int access) {
  return HAK_KERNEL(SYS_mprotect, hak_sealed_begin, hak_sealed_end - hak_sealed_begin, access) == 0;
}

bool hak_is_sealed(void) { return hak_load(&g_seal.sealed); }

void hak_seal(void) {
  if (hak_load(&g_seal.sealed)) return;
  g_seal_secret = (uintptr_t)hak_chance();
  hak_store(&g_seal.sealed, protect(PROT_READ));
}

enum hak_seal_state hak_seal_open(void) {
  bool inside = hak_lock_is_mine(&g_seal.lock);
  if (hak_load(&g_seal.sealed) && hak_os_is_strict()) return HAK_SEAL_SHUT;
  if (!inside) hak_lock_take(&g_seal.lock); /* taken over after a fork: the pages are opened again */
  if (!inside) hak_store(&g_seal.closing, false);
  if (!inside) hak_store(&g_seal.open, true);
  if (!hak_load(&g_seal.sealed) || protect(PROT_READ | PROT_WRITE)) return inside ? HAK_SEAL_INSIDE : HAK_SEAL_OPEN;
  if (!inside) hak_store(&g_seal.open, false);
  if (!inside) hak_lock_drop(&g_seal.lock);
  return HAK_SEAL_SHUT;
}

void hak_seal_after_fork(void) {
  if (hak_load(&g_seal.open) && !hak_lock_is_mine(&g_seal.lock)) hak_reseal(hak_unseal());
}

void hak_seal_close(enum hak_seal_state state) {
  if (state == HAK_SEAL_SHUT) return;
  if (state == HAK_SEAL_OPEN) hak_store(&g_seal.closing, true);
  if (hak_load(&g_seal.sealed) && hak_load(&g_seal.closing)) protect(PROT_READ);
  if (state == HAK_SEAL_OPEN) hak_store(&g_seal.open, false);
  if (state == HAK_SEAL_OPEN) hak_lock_drop(&g_seal.lock);
}
