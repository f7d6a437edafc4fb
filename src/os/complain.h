/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* complain.h: lines for the user, while stderr is still known to be the user's.
 *
 * what      Until the library is loaded, before main, a complaint is an answer to a setting, and goes to stderr. Later
 *           the program may have closed descriptor 2, and have a file of its own there: then it is counted (the counter
 *           `unsaid`), and the first is kept, for malloc_stats.
 *
 *               loading --> hak_os_loaded --> the program runs
 *               stderr                        counted, kept
 *
 * owner     One line, of whoever complained first.
 * locks     None. Thread-safe and signal-safe.
 * orders    The line is complete before it is told that there is one: release.
 * not here  What ends the process, or was asked for by a call or a signal: os.h.
 */
#ifndef HAK_OS_COMPLAIN_H
#define HAK_OS_COMPLAIN_H

#include "base/fmt.h"

/* A line with its end. */
void hak_os_complain(const struct hak_line *line);

/* The same of what no setting asked for: never on stderr. */
void hak_os_keep_complaint(const struct hak_line *line);

/* The library is loaded. */
void hak_os_loaded(void);

/* The first that was kept; NULL: none. */
const struct hak_line *hak_os_first_complaint(void);

#endif
