/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* file.h: a file that grows piece by piece; each piece is mapped.
 *
 * what      Created anew, kept open under a high number, and checked before each use: a program that closes every
 *           descriptor may have reused the number for a file of its own. The file is then opened again by path.
 *
 *               grow(offset): descriptor still this file's? -> disk space reserved -> mapped shared
 *
 *           Bare kernel calls: libc's functions are cancellation points, where a thread may end.
 * owner     The caller's record.
 * locks     None: one thread at a time per record.
 * failure   NULL or false, and nothing changed; errno is not changed. A full disk fails when the file grows, never by a
 *           signal at a later store.
 * not here  The contents: src/record.
 */
#ifndef HAK_OS_FILE_H
#define HAK_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hak_os_file {
  int descriptor;
  uint64_t device, inode;
};

/* From now on the group may read files that are created (setting group_reads). Called at start. */
void hak_os_files_for_group(bool reads);

/* Opens the folder of `path`: later calls by the descriptor reach the same folder even if the path then names a new
 * folder. Returns a descriptor, AT_FDCWD if `path` names no folder, or a negative errno. *base: offset of the file name
 * in `path`. `path` is modified during the call. */
long hak_os_folder_open(char *path, size_t *base);
void hak_os_folder_close(long folder);

/* Creates a file at `path` and opens the file with `flags`. Returns a descriptor or a negative errno: EEXIST if the
 * path exists. */
long hak_os_file_create(long folder, const char *path, int flags);

/* Creates a file for the record. Returns 0, -1 if the path exists, or a positive errno. */
int hak_os_file_make(struct hak_os_file *file, const char *path);

/* Moves a descriptor, open for reading and writing, to a high number for the record. False: refused. */
bool hak_os_file_adopt(struct hak_os_file *file, long descriptor);

/* Reserves disk space for a new file of `bytes` zero bytes and maps all of the file, shared. NULL: no space. */
void *hak_os_file_map(long descriptor, size_t bytes);

/* True if the path names a device: no file may be created beside a device. */
bool hak_os_file_is_device(const char *path);

/* Removes the file at `path`, if permitted. */
void hak_os_file_remove(const char *path);

/* Maps `bytes` (a multiple of the page) of the file from `offset` on, shared; unwritten bytes read as 0. `again`: path
 * by which the file is opened anew if the descriptor no longer is this file's; NULL: none. Returns NULL if refused. */
void *hak_os_file_grow(struct hak_os_file *file, const char *again, uint64_t offset, size_t bytes);

/* True if a file of this process may have `end` bytes: growth beyond the limit (RLIMIT_FSIZE) raises a signal. */
bool hak_os_file_may_end(uint64_t end);

/* Closes the descriptor if the number still is this file's. */
void hak_os_file_close(struct hak_os_file *file);

#endif
