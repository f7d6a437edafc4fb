/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* shared_file.h: tables that outlive the process.
 *
 * what      A new file "<path>.<pid><ending>", mapped shared: what is written there is there after _exit, abort and
 *           SIGKILL. Where a file that is not to be replaced has that name, it is "<path>.<pid>.1<ending>", and so on
 *           (os/own_file.h). It is written only: what counts for HAKMEM itself lies in memory of its own, as another
 *           process may write anything into the file at any time.
 * failure   One line on stderr that names the setting, and NULL.
 * not here  What is in it: counters.h, learn/decisions.h.
 */
#ifndef HAK_TABLES_SHARED_FILE_H
#define HAK_TABLES_SHARED_FILE_H

#include <stddef.h>

#include "base/fmt.h"

/* "<path>.<pid>" of this process. */
void hak_shared_file_name(struct hak_line *line, const char *path);

struct hak_shared_file_order {
  const char *setting, *path, *ending;
  size_t bytes;
  void (*continues)(long left, void *file); /* NULL; or is shown what the program before, of this process, left */
};

/* The file, all zeros. At start. */
void *hak_shared_file(const struct hak_shared_file_order *order);

#endif
