/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* requests.h: what turns.c tells lines.c. */
#ifndef HAKMEM_LINES_REQUESTS_H
#define HAKMEM_LINES_REQUESTS_H

#include <valgrind/valgrind.h>

/* Calls between LINES_BEGIN and LINES_END count; each is between LINES_CALL and LINES_RETURN. The first such pair of all
 * is empty: its counts are the requests' own. */
enum { LINES_BEGIN = VG_USERREQ_TOOL_BASE('H', 'L'), LINES_END, LINES_CALL, LINES_RETURN };

#endif
