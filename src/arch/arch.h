/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* arch.h: what differs from processor to processor, chosen here alone.
 *
 * what      A header per processor, each with the same names:
 *
 *               hak_pause, hak_set_unshared          a waiting loop's hint, a lock's first step in a single thread
 *               hak_arch_exchange_own                a word that this thread shares with its signal handlers alone
 *               hak_arch_pop                         a block off the top of a stack of pointers
 *               hak_arch_pointer, hak_arch_link      the thread pointer, and what stands there
 *               HAK_ARCH_THREAD_FIRST                whether free reads its variable of the thread first
 *               HAK_ARCH_OF_THREAD, HAK_ARCH_NEAR    a thread's word, and data of the library, in few instructions
 *               hak_arch_ask, hak_arch_ask_two       a kernel call
 *               hak_arch_clone                       a thread's start
 *               HAK_ARCH_DWARF_, HAK_ARCH_HERE, HAK_ARCH_SIGNAL_, hak_arch_unsigned   the walk of a stack
 *               HAK_ARCH_HANDLER_RETURNS, HAK_ARCH_RESTORER, hak_kernel_handler_returns   a signal handler's return
 *               HAK_ARCH_CLOCK                       the name of clock_gettime in the vdso
 *               HAK_ARCH_FIRST_LIBC                  the version of the names that the first glibc here had
 *               HAK_ARCH_INSTRUCTION, HAK_ARCH_ACCESS   where a fault arose; whether of a read or a write
 *
 * not here  Anything that needs a layer.
 */
#ifndef HAK_ARCH_ARCH_H
#define HAK_ARCH_ARCH_H

#if !defined(__linux__) || !defined(__LP64__)
#error "HAKMEM is made for Linux with pointers of 64 bits"
#elif __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "HAKMEM is made for little-endian processors"
#elif defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__aarch64__)
#include "arch/aarch64.h"
#else
#error "HAKMEM is made for x86-64 and AArch64"
#endif

#endif
