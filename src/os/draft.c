/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* draft.c: a text file that is written whole or not at all.
 *
 * what      See draft.h.
 */
#define _GNU_SOURCE
#include "os/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/fmt.h"
#include "base/str.h"
#include "os/call.h"
#include "os/file.h"
#include "os/os.h"

static bool name_draft(struct hak_draft *draft, const char *path) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, path);
  hak_line_text(&line, ".");
  hak_line_dec(&line, hak_os_process_id());
  hak_line_text(&line, ".");
  hak_line_dec(&line, hak_os_now_ns());
  hak_line_text(&line, ".new");
  memcpy(draft->path, line.text, line.used + 1);
  return hak_strlen(path) + sizeof ".4294967295.18446744073709551615.new" <= sizeof line.text;
}
_Static_assert(sizeof(struct hak_line) - sizeof(size_t) <= HAK_DRAFT_PATH_BYTES, "name_draft");

/* False if the path names a device, a pipe or a folder: a rename would replace even /dev/null. */
static bool is_replaceable(const char *path) {
  struct stat found;
  return HAK_KERNEL(SYS_newfstatat, AT_FDCWD, path, &found, 0) != 0 || S_ISREG(found.st_mode);
}

void hak_draft_begin(struct hak_draft *draft, const char *path) {
  draft->used = draft->bytes = 0;
  draft->error = name_draft(draft, path) ? 0 : -ENAMETOOLONG;
  draft->descriptor = -1;
  if (draft->error == 0 && !is_replaceable(path)) draft->error = -EINVAL;
  if (draft->error != 0) return;
  draft->folder = hak_os_folder_open(draft->path, &draft->base);
  bool found = draft->folder >= 0 || draft->folder == AT_FDCWD;
  draft->descriptor = found ? hak_os_file_create(draft->folder, draft->path + draft->base, O_WRONLY) : draft->folder;
  if (draft->descriptor < 0) draft->error = draft->descriptor;
  if (draft->descriptor < 0) hak_os_folder_close(draft->folder);
}

/* Counts the buffered bytes. False if the file would exceed the limit of the process (RLIMIT_FSIZE): a write beyond the
 * limit raises a signal that ends the process. */
static bool may_write_draft(struct hak_draft *draft) {
  draft->bytes += draft->used;
  return hak_os_file_may_end(draft->bytes);
}

static void write_buffer(struct hak_draft *draft) {
  if (draft->error == 0 && !may_write_draft(draft)) draft->error = -EFBIG;
  for (size_t done = 0; done < draft->used && draft->error == 0;) {
    long n = HAK_KERNEL(SYS_write, draft->descriptor, draft->text + done, draft->used - done);
    if (n == -EINTR) continue;
    if (n <= 0) draft->error = n != 0 ? n : -EIO;
    else done += (size_t)n;
  }
  draft->used = 0;
}

void hak_draft_put(struct hak_draft *draft, const char *text, size_t bytes) {
  if (draft->used + bytes > sizeof draft->text) write_buffer(draft);
  if (draft->error != 0 || bytes > sizeof draft->text) return;
  memcpy(draft->text + draft->used, text, bytes);
  draft->used += bytes;
}

static long rename_draft(const struct hak_draft *draft, const char *path) {
  return HAK_KERNEL(SYS_renameat2, draft->folder, draft->path + draft->base, draft->folder, path + draft->base, 0);
}

static void remove_draft(const struct hak_draft *draft) {
  HAK_KERNEL(SYS_unlinkat, draft->folder, draft->path + draft->base, 0);
}

long hak_draft_end(struct hak_draft *draft, const char *path) {
  if (draft->descriptor < 0) return draft->error;
  write_buffer(draft);
  long closed = HAK_KERNEL(SYS_close, draft->descriptor);
  if (draft->error == 0) draft->error = closed;
  if (draft->error == 0) draft->error = rename_draft(draft, path);
  if (draft->error != 0) remove_draft(draft);
  hak_os_folder_close(draft->folder);
  return draft->error;
}

long hak_draft_try(struct hak_draft *draft, const char *path) {
  hak_draft_begin(draft, path);
  if (draft->descriptor < 0) return draft->error;
  hak_draft_put(draft, "\n", 1);
  write_buffer(draft);
  HAK_KERNEL(SYS_close, draft->descriptor);
  remove_draft(draft);
  hak_os_folder_close(draft->folder);
  return draft->error;
}
