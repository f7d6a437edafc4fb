/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* die.h: the fatal message.
 *
 * what      A line on stderr that names the fault, then abort. The rows are in errors.def.
 * locks     The caller holds no lock: a SIGABRT handler may allocate.
 * failure   Does not return.
 * not here  The detection of faults: src/blocks, src/runs.
 */
#ifndef HAK_OS_DIE_H
#define HAK_OS_DIE_H

#include <stdbool.h>
#include <stddef.h>

enum hak_error {
#define ERROR(name, text) HAK_ERROR_##name,
#include "os/errors.def"
#undef ERROR
  HAK_ERROR_none /* last, so also the number of rows */
};

/* A fault found in freed blocks. error = HAK_ERROR_none: no fault. */
struct hak_fault {
  enum hak_error error;
  const void *p;
};

/* True once a thread has begun to end the process by hak_die. */
bool hak_is_dying(void);

/* class_bytes [bytes]: size class of the pointer's block; 0: none. caller: return address of the call with the fault;
 * NULL: found after that call. */
_Noreturn void hak_die(enum hak_error error, const void *p, size_t class_bytes, const void *caller);

#endif
