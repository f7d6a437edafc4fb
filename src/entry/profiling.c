/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profiling.c: when calls are sampled, and when a profile is written.
 *
 * what      See profiling.h.
 */
#include "entry/heap.h"
#include "entry/profiling.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "entry/fast_path.h"
#include "observe/crash.h"
#include "os/catch.h"
#include "os/complain.h"
#include "os/os.h"
#include "os/self.h"
#include "record/profile_backtrace.h"
#include "record/profile_samples.h"
#include "record/profile_samples_file.h"
#include "record/profile_write.h"
#include "record/python_frames.h"
#include "tables/settings.h"
#include "tables/shared_file.h"

static HAK_RARE struct {
  bool begun;    /* hak_backtrace_prepare was called, and an interpreter looked for */
  bool expected; /* profile_file is written at exit */
  bool finished; /* profile_file is written no more */
  bool kept;     /* profile_table is ended at exit */
} g_profiling;

void hak_profiling_settle(void) {
  if (g_settings.profile_file != NULL || g_settings.profile_table != NULL) hak_setting_put(profile, 1);
  if (hak_setting(profile) != 0) hak_samples_begin_whole();
  if (g_settings.profile_table != NULL) hak_samples_file_start(g_settings.profile_table);
}

static void name_profile(struct hak_line *line) { hak_shared_file_name(line, g_settings.profile_file); }

/* "hakmem: profile_file: /x.17 cannot be written (error 28)" */
static void complain_of_profile(const char *path, int error) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: profile_file: ");
  hak_line_foreign(&line, path);
  hak_line_text(&line, " cannot be written (error ");
  hak_line_dec(&line, (uint64_t)error);
  hak_line_text(&line, ")\n");
  hak_os_complain(&line);
}

/* [bytes] 0, unknown, where a signal interrupts a slow path of the same thread: locks may be held. */
static uint64_t in_use(void) { return hak_self.in_allocator ? 0 : hak_heap_in_use(); }

static int write_to(const char *path) {
  struct hak_profile_facts facts = {hak_samples_mean(hak_setting(profile_bytes)), hak_os_process_id(), in_use()};
  return hak_profile_write(path, &facts);
}

static void save_profile(void) {
  struct hak_line name;
  if (g_profiling.finished) return;
  name_profile(&name);
  int error = write_to(name.text);
  if (error != 0) complain_of_profile(name.text, error);
}

int hak_profiling_dump(const char *path) {
  if (path != NULL) return write_to(path);
  if (g_settings.profile_file == NULL) return EINVAL;
  struct hak_line name;
  name_profile(&name);
  return write_to(name.text);
}

/* ---- signals ---- */

static void serve(int signal) {
  save_profile();
  if (signal == SIGTERM) hak_os_die_of(signal);
}

/* If the signal interrupts a change of the table, the profile is written right after that change. */
static void handle(int signal) {
  if (!hak_samples_is_busy(signal, serve)) serve(signal);
}

static void catch_signals(void) {
  hak_os_catch(SIGUSR2, handle);
  hak_os_catch(SIGTERM, handle);
}

/* ---- start and end ---- */

/* At exit by atexit, not by a destructor, for which a process without a profile would touch a page. */
static void expect_file(void) {
  struct hak_line name;
  name_profile(&name);
  int error = hak_profile_try(name.text);
  if (error != 0) complain_of_profile(name.text, error);
  atexit(save_profile);
  if (hak_setting(profile_signals) != 0) catch_signals();
  g_profiling.expected = true;
}

static void end_kept(void) { hak_samples_file_end(in_use()); }

static void expect_exit(void) {
  atexit(end_kept);
  g_profiling.kept = true;
}

void hak_profiling_begin(void) {
  if (hak_setting(profile) != 0 && !hak_load(&g_profiling.begun)) {
    hak_backtrace_prepare();
    if (!hak_crash_is_in_sandbox()) hak_python_prepare();
    hak_store(&g_profiling.begun, true);
  }
  if (g_settings.profile_file != NULL && !g_profiling.expected) expect_file();
  if (g_settings.profile_table != NULL && !g_profiling.kept) expect_exit();
}

void hak_profiling_finish(void) {
  if (g_settings.profile_table != NULL) hak_samples_file_finish();
  if (g_profiling.expected) save_profile();
  g_profiling.finished = true;
}
