/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* text.h: reads the small text files of /proc and /sys.
 *
 * what      open, read and close as bare kernel calls: libc's functions are cancellation points, where a thread may
 *           end, and the names may be defined by a library that calls malloc.
 * owner     The caller owns the descriptor.
 * locks     None. Thread-safe and signal-safe.
 * failure   A negative errno; the variable errno is not changed.
 * not here  Parsing: group.h, limits.h.
 */
#ifndef HAK_OS_TEXT_H
#define HAK_OS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Opens for reading. Returns a descriptor. Does not wait for a pipe in the file's place. */
long hak_text_open(const char *path);

/* Returns the number of bytes read; 0 at the end. */
long hak_text_read(long descriptor, char *text, size_t size);

/* Reads from `offset` on. Returns the number of bytes read; 0 at the end. */
long hak_text_read_at(long descriptor, void *out, size_t size, uint64_t offset);

/* Closes the descriptor. No effect if negative. */
void hak_text_close(long descriptor);

/* Reads the beginning of a file: at most size - 1 bytes, and a closing zero. Returns 0. */
long hak_text_of(const char *path, char *text, size_t size);

/* Returns 0 if the file or folder exists. */
long hak_text_find(const char *path);

/* Returns 0 if the folder can be opened. */
long hak_text_folder(const char *path);

#endif
