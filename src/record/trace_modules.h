/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_modules.h: what lies where in the process, for those who read call sites.
 *
 * what      The lines of /proc/self/maps of executable mappings, in records of their own: all when the file begins, and
 *           the new ones when a site lies in none that is known, as then a library was loaded.
 *
 *               site --in a range?--> known       --no--> /proc/self/maps -> lines of new ranges -> record
 *
 * owner     g_modules (in trace_modules.c).
 * locks     Its own, taken before that of trace_chunks.h.
 * orders    Ranges are only added; their number is released after them.
 * failure   A site that stays unknown; the file is looked at so many times and no more.
 * not here  Names of functions: whoever reads the trace.
 */
#ifndef HAK_RECORD_TRACE_MODULES_H
#define HAK_RECORD_TRACE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* Writes down what is there, and forgets what was known before. */
void hak_modules_begin(void);

/* A sandbox comes: no file is opened any more. */
void hak_modules_end(void);

/* Is the mapping of this address known, or can it not be learned any more? */
bool hak_modules_are_known(uint64_t site);

/* Sees to it that it is, if there is one. With signals blocked, in the process whose file it is. */
void hak_modules_learn(uint64_t site, uint64_t now);

#endif
