/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* die.h: the fatal message.
 *
 * what      One line on stderr that names what went wrong, then abort. The rows are in errors.def.
 * locks     None may be held by the caller: a SIGABRT handler may still allocate.
 * failure   It is the failure.
 * not here  Deciding that something is wrong: the boxes.
 */
#ifndef HAK_OS_DIE_H
#define HAK_OS_DIE_H

#include <stdbool.h>
#include <stddef.h>

enum hak_error {
#define ERROR(name, text) HAK_ERROR_##name,
#include "os/errors.def"
#undef ERROR
  HAK_ERROR_none /* after the rows, so that it is their number, too */
};

/* What was found wrong with blocks that came back: error is HAK_ERROR_none when nothing. */
struct hak_fault {
  enum hak_error error;
  const void *p;
};

/* Is a thread ending the process with such a message? */
bool hak_is_dying(void);

/* class_bytes = 0: the pointer lies in nothing that has a class. caller = NULL: not caught at the call. */
_Noreturn void hak_die(enum hak_error error, const void *p, size_t class_bytes, const void *caller);

#endif
