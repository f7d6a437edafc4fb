/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* account.h: sums up the files of a command's processes in a few lines.
 *
 * what      folder: proof.<pid>    which library serves malloc and free, program by program (proof.h)
 *                   counts.<pid>   HAKMEM's counters (src/tables/counters.h)
 */
#ifndef HAKMEM_TOOLS_ACCOUNT_H
#define HAKMEM_TOOLS_ACCOUNT_H

#include "resident.h"
#include <stdio.h>
#include <sys/types.h>

struct account_of {
  const char *library;
  pid_t first;            /* the process that the command began as */
  struct resident last;   /* of that process, when last looked at ... */
  uint64_t before_end_ns; /* ... before its end */
};

/* Prints whether the library served the command, what it had at its end, and the counters. */
void account_print(FILE *to, const char *folder, const struct account_of *of);

/* 1234567 as "1,234,567". The buffer is reused by the eighth later call of grouped or as_bytes. */
const char *grouped(unsigned long long number);

/* 1536 as "1.5 KiB", in the same buffers. */
const char *as_bytes(double bytes);

#endif
