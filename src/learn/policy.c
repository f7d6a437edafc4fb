/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy.c: learnt rows, kept in a file for the next run.
 *
 * what      When the file is read and written, and the lines on stderr; see policy.h.
 */
#include "learn/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/bits.h"
#include "base/str.h"
#include "learn/policy_internal.h"
#include "os/complain.h"
#include "os/fork.h"
#include "os/os.h"
#include "os/self.h"
#include "os/text.h"
#include "reclaim/release.h"
#include "tables/settings.h"

HAK_RARE struct hak_policy g_policy;

/* Takes the lock and lists the loaded modules. The loader may allocate meanwhile: no lock of the blocks may be held. */
static void lock(void) {
  hak_lock_take(&g_policy.lock);
  g_policy.modules = hak_loaded_all(g_policy.module, HAK_POLICY_MODULES);
}

struct hak_policy_read hak_policy_read(const char *path) {
  lock();
  hak_rows_begin();
  struct hak_policy_read result = hak_policy_read_locked(path);
  hak_rows_end();
  hak_lock_drop(&g_policy.lock);
  return result;
}

static bool past_counts(void) {
  if (!hak_release_hold()) return false;
  bool counts = hak_past_counts();
  hak_release_let_go();
  return counts;
}

/* ENODATA: a process that learnt nothing leaves the file as it is. */
static int write_rows(const char *path, bool past) {
  lock();
  past = past && past_counts();
  hak_rows_begin();
  bool learnt = past || hak_big_learnt(0, g_policy.row) != 0 || hak_row_any();
  int error = learnt ? hak_policy_write_locked(path, past) : ENODATA;
  hak_rows_end();
  hak_lock_drop(&g_policy.lock);
  return error;
}

int hak_policy_write(const char *path) { return write_rows(path, false); }

/* ---- the file by the settings ---- */

static bool is_folder(const char *path) {
  size_t bytes = hak_strlen(path);
  return bytes != 0 && path[bytes - 1] == '/';
}

/* FOLDER/NAME-BUILDID.policy, of the build-id the first 8 bytes. The path stays empty, and there is no file, if it does
 * not fit, or if the program has no build-id and so cannot be told from another of its name. */
static void name_own(const char *folder) {
  enum { ID_BYTES = 8, SUFFIX_BYTES = 2 * ID_BYTES + sizeof "-.policy" + sizeof ".4194304.18446744073709551615.new" };
  struct hak_line line;
  hak_line_start(&line);
  size_t most = hak_min(sizeof g_policy.path, sizeof line.text);
  if (hak_strlen(folder) + HAK_LOADED_NAME_BYTES + SUFFIX_BYTES > most) return;
  lock();
  const struct hak_loaded *program = &g_policy.module[0];
  bool known = g_policy.modules != 0 && program->id_bytes >= ID_BYTES;
  hak_line_text(&line, folder);
  hak_line_text(&line, program->name);
  hak_line_text(&line, "-");
  hak_line_hex_bytes(&line, program->id, ID_BYTES);
  hak_line_text(&line, ".policy");
  if (known) memcpy(g_policy.path, line.text, line.used);
  hak_lock_drop(&g_policy.lock);
}

static const char *own_path(void) {
  const char *path = g_settings.policy_file;
  return path != NULL && is_folder(path) ? g_policy.path : path;
}

int hak_policy_load_now(const char *path) {
  if (path == NULL) path = own_path();
  if (path == NULL) return EINVAL;
  int error = hak_policy_read(path).error;
  return error == EINVAL ? EBADMSG : error;
}

int hak_policy_save_now(const char *path) {
  if (path == NULL) path = own_path();
  return path == NULL ? EINVAL : hak_policy_write(path);
}

/* ---- by the settings ---- */

static void begin_line(struct hak_line *line) {
  hak_line_start(line);
  hak_line_text(line, "hakmem: policy_file: ");
}

static void end_line(struct hak_line *line) {
  hak_line_text(line, "\n");
  hak_os_complain(line);
}

/* "hakmem: policy_file: /x cannot be read (error 13); ignored" */
static void complain(const char *path, const char *what, int error) {
  struct hak_line line;
  begin_line(&line);
  hak_line_foreign(&line, path);
  hak_line_text(&line, what);
  hak_line_text(&line, " (error ");
  hak_line_dec(&line, (uint64_t)error);
  hak_line_text(&line, ")\n");
  hak_os_complain(&line);
}

