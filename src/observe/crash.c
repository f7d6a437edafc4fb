/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crash.c: the report of a crash on stderr, with the setting crash_report.
 *
 * what      See crash.h.
 */
#include "observe/crash.h"

#include <signal.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "blocks/guarded.h"
#include "observe/explain.h"
#include "observe/guard_report.h"
#include "os/catch.h"
#include "os/die.h"
#include "os/os.h"
#include "record/profile_images.h"
#include "tables/settings.h"

static HAK_RARE bool g_sandboxed; /* no file may be opened */

static const char *name_of(int signal) {
  return signal == SIGSEGV ? "SIGSEGV" : signal == SIGBUS ? "SIGBUS" : "SIGABRT";
}

/* The kernel reports no address that is non-canonical, or misaligned for the instruction. */
static void say_fault(struct hak_line *line, const struct hak_os_crash *crash) {
  if (!crash->has_address) {
    hak_line_text(line, "an address that the kernel does not report");
    return;
  }
  hak_line_text(line, crash->writes ? "write to " : crash->reads ? "read of " : "access to ");
  hak_line_hex(line, (uintptr_t)crash->address);
}

static void say_signal(const struct hak_os_crash *crash) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_text(&line, name_of(crash->signal));
  hak_line_text(&line, ": ");
  if (crash->is_fault) say_fault(&line, crash);
  else hak_line_text(&line, "by abort, raise or kill");
  hak_line_text(&line, ", at the instruction ");
  hak_line_hex(&line, crash->instruction);
  hak_line_text(&line, ", thread ");
  hak_line_dec(&line, crash->thread);
  hak_line_text(&line, "\n");
  hak_os_write_err(line.text, line.used);
}

/* Prints the line of the address p. Returns the call site of the block there; 0: no block, or unknown. */
static uint64_t say_address(const void *p) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_hex(&line, (uintptr_t)p);
  hak_line_text(&line, " lies ");
  uint64_t asker = hak_explain(&line, p);
  hak_line_text(&line, "\n");
  hak_os_write_err(line.text, line.used);
  return asker;
}

/* ---- files ---- */

enum { PATH_SHOWN = 300 };

struct places {
  uint64_t address[2];
};

static void say_place(uint64_t address, const struct hak_image *image) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_hex(&line, address);
  hak_line_text(&line, " is ");
  hak_line_clipped(&line, image->path, PATH_SHOWN);
  hak_line_text(&line, "+");
  hak_line_hex(&line, address - image->first + image->offset);
  hak_line_text(&line, "\n");
  hak_os_write_err(line.text, line.used);
}

static void say_where_inside(const struct hak_image *image, void *to) {
  const struct places *places = to;
  for (size_t i = 0; i < sizeof places->address / sizeof places->address[0]; i++) {
    uint64_t address = places->address[i];
    if (image->first <= address && address < image->end && image->path[0] != '\0') say_place(address, image);
  }
}

/* Prints nothing if HAKMEM itself ends the process: the fatal line is printed already. Prints nothing to a stderr that
 * takes no text within a second: a full pipe must not keep the process from its end. */
static void report(const struct hak_os_crash *crash) {
  bool guard = crash->has_address && hak_guarded_holds(crash->address);
  if (hak_is_dying() || (!guard && hak_setting(crash_report) == 0)) return;
  if (!g_sandboxed && !hak_os_err_takes_text()) return;
  if (guard) hak_guard_report_fault(crash, !g_sandboxed);
  if (hak_setting(crash_report) == 0) return;
  say_signal(crash);
  struct places places = {{crash->instruction, 0}};
  if (crash->is_fault && crash->has_address) places.address[1] = say_address(crash->address);
  if (!g_sandboxed) hak_images_visit(say_where_inside, &places);
}

bool hak_crash_is_in_sandbox(void) { return g_sandboxed; }

void hak_crash_begin_guards(void) {
  hak_os_catch_crash(SIGSEGV, report);
  hak_os_catch_crash(SIGBUS, report);
}

void hak_crash_enter_sandbox(void) { g_sandboxed = true; }

void hak_crash_begin(void) {
  hak_crash_begin_guards();
  hak_os_catch_crash(SIGABRT, report);
}
