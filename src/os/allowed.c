/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* allowed.c: may the library start a thread, and make kernel calls that malloc alone does not need?
 *
 * what      See allowed.h.
 */
#include "os/allowed.h"

__attribute__((weak)) bool g_allowed; /* api/process.c has one that is true */
