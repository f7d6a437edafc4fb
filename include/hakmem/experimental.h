/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* experimental.h: names of HAKMEM that may still change, or go.
 *
 * what      What hakmem.h promises, this header does not: a name here may be another one in the next release, under the
 *           same SONAME (version node HAKMEM_EXPERIMENTAL). A program that uses one is built for one release.
 * owner     Nothing here hands out memory.
 * locks     Thread-safe; not async-signal-safe.
 * failure   Functions that return an int return 0 or an errno value, and leave errno as it was.
 */
#ifndef HAKMEM_EXPERIMENTAL_H
#define HAKMEM_EXPERIMENTAL_H

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what was learnt ---- */

/* What was learnt of how long free memory stays, written to a file and read from one, at once and in any mode:
 * without them it is written at exit and read at start. `path`: NULL is the setting policy_file. A file is written
 * whole or not at all, for its owner to read, and has rows of the sites that asked in this process and of others
 * that were there. Rows of a file that is read take the place of the same rows here, others stay; rows of modules
 * that are not loaded, or were built anew, are left out. Any thread may call them at any time; not in a signal
 * handler nor in a callback of dl_iterate_phdr, as they ask the dynamic loader, and not in a sandbox that forbids
 * opening files. 0; ENOTSUP: the library was built without learning; EINVAL: no path, or (save) what lies there is
 * no file; ENODATA (save): nothing was learnt as yet; EBADMSG (load): the file is damaged, or no policy; EPERM (load):
 * another user could have written it, as it or its folder is not this user's or root's, may be written by others, is a
 * link or has a second name; ENAMETOOLONG; or what the kernel says, as ENOENT, EACCES, EISDIR, ENOSPC, EFBIG. Then the
 * file is as it was, and so is what is learnt. */
int hak_policy_save(const char *path);
int hak_policy_load(const char *path);

#ifdef __cplusplus
}
#endif
#endif
