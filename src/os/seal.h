/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* seal.h: data that is read-only while the program runs, in the secure flavour.
 *
 * what      Data marked HAK_SEALED (base/bits.h) lies on pages of its own, writable until hak_seal and read-only from
 *           then on. A store opens them for its moment, for all threads: one store at a time.
 *
 *               hak_unseal()   lock -> pages writable        hak_reseal()   pages read-only -> unlock
 *
 * owner     g_seal.
 * locks     g_seal.lock, of the last rank. A signal handler that interrupts the holder stores under the holder's lock.
 * failure   hak_unseal says HAK_SEAL_SHUT where the kernel refuses, and in seccomp's strict mode, in which a kernel
 *           call would end the process: then nothing may be stored. Where hak_seal is refused the pages stay writable.
 * not here  What is marked: grep HAK_SEALED.
 */
#ifndef HAK_OS_SEAL_H
#define HAK_OS_SEAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/config.h"

enum hak_seal_state {
  HAK_SEAL_SHUT,  /* the pages are read-only */
  HAK_SEAL_OPEN,  /* writable; the caller holds the lock */
  HAK_SEAL_INSIDE /* writable; the interrupted caller holds the lock */
};

/* Makes the pages read-only. At the end of the process's start; later calls change nothing. Kernel call: mprotect. */
void hak_seal(void);

/* Each call is answered by one of hak_reseal with its value. Kernel call: mprotect, as libc's malloc makes. In other
 * flavours no data is sealed: the state is HAK_SEAL_OPEN, and no code is left of both. */
enum hak_seal_state hak_seal_open(void);
void hak_seal_close(enum hak_seal_state state);
HAK_INLINE enum hak_seal_state hak_unseal(void) { return HAK_SECURE ? hak_seal_open() : HAK_SEAL_OPEN; }
HAK_INLINE void hak_reseal(enum hak_seal_state state) {
  if (HAK_SECURE) hak_seal_close(state);
}

/* In a fork's child, before its first store: closes pages that another thread of the parent had opened. In the secure
 * flavour only. */
void hak_seal_after_fork(void);

/* A pointer to a function for a word that cannot be sealed, and back: exclusive or with a sealed random word, so that a
 * pointer written without that word leads nowhere. In other flavours the pointer itself. */
extern HAK_HIDDEN uintptr_t g_seal_secret;
HAK_INLINE uintptr_t hak_seal_mangle(uintptr_t p) { return HAK_SECURE ? p ^ g_seal_secret : p; }

/* True once the pages are read-only but for stores. Signal-safe. In the secure flavour only. */
bool hak_is_sealed(void);

#endif
