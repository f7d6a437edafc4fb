/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* allowed.h: may the library start a thread, and make kernel calls that malloc alone does not need?
 *
 * what      True from the start in a library whose names stand in for libc's (api/process.c): another library may ask
 *           for a block before any code of this one ran. False in a library of the hak_ names only, and from a sandbox
 *           on.
 * owner     g_allowed (in allowed.c).
 * orders    Relaxed.
 * not here  Whether a filter came unseen: thread.h.
 */
#ifndef HAK_OS_ALLOWED_H
#define HAK_OS_ALLOWED_H

#include <stdbool.h>

#include "base/bits.h"

extern HAK_HIDDEN bool g_allowed;

#endif
