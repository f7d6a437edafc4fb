/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* report.h: the state of the allocator as text.
 *
 * what      The same numbers for people (malloc_stats) and for programs (malloc_info), a line at a time.
 * owner     Nothing; the numbers are the caller's.
 * locks     None; `put` is called with no lock held.
 * orders    Counters and settings are read relaxed: a report of a busy process is no snapshot.
 * hot path  No. No malloc.
 * failure   `put` handles its own failures.
 * not here  Gathering the numbers: observe/stats.h. Where the text goes: the caller's `put`.
 */
#ifndef HAK_OBSERVE_REPORT_H
#define HAK_OBSERVE_REPORT_H

#include <stddef.h>

#include "hakmem/hakmem.h"

/* Takes the next piece of text, without a closing zero. */
typedef void hak_report_put(void *to, const char *text, size_t bytes);

/* Puts three aligned tables: memory, the counters that are not 0, the settings that differ from their defaults. */
void hak_report_text(const struct hak_stats *stats, hak_report_put *put, void *to);

/* Puts <malloc version="1">: glibc's elements where HAKMEM has the number, then elements of HAKMEM's own. */
void hak_report_xml(const struct hak_stats *stats, hak_report_put *put, void *to);

#endif
