/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* die.c: the fatal message.
 *
 * what      Builds the line "hakmem: <text>: pointer 0x..., class <n> B, caller 0x..." and aborts.
 * failure   Ends the process.
 * not here  Stack traces.
 */
#include "os/die.h"

#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fmt.h"
#include "os/catch.h"
#include "os/os.h"
#include "os/self.h"

static const char *const error_text[HAK_ERROR_none] = {
#define ERROR(name, text) [HAK_ERROR_##name] = text,
#include "os/errors.def"
#undef ERROR
};

static void say_class(struct hak_line *line, size_t class_bytes) {
  hak_line_text(line, ", class ");
  if (class_bytes == 0) {
    hak_line_text(line, "none");
    return;
  }
  hak_line_dec(line, class_bytes);
  hak_line_text(line, " B");
}

static HAK_RARE bool g_dying;

bool hak_is_dying(void) { return hak_load(&g_dying); }

/* On the second call SIGABRT's handler is skipped: hak_os_abort unblocks the signal, so a handler that itself ends here
 * would be called without end. */
_Noreturn static void abort_once(void) {
  bool again = hak_self.dying != 0;
  hak_self.dying = 1;
  hak_store(&g_dying, true);
  hak_os_abort(again);
}

_Noreturn void hak_die(enum hak_error error, const void *p, size_t class_bytes, const void *caller) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_text(&line, error_text[error]);
  hak_line_text(&line, ": pointer ");
  hak_line_hex(&line, (uintptr_t)p);
  say_class(&line, class_bytes);
  if (caller != NULL) {
    hak_line_text(&line, ", caller ");
    hak_line_hex(&line, (uintptr_t)caller);
  }
  hak_line_text(&line, "\n");
  hak_os_write_err(line.text, line.used);
  abort_once();
}
