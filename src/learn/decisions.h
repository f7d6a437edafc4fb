/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* decisions.h: what was decided, and from what, in files that outlive the process.
 *
 * what      The ring of learn/keeper.h, behind it the lines of /proc/self/maps as they were at start, so that who reads
 *           the file can name the sites, and the ring of learn/controller.h.
 *
 *               file <path>.<pid>:  | ring: "HAKDEC01" | rows u32 | row bytes u32 | count u64 | rows | maps, zeros |
 *                                   0                                                         28,696
 *
 *                                   | ring: "HAKCHG01" | rows u32 | row bytes u32 | count u64 | rows |
 *                                   94,232                                                    to 114,736
 *
 *           The journal of learn/journal.h is a second file of that kind: the disk's room for all of it is taken at
 *           start, so that writing asks the kernel for nothing. That of a process that never learns stays empty.
 * owner     Who decides writes; anyone reads.
 * failure   One line on stderr, and the ring stays in memory; there is no journal then.
 * not here  Text for people: `hakmem decisions`.
 */
#ifndef HAK_LEARN_DECISIONS_H
#define HAK_LEARN_DECISIONS_H

#include <stdbool.h>

/* At start, before there are threads. False, after one line on stderr: there is no journal. */
void hak_decisions_to_file(const char *path);
bool hak_journal_to_file(const char *path);

#endif
