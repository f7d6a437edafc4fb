/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* seal.h: data that is read-only while the program runs. In libhakmem-secure.so only.
 *
 * what      Data marked HAK_SEALED (base/bits.h) lies on pages of its own, writable until hak_seal and read-only from
 *           then on. A store opens them for its moment, for all threads: one store at a time.
 *
 *               hak_seal_open()   lock -> pages writable        hak_seal_close()   pages read-only -> unlock
 *
 * owner     g_seal.
 * locks     g_seal.lock, of the last rank. A signal handler that interrupts the holder stores under the holder's lock.
 * failure   hak_seal_open says HAK_SEAL_SHUT where the kernel refuses, and in seccomp's strict mode, in which a kernel
 *           call would end the process: then nothing may be stored. Where hak_seal is refused the pages stay writable.
 * not here  What is marked: grep HAK_SEALED.
 */
#ifndef HAK_OS_SEAL_H
#define HAK_OS_SEAL_H

#include <stdbool.h>

enum hak_seal_state {
  HAK_SEAL_SHUT,  /* the pages are read-only */
  HAK_SEAL_OPEN,  /* writable; the caller holds the lock */
  HAK_SEAL_INSIDE /* writable; the interrupted caller holds the lock */
};

/* Makes the pages read-only. At the end of the process's start; later calls change nothing. Kernel call: mprotect. */
void hak_seal(void);

/* Each call is answered by one of hak_seal_close with its value. Kernel call: mprotect, as libc's malloc makes. */
enum hak_seal_state hak_seal_open(void);
void hak_seal_close(enum hak_seal_state state);

/* True once the pages are read-only but for stores. Signal-safe. */
bool hak_is_sealed(void);

#endif