static void complain_of_line(const char *path, unsigned number) {
  struct hak_line line;
  begin_line(&line);
  hak_line_foreign(&line, path);
  hak_line_text(&line, " ignored: line ");
  hak_line_dec(&line, number);
  hak_line_text(&line, " is not as it was written");
  end_line(&line);
}

/* "hakmem: policy_file: /x: 3 of its 6 rows ignored: their modules were built anew" */
static void complain_of_rows(const char *path, unsigned rows, unsigned all, const char *why) {
  struct hak_line line;
  begin_line(&line);
  hak_line_foreign(&line, path);
  hak_line_text(&line, ": ");
  hak_line_dec(&line, rows);
  hak_line_text(&line, " of its ");
  hak_line_dec(&line, all);
  hak_line_text(&line, " rows ignored: ");
  hak_line_text(&line, why);
  end_line(&line);
}

static void complain_of_whole(const char *path, const char *why) {
  struct hak_line line;
  begin_line(&line);
  hak_line_foreign(&line, path);
  hak_line_text(&line, " ignored: ");
  hak_line_text(&line, why);
  end_line(&line);
}

/* True if the whole file is refused, and it is known why. */
static bool is_refused_whole(const struct hak_policy_read *result) {
  return (result->error == EPERM || result->error == EPROTONOSUPPORT) && result->why != NULL;
}

/* `must`: the file must exist and have a site of a loaded module. A process that learns may begin without a file, and
 * with a file that further programs share. */
static struct hak_past load(const char *path, bool must) {
  struct hak_policy_read result = hak_policy_read(path);
  if (result.error == EINVAL) complain_of_line(path, result.line);
  else if (is_refused_whole(&result)) complain_of_whole(path, result.why);
  else if (result.error != 0 && (must || result.error != ENOENT)) complain(path, " cannot be read", result.error);
  else if (result.stale != 0) complain_of_rows(path, result.stale, result.rows, "their modules were built anew");
  else if (must && result.foreign != 0 && result.foreign == result.sites)
    complain_of_rows(path, result.foreign, result.rows, "no module of theirs is loaded");
  return result.past;
}

/* False in a fork's child, whose rows are the parent's: the fork of a process of one thread goes unnoticed. */
static bool learns(void) {
  uint64_t mode = hak_setting(mode);
  bool child = hak_load(&g_fork.generation) != 0 || hak_os_process_id() != g_policy.process;
  return (mode == HAK_MODE_SHADOW || mode == HAK_MODE_EVOLVING) && !child;
}

static HAK_RARE bool g_finished;

static void save(void) {
  bool placed = own_path()[0] != '\0';
  int error = placed && !g_finished && learns() ? write_rows(own_path(), true) : 0;
  if (error == EPROTONOSUPPORT) complain_of_whole(own_path(), "it was written by a newer HAKMEM");
  else if (error != 0 && error != ENODATA) complain(own_path(), " cannot be written", error);
}

/* Reports at start, when a report is still possible, that the file cannot be written. */
static void try_to_save(void) {
  hak_lock_take(&g_policy.lock);
  long error = hak_draft_try(&g_policy.draft, own_path());
  hak_lock_drop(&g_policy.lock);
  if (error != 0) complain(own_path(), " cannot be written", (int)-error);
}

void hak_policy_finish(void) {
  save();
  g_finished = true;
}

/* False: the folder that the setting names cannot be opened, which is said, or has no file for this program. Each of
 * many short processes comes here. */
static bool has_place(const char *setting) {
  if (!is_folder(setting)) {
    if (learns()) try_to_save();
    return true;
  }
  long error = hak_text_folder(setting);
  if (error != 0) complain(setting, " cannot be opened", (int)-error);
  else name_own(setting);
  return g_policy.path[0] != '\0';
}

/* atexit and not a destructor: a destructor touches a page in each process without a policy. */
void hak_policy_start(void) {
  uint64_t mode = hak_setting(mode);
  bool acts = mode == HAK_MODE_EVOLVING || mode == HAK_MODE_FROZEN, frozen = mode == HAK_MODE_FROZEN;
  g_policy.process = hak_os_process_id();
  if (!has_place(g_settings.policy_file)) return;
  hak_policy_goes_on_from(own_path());
  atexit(save);
  struct hak_past past = {.runs = 0};
  if (acts) past = load(own_path(), frozen && own_path() != g_policy.path);
  if (mode > HAK_MODE_BASELINE) hak_past_begin(&past, acts, frozen);
}
