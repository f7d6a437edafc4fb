/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* complain.h: lines for the user, while stderr is still known to be the user's.
 *
 * what      Until the library is loaded, before main, a complaint answers a setting and goes to stderr. Later the
 *           program may have closed descriptor 2 and opened a file of its own there: the complaint is then only counted
 *           (counter `unsaid`), and the first complaint is kept for malloc_stats.
 *
 *               loading --> hak_os_loaded --> the program runs
 *               stderr                        counted, kept
 *
 * owner     The line of the first complaint.
 * locks     None. Thread-safe and signal-safe.
 * orders    The state is stored with release after the line.
 * not here  Lines that end the process, or that a call or a signal asked for: os.h.
 */
#ifndef HAK_OS_COMPLAIN_H
#define HAK_OS_COMPLAIN_H

#include "base/fmt.h"

/* Writes or keeps a line; `line` ends with a newline. */
void hak_os_complain(const struct hak_line *line);

/* Keeps a line that answers no setting: never on stderr. */
void hak_os_keep_complaint(const struct hak_line *line);

/* Marks the library as loaded. */
void hak_os_loaded(void);

/* Returns the first kept line, or NULL. */
const struct hak_line *hak_os_first_complaint(void);

#endif
