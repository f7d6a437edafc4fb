/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* decisions.h: decisions, and the inputs of learning, in files that outlive the process.
 *
 * what      The ring of learn/keeper.h; behind the ring the lines of /proc/self/maps as at start, by which a reader can
 *           name the sites; and the ring of learn/controller.h.
 *
 *               file <path>.<pid>:  | ring: "HAKDEC01" | rows u32 | row bytes u32 | count u64 | rows | maps, zeros |
 *                                   0                                                         28,696
 *
 *                                   | ring: "HAKCHG01" | rows u32 | row bytes u32 | count u64 | rows |
 *                                   94,232                                                    to 114,736
 *
 *           The journal of learn/journal.h is a second file of this kind: the disk space for the whole file is taken at
 *           start, so a write needs no kernel call. In a process that never learns the journal stays empty.
 * owner     The deciding thread writes; any process reads.
 * failure   A line on stderr; then the ring stays in memory, and there is no journal.
 * not here  Text for people: `hakmem decisions`.
 */
#ifndef HAK_LEARN_DECISIONS_H
#define HAK_LEARN_DECISIONS_H

#include <stdbool.h>

/* Call at start, before there are threads. hak_journal_to_file: false if there is no journal, after a line on
 * stderr. */
void hak_decisions_to_file(const char *path);
bool hak_journal_to_file(const char *path);

#endif
