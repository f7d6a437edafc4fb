/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trusted.h: files whose contents are trusted.
 *
 * what      A regular file with a single name, owned by this user or root and writable by no other user, in a folder
 *           with the same owner and rights. Otherwise another user could have put the file there, or could change the
 *           file meanwhile.
 *
 *               /home/u/.cache 0755 u    a.policy 0600 u      read
 *               /etc/app       0755 root a.policy 0644 root   read
 *               /tmp           1777 root a.policy             refused: its folder may be written by others
 *
 *           Folders above are not checked: moving a folder gives no user a folder or file owned by this user.
 * owner     The caller owns the descriptor.
 * failure   A negative errno. EPERM: not trusted, with the reason in *why. No call waits, not even for a FIFO.
 * not here  Files that are written: own_file.h, draft.h.
 */
#ifndef HAK_OS_TRUSTED_H
#define HAK_OS_TRUSTED_H

/* Opens for reading. Returns a descriptor. */
long hak_trusted_open(const char *path, const char **why);

/* Locks the folder of `path` against further callers of this function. Waits at most 1 s. Returns a descriptor to be
 * closed; negative: not locked. */
long hak_trusted_lock(const char *path);

#endif
