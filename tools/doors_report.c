/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* doors_report.c: libhakdoors.so writes the counts of the slow paths; see doors.h.
 *
 * failure   A file that cannot be written: no message; the reader notices that the file is missing.
 */
#include "doors.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((destructor)) static void report(void)
{
  const char *path = getenv("HAKDOORS_FILE");
  int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0)
    return;
  for (unsigned row = 0; doors_name(row) != NULL; row++)
    dprintf(file, "%s=%" PRIu64 " ", doors_name(row), doors_passed(row));
  close(file);
}
