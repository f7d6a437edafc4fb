/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trusted.h: files that are read and believed.
 *
 * what      A regular file of this user or of root, with one name, that no other user may write, in a folder of which
 *           the same is true: else another user could have put it there, or may change it meanwhile.
 *
 *               /home/u/.cache 0755 u    a.policy 0600 u      read
 *               /etc/app       0755 root a.policy 0644 root   read
 *               /tmp           1777 root a.policy             refused: its folder may be written by others
 *
 *           Folders above that one are not looked at: moving them makes no folder and no file of this user's.
 * owner     The caller owns the descriptor.
 * failure   A negative errno. EPERM, with why: it is not trusted. Nothing is waited for, a FIFO neither.
 * not here  Files that are written: own_file.h, draft.h.
 */
#ifndef HAK_OS_TRUSTED_H
#define HAK_OS_TRUSTED_H

/* A descriptor to read from. */
long hak_trusted_open(const char *path, const char **why);

/* Locks the path's folder for whoever does the same, for at most a second of waiting: a descriptor, to be closed; or
 * negative: not locked. */
long hak_trusted_lock(const char *path);

#endif
