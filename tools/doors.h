/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* doors.h: how often the library's slow doors are passed.
 *
 * what      The linker puts a function of doors.c before each door of doors.def (--wrap): it counts, and goes on. The
 *           library's own objects are as they are, and no setting changes a route. Linked so are the model, and
 *           libhakdoors.so, which is libhakmem.so with these before its doors; it writes what was counted to the file
 *           $HAKDOORS_FILE when the process ends: name=value pairs in a line.
 * orders    Relaxed.
 * not here  Kernel calls: the library counts them itself; they are rows here, too.
 */
#ifndef HAK_TOOLS_DOORS_H
#define HAK_TOOLS_DOORS_H

#include <stdint.h>

/* The rows of doors.def, then those of tables/counters.def that are always counted; NULL past the last. */
const char *doors_name(unsigned row);
uint64_t doors_passed(unsigned row);

#endif
