/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* maps.h: the mappings of this process, as the kernel lists mappings.
 *
 * what      Reads /proc/self/maps by bare kernel calls into the caller's buffer and parses each whole line.
 *
 *               7f0c1a000000-7f0c1a022000 r-xp 00026000 08:01 1234   /lib/libc.so.6
 *               first        end            x  offset                path
 * owner     The caller owns the buffer, which serves one visit at a time.
 * locks     None. Signal-safe: no allocation, and no call of the loader, whose lock may be held.
 * failure   No file, or a line longer than the buffer: the rest is not visited.
 * not here  The loader's list, with the loader's lock: loaded.h.
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
  const char *path; /* as the kernel writes the path ("[vdso]", ...), up to the end of the line; empty: no file */
  size_t path_bytes;
  const char *line; /* including the newline */
  size_t line_bytes;
};

/* Calls `visit` for each mapping, by rising addresses. */
void hak_maps_visit(char text[HAK_MAPS_TEXT_BYTES], void (*visit)(const struct hak_map *map, void *to), void *to);

#endif
