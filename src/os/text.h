/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* text.h: reading the small text files of /proc and /sys.
 *
 * what      open, read and close as bare kernel calls: libc's own end a thread that was cancelled, and may be some
 *           other library's, which may call malloc.
 * owner     The caller owns the descriptor.
 * locks     None. Thread-safe and signal-safe.
 * failure   An errno, negative; errno is left as it was.
 * not here  What the text says: group.h, limits.h.
 */
#ifndef HAK_OS_TEXT_H
#define HAK_OS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* A descriptor to read from. A pipe in the file's place is not waited for. */
long hak_text_open(const char *path);

/* How many bytes came; 0 at the end. */
long hak_text_read(long descriptor, char *text, size_t size);

/* The same from a place in the file on. */
long hak_text_read_at(long descriptor, void *out, size_t size, uint64_t offset);

/* Nothing happens where none was opened. */
void hak_text_close(long descriptor);

/* The beginning of a file, at most size - 1 bytes and a closing zero: 0. */
long hak_text_of(const char *path, char *text, size_t size);

/* 0 when the file or folder is there. */
long hak_text_find(const char *path);

/* 0 when the folder can be opened. */
long hak_text_folder(const char *path);

#endif
