/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* account.h: what the processes of a command left in a folder, summed up in a few lines.
 *
 * what      folder: proof.<pid>    who serves malloc and free, program by program (proof.h)
 *                   counts.<pid>   what HAKMEM counted (src/tables/counters.h)
 */
#ifndef HAKMEM_TOOLS_ACCOUNT_H
#define HAKMEM_TOOLS_ACCOUNT_H

#include <stdio.h>
#include <sys/types.h>

/* Whether this library served the command that began as process `first`, and what was counted. */
void account_print(FILE *to, const char *folder, const char *library, pid_t first);

/* 1234567 as "1,234,567", in a buffer that the eighth call after it uses again. */
const char *grouped(unsigned long long number);

/* 1536 as "1.5 KiB", in the same way. */
const char *as_bytes(double bytes);

#endif
