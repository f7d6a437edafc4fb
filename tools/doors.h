/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* doors.h: counts the library's slow paths.
 *
 * what      The linker puts a counting function of doors.c before each function of doors.def (--wrap). The library's
 *           objects are unchanged, and no setting changes a route. Linked like this: the model, and libhakdoors.so,
 *           which is libhakmem.so with the counting functions; at the end of the process libhakdoors.so writes the
 *           counts to the file $HAKDOORS_FILE: name=value pairs in a line.
 * orders    Relaxed.
 * not here  Kernel calls: counted by the library itself, and rows here too.
 */
#ifndef HAK_TOOLS_DOORS_H
#define HAK_TOOLS_DOORS_H

#include <stdint.h>

/* The rows of doors.def, then the counters of tables/counters.def that count without a setting; NULL past the last
 * row. */
const char *doors_name(unsigned row);
uint64_t doors_passed(unsigned row);

#endif
