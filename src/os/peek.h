/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* peek.h: copies memory of this process that may be gone.
 *
 * what      A copy by the kernel, for which an unreadable address is an error and no signal, also when another thread
 *           unmaps the memory meanwhile.
 *
 *               process_vm_readv ---not in this kernel, or forbidden---> /proc/self/mem
 *
 * locks     None. Signal-safe.
 * failure   False. No sandbox: such calls may end the process there (os.h).
 * not here  Whether an address can be read: catch.h.
 */
#ifndef HAK_OS_PEEK_H
#define HAK_OS_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies `bytes` bytes from the address. False: not all of them could be read; *to is then undefined. */
bool hak_os_peek(void *to, uint64_t address, size_t bytes);

#endif
