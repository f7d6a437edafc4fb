/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crash.c: what a crash is told, with the setting crash_report.
 *
 * what      See crash.h.
 */
#include "front/crash.h"

#include <signal.h>

#include "base/fmt.h"
#include "front/explain.h"
#include "os/catch.h"
#include "os/die.h"
#include "os/os.h"

static const char *name_of(int signal) {
  return signal == SIGSEGV ? "SIGSEGV" : signal == SIGBUS ? "SIGBUS" : "SIGABRT";
}

static void say_fault(struct hak_line *line, const struct hak_os_crash *crash) {
  if (!crash->has_address) {
    hak_line_text(line, "an address that no program can have");
    return;
  }
  hak_line_text(line, crash->writes ? "write to " : "read of ");
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

static void say_address(const void *p) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_hex(&line, (uintptr_t)p);
  hak_line_text(&line, " lies ");
  hak_explain(&line, p);
  hak_line_text(&line, "\n");
  hak_os_write_err(line.text, line.used);
}

/* What HAKMEM itself ends has its line already. */
static void report(const struct hak_os_crash *crash) {
  if (hak_is_dying()) return;
  say_signal(crash);
  if (crash->is_fault && crash->has_address) say_address(crash->address);
}

void hak_crash_begin(void) {
  hak_os_catch_crash(SIGSEGV, report);
  hak_os_catch_crash(SIGBUS, report);
  hak_os_catch_crash(SIGABRT, report);
}
