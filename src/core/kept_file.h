/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_file.h: tables that outlive the process.
 *
 * what      A file "<path>.<pid>", mapped shared: what is written there is there after _exit, abort and SIGKILL.
 * failure   One line on stderr that names the setting, and NULL.
 * not here  What is in it: counters.h, front/decisions.h.
 */
#ifndef HAK_CORE_KEPT_FILE_H
#define HAK_CORE_KEPT_FILE_H

#include <stddef.h>

#include "base/fmt.h"

/* "<path>.<pid>" of this process. */
void hak_kept_file_name(struct hak_line *line, const char *path);

/* `bytes` of a file that is made, or was left by the program that this process ran before. At start. */
void *hak_kept_file(const char *setting, const char *path, size_t bytes);

#endif
