/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* requests.h: what turns.c tells lines.c. */
#ifndef HAKMEM_LINES_REQUESTS_H
#define HAKMEM_LINES_REQUESTS_H

#include <valgrind/valgrind.h>

enum { LINES_BEGIN = VG_USERREQ_TOOL_BASE('H', 'L'), LINES_END };

#endif
