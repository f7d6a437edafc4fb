/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* experimental.h: names of HAKMEM that may still change, or be removed.
 *
 * what      What hakmem.h promises, this header does not: a name declared here may change in the next release, under
 *           the same SONAME (version node HAKMEM_EXPERIMENTAL). A program that uses such a name is built for one
 *           release.
 * owner     No function of this header hands out memory.
 * locks     Thread-safe; not async-signal-safe.
 * failure   Functions that return an int return 0 or an errno value and leave errno unchanged.
 */
#ifndef HAKMEM_EXPERIMENTAL_H
#define HAKMEM_EXPERIMENTAL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- learnt policy ---- */

/* Save and load the learnt times that free memory stays, at once and in any mode, and what further learners know,
 * while their settings (lab_learn_kinds, _class, _caches, _threshold, _slack, _place) and the mode ask for them;
 * without these calls the library saves at exit and loads at start. `path`: NULL is the setting policy_file. The file
 * is written completely or not at all, readable by its owner alone, with rows of the sites of this process and the
 * rows that the file had for sites of other processes. Rows that another process wrote there since this process last
 * read or wrote the file are joined with the rows of this process first, but for a path that is neither policy_file (or
 * without it the first path) nor loaded last. Rows of a loaded file replace the rows of the
 * same sites; all other rows of the process stay. Rows of modules that are not loaded, or were rebuilt, are skipped.
 * Any thread may call these functions at any time, except in a signal handler or a callback of dl_iterate_phdr (both
 * functions call the dynamic loader) and in a sandbox that forbids opening files.
 *
 * Returns 0; ENOTSUP: the library was built without learning; EINVAL: no path, or (save) the path names something that
 * is no file; ENODATA (save): nothing was learnt yet; EBADMSG (load): the file is damaged, or no policy;
 * EPROTONOSUPPORT: a newer HAKMEM wrote the file, which stays as it is; EPERM (load):
 * another user could have written the file: the file or its folder belongs to neither this user nor root, may be
 * written by others, is a link or has a second name; ENAMETOOLONG; or the kernel's error, as ENOENT, EACCES, EISDIR,
 * ENOSPC, EFBIG. On an error both the file and the learnt rows are unchanged, but for rows that were joined. */
int hak_policy_save(const char *path);
int hak_policy_load(const char *path);

/* ---- before memory is refused ---- */

/* Frees memory for a request of so many bytes that failed, as from caches of the program. True: some was freed. */
typedef bool (*hak_oom_handler)(size_t bytes, void *argument);

/* Sets the handler of failed requests, for the whole process; NULL: none. When malloc, calloc, realloc, an aligned
 * request or operator new (before std::new_handler) finds no memory, and HAKMEM has released all of its own free
 * memory, the handler is called once with the bytes requested. After true the request is tried once more; after false,
 * or if that fails, it fails with ENOMEM. The handler runs in the failing thread, with no lock of HAKMEM held, and may
 * allocate, free, resize and trim; a request that fails inside the handler fails without a call. Several threads may
 * be in the handler at once. The handler must return: no longjmp, no exception. Not called for a request of 2^47 bytes
 * or more, whose alignment is wrong or whose product overflows, nor for a realloc to a smaller size, which keeps the
 * block.
 *
 * Handler and argument are replaced together; a call of the handler of before may still be under way in another thread.
 * A fork's child has the parent's handler. Any thread may call this function at any time, the handler included, except
 * in a signal handler. */
void hak_set_oom_handler(hak_oom_handler handler, void *argument);

#ifdef __cplusplus
}
#endif
#endif
