/* decisions.h: what was decided, in a file that outlives the process.
 *
 * what      The ring of learn/keeper.h, and behind it the lines of /proc/self/maps as they were at start, so that who
 *           reads the file can name the sites.
 *
 *               file <path>.<pid>:  | ring: "HAKDEC01" | rows u32 | row bytes u32 | count u64 | rows | maps, zeros |
 *                                   0                                                         28,696   to 94,232
 *
 * owner     The box that decides writes; anyone reads.
 * failure   One line on stderr, and the ring stays in memory.
 * not here  Text for people: `hakmem decisions`.
 */
#ifndef HAK_FRONT_DECISIONS_H
#define HAK_FRONT_DECISIONS_H

/* At start, before there are threads. */
void hak_decisions_to_file(const char *path);

#endif
