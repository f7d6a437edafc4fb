/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* file.h: a file that grows piece by piece, each of which is mapped.
 *
 * what      Made anew, kept open under a high number, and looked at before each use: a program that closes every
 *           descriptor may have got that number for a file of its own. Then the file is opened again, by its path.
 *
 *               grow(offset): still ours? -> the disk's room is taken -> mapped shared
 *
 *           Bare calls, where libc's own end a thread that was cancelled.
 * owner     The caller's record.
 * locks     None: one thread at a time for one record.
 * failure   NULL or false, and nothing changed; errno is always left as it was. A full disk says so when the file
 *           grows, and never by a signal.
 * not here  What is written: trace.
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

/* Files that are made from now on may be read by their group, too, as the setting group_reads says. At start. */
void hak_os_files_for_group(bool reads);

/* Opens the folder that `path` lies in, so that another one that takes its place changes nothing; what was opened, or a
 * negative errno. *base: where the name in it begins. `path` is written to meanwhile. */
long hak_os_folder_open(char *path, size_t *base);
void hak_os_folder_close(long folder);

/* A new file, never one that lies at the path: a descriptor, or a negative errno. `flags`: how it is opened. */
long hak_os_file_create(long folder, const char *path, int flags);

/* The same as a record. -1: there is one already; other errors of errno. */
int hak_os_file_make(struct hak_os_file *file, const char *path);

/* A descriptor that is open for reading and writing, from now on the record's. */
bool hak_os_file_adopt(struct hak_os_file *file, long descriptor);

/* All of a new file of `bytes` zero bytes, mapped shared; NULL: there is no room. */
void *hak_os_file_map(long descriptor, size_t bytes);

/* Is what the path names a device? Beside it, among devices, no file is to be made. */
bool hak_os_file_is_device(const char *path);

/* What is at the path goes, if it may. */
void hak_os_file_remove(const char *path);

/* `bytes` (of whole pages) from `offset` on, zero where nothing was written. `again`: where the file is to be opened
 * once more when its descriptor is not ours any longer; NULL: nowhere. */
void *hak_os_file_grow(struct hak_os_file *file, const char *again, uint64_t offset, size_t bytes);

/* May a file of this process be so long? One that grows beyond the limit (RLIMIT_FSIZE) is a signal. */
bool hak_os_file_may_end(uint64_t end);

/* Closes the descriptor if it is still ours. */
void hak_os_file_close(struct hak_os_file *file);

#endif
