/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kept_file.c: tables that outlive the process.
 *
 * what      See kept_file.h.
 */
#include "core/kept_file.h"

#include "os/os.h"

void hak_kept_file_name(struct hak_line *line, const char *path) {
  hak_line_start(line);
  hak_line_text(line, path);
  hak_line_text(line, ".");
  hak_line_dec(line, hak_os_process_id());
}

static void complain(const char *setting, const char *path) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_text(&line, setting);
  hak_line_text(&line, ": cannot make ");
  hak_line_text(&line, path);
  hak_line_text(&line, "; what it is for stays in memory\n");
  hak_os_write_err(line.text, line.used);
}

void *hak_kept_file(const char *setting, const char *path, size_t bytes) {
  struct hak_line name;
  hak_kept_file_name(&name, path);
  void *file = hak_os_map_file(name.text, bytes);
  if (file == NULL) complain(setting, name.text);
  return file;
}
