/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* maps.h: the mappings of this process, as the kernel lists them.
 *
 * what      /proc/self/maps is read by bare kernel calls into the caller's buffer, and each whole line is parsed.
 *
 *               7f0c1a000000-7f0c1a022000 r-xp 00026000 08:01 1234   /lib/libc.so.6
 *               first        end            x  offset                path
 * owner     The caller owns the buffer, one at a time.
 * locks     None. Signal-safe: the loader, whose lock may be held, is not asked, and nothing is allocated.
 * failure   No file, or a line that is longer than the buffer: the rest is not visited.
 * not here  What the loader knows, with its lock: loaded.h.
 */
#ifndef HAK_OS_MAPS_H
#define HAK_OS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAK_MAPS_TEXT_BYTES = 8192 };

struct hak_map {
  uint64_t first, end, offset;
  bool executable;
  const char *path; /* "[vdso]" and the like as the kernel says; empty: no file. It ends where the line does */
  size_t path_bytes;
  const char *line; /* with its newline */
  size_t line_bytes;
};

/* Calls this for each, by rising addresses. */
void hak_maps_visit(char text[HAK_MAPS_TEXT_BYTES], void (*visit)(const struct hak_map *map, void *to), void *to);

#endif
