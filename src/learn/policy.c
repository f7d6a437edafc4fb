/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy.c: what was learnt, kept for the next run.
 *
 * what      When it is read and written, and what is said of it; see policy.h.
 */
#include "learn/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "learn/policy_internal.h"
#include "os/complain.h"
#include "os/fork.h"
#include "os/self.h"
#include "tables/settings.h"

HAK_RARE struct hak_policy g_policy;

/* The loader may allocate while it is asked: its lock first, and none of the boxes'. */
static void lock(void) {
  hak_lock_take(&g_policy.lock);
  g_policy.modules = hak_loaded_all(g_policy.module, HAK_POLICY_MODULES);
}

struct hak_policy_read hak_policy_read(const char *path) {
  lock();
  struct hak_policy_read result = hak_policy_read_locked(path);
  hak_lock_drop(&g_policy.lock);
  return result;
}

/* Who learnt nothing must not write over what others learnt. */
int hak_policy_write(const char *path) {
  lock();
  bool learnt = hak_big_learnt(0, g_policy.row) != 0;
  int error = learnt ? hak_policy_write_locked(path) : ENODATA;
  hak_lock_drop(&g_policy.lock);
  return error;
}

int hak_policy_load_now(const char *path) {
  if (path == NULL) path = g_settings.policy_file;
  if (path == NULL) return EINVAL;
  int error = hak_policy_read(path).error;
  return error == EINVAL ? EBADMSG : error;
}

int hak_policy_save_now(const char *path) {
  if (path == NULL) path = g_settings.policy_file;
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

static void complain_of_trust(const char *path, const char *why) {
  struct hak_line line;
  begin_line(&line);
  hak_line_foreign(&line, path);
  hak_line_text(&line, " ignored: ");
  hak_line_text(&line, why);
  end_line(&line);
}

/* A process that learns may begin without a file, and with one that other programs share. */
static void load(const char *path, bool must) {
  struct hak_policy_read result = hak_policy_read(path);
  if (result.error == EINVAL) complain_of_line(path, result.line);
  else if (result.error == EPERM && result.why != NULL) complain_of_trust(path, result.why);
  else if (result.error != 0 && (must || result.error != ENOENT)) complain(path, " cannot be read", result.error);
  else if (result.stale != 0) complain_of_rows(path, result.stale, result.rows, "their modules were built anew");
  else if (must && result.foreign != 0 && result.foreign == result.sites)
    complain_of_rows(path, result.foreign, result.rows, "no module of theirs is loaded");
}

/* A fork's child has learnt its parent's. */
static bool learns(void) {
  uint64_t mode = hak_setting(mode);
  return (mode == HAK_MODE_SHADOW || mode == HAK_MODE_EVOLVING) && hak_load(&g_fork.generation) == 0;
}

static HAK_RARE bool g_finished;

static void save(void) {
  int error = !g_finished && learns() ? hak_policy_write(g_settings.policy_file) : 0;
  if (error != 0 && error != ENODATA) complain(g_settings.policy_file, " cannot be written", error);
}

/* Known at the start, when it can be told. */
static void try_to_save(void) {
  hak_lock_take(&g_policy.lock);
  long error = hak_draft_try(&g_policy.draft, g_settings.policy_file);
  hak_lock_drop(&g_policy.lock);
  if (error != 0) complain(g_settings.policy_file, " cannot be written", (int)-error);
}

void hak_policy_finish(void) {
  save();
  g_finished = true;
}

/* Not a destructor: a process without a policy would touch a page for it. */
void hak_policy_start(void) {
  uint64_t mode = hak_setting(mode);
  atexit(save);
  if (learns()) try_to_save();
  if (mode == HAK_MODE_FROZEN || mode == HAK_MODE_EVOLVING) load(g_settings.policy_file, mode == HAK_MODE_FROZEN);
}
