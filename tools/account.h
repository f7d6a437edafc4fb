/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* account.h: sums up the files of a command's processes in a few lines.
 *
 * what      folder: proof.<pid>    which library serves malloc and free, program by program (proof.h)
 *                   counts.<pid>   HAKMEM's counters (src/tables/counters.h)
 */
#ifndef HAKMEM_TOOLS_ACCOUNT_H
#define HAKMEM_TOOLS_ACCOUNT_H

#include <stdio.h>
#include <sys/types.h>

/* Prints whether `library` served the command that began as process `first`, and the counters. */
void account_print(FILE *to, const char *folder, const char *library, pid_t first);

/* 1234567 as "1,234,567". The buffer is reused by the eighth later call of grouped or as_bytes. */
const char *grouped(unsigned long long number);

/* 1536 as "1.5 KiB", in the same buffers. */
const char *as_bytes(double bytes);

#endif
