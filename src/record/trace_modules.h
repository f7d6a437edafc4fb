/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_modules.h: executable mappings, for readers of call sites.
 *
 * what      The lines of /proc/self/maps of executable mappings, in records of their own: all lines when the file
 *           begins, and new lines when a site lies in no known mapping, as then a library was loaded.
 *
 *               site --in a range?--> known       --no--> /proc/self/maps -> lines of new ranges -> record
 *
 * owner     g_modules (in trace_modules.c).
 * locks     g_modules.lock, taken before the lock of trace_chunks.h.
 * orders    Ranges are only added; their number is released after the new range.
 * failure   The site stays unknown. /proc/self/maps is read 64 times at most.
 * not here  Names of functions: the reader of the trace.
 */
#ifndef HAK_RECORD_TRACE_MODULES_H
#define HAK_RECORD_TRACE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

/* Writes all present mappings, and forgets mappings known before. */
void hak_modules_begin(void);

/* Call before the program enters a sandbox: opens no file from now on. */
void hak_modules_end(void);

/* True if the mapping of this address is known, or can no longer be learnt. */
bool hak_modules_are_known(uint64_t site);

/* Learns the mapping of this address, if there is a mapping. Call with signals blocked, in the process that owns the
 * file. */
void hak_modules_learn(uint64_t site, uint64_t now);

#endif
