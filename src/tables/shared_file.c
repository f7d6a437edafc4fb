/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* shared_file.c: tables that outlive the process.
 *
 * what      See shared_file.h.
 */
#include "tables/shared_file.h"

#include "base/bytes.h"
#include "os/file.h"
#include "os/os.h"
#include "os/own_file.h"

void hak_shared_file_name(struct hak_line *line, const char *path) {
  hak_line_start(line);
  hak_line_text(line, path);
  hak_line_text(line, ".");
  hak_line_dec(line, hak_os_process_id());
}

static void complain_of_file(const struct hak_shared_file_order *order, const char *stem) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_text(&line, order->setting);
  hak_line_text(&line, ": cannot make ");
  hak_line_foreign(&line, stem);
  hak_line_text(&line, order->ending);
  hak_line_text(&line, "; the data stays in memory only\n");
  hak_os_write_err(line.text, line.used);
}

/* Maps and names the file. On failure no descriptor stays open, and no file exists. */
static void *map_and_place(struct hak_own_file *file, size_t bytes) {
  void *p = hak_os_file_map(file->descriptor, bytes);
  if (p == NULL) hak_own_file_drop(file);
  if (p == NULL || hak_own_file_place(file) == 0) return p;
  hak_os_unmap(p, bytes);
  return NULL;
}

void *hak_shared_file(const struct hak_shared_file_order *order) {
  struct hak_line stem;
  struct hak_own_file file;
  hak_shared_file_name(&stem, order->path);
  void *p = hak_own_file_make(&file, stem.text, order->ending) == 0 ? map_and_place(&file, order->bytes) : NULL;
  if (p == NULL) complain_of_file(order, stem.text);
  if (p != NULL && order->continues != NULL && file.left >= 0) order->continues(file.left, p);
  if (p != NULL) hak_own_file_close(&file);
  return p;
}
