/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peek.h: copies and compares memory of this process that may be gone.
 *
 * what      The kernel reads it: an unreadable address is an error and no signal, also when another thread unmaps the
 *           memory meanwhile.
 *
 *               copy:     process_vm_readv ---not in this kernel, or forbidden---> /proc/self/mem
 *               compare:  futex, FUTEX_CMP_REQUEUE of no waiters
 *
 * locks     None. Signal-safe.
 * failure   False. Copies: no sandbox, as such calls may end the process there (os.h).
 * not here  Whether an address can be read: catch.h.
 */
#ifndef HAK_OS_PEEK_H
#define HAK_OS_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies `bytes` bytes from the address. False: not all of them could be read; *to is then undefined. */
bool hak_os_peek(void *to, uint64_t address, size_t bytes);

/* True if `words` words at the address are there and equal to these. The address is a multiple of 4.
 * In seccomp's strict mode always true: no module can be unloaded there. */
bool hak_os_holds(uint64_t address, const uint32_t *word, size_t words);

/* True if the word at the address, a multiple of 4, is there and is not `word`. In seccomp's strict mode always
 * false. */
bool hak_os_differs(uint64_t address, uint32_t word);

#endif
