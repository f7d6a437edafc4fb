/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* shared_file.h: tables that outlive the process.
 *
 * what      A new file "<path>.<pid><ending>", mapped shared: the file keeps all stores after _exit, abort and
 *           SIGKILL. If a file that must not be replaced has this name, the new file is "<path>.<pid>.1<ending>", and
 *           so on (os/own_file.h). HAKMEM only writes the file, and keeps all values that HAKMEM itself reads in
 *           memory of the process: another process may write anything into the file at any time.
 * failure   One line on stderr that names the setting, and NULL.
 * not here  The contents: counters.h, learn/decisions.h.
 */
#ifndef HAK_TABLES_SHARED_FILE_H
#define HAK_TABLES_SHARED_FILE_H

#include <stddef.h>

#include "base/fmt.h"

/* Writes "<path>.<pid>" of this process. */
void hak_shared_file_name(struct hak_line *line, const char *path);

struct hak_shared_file_order {
  const char *setting, *path, *ending;
  size_t bytes;
  void (*continues)(long left, void *file); /* NULL, or reads the file of the program before execve */
};

/* Makes the file, all zeros. Call at start. */
void *hak_shared_file(const struct hak_shared_file_order *order);

#endif
