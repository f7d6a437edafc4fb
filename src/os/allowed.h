/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* allowed.h: permission to start a thread and to make kernel calls that malloc alone does not need.
 *
 * what      True from the start in a library whose names replace libc's (api/process.c): another library may allocate
 *           before any code of this library has run. False in a library with the hak_ names only. Becomes false for
 *           ever when the program enters a sandbox.
 * owner     g_allowed (in allowed.c).
 * orders    Relaxed.
 * not here  Seccomp filters that HAKMEM was not told of: thread.h.
 */
#ifndef HAK_OS_ALLOWED_H
#define HAK_OS_ALLOWED_H

#include <stdbool.h>

#include "base/bits.h"

extern HAK_HIDDEN bool g_allowed;

#endif
