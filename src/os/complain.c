/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* complain.c: lines for the user, while stderr is still known to be the user's.
 *
 * what      See complain.h.
 * owner     g_complaint.
 */
#include "os/complain.h"

#include <stdbool.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/os.h"

enum { NONE, BEGUN, WHOLE };

static bool g_loaded;

static HAK_RARE struct {
  uint64_t state;
  struct hak_line line;
} g_complaint;

void hak_os_loaded(void) { hak_store(&g_loaded, true); }

void hak_os_keep_complaint(const struct hak_line *line) {
  uint64_t none = NONE;
  hak_os_tally(HAK_OS_UNSAID);
  if (!hak_cas_acquire(&g_complaint.state, &none, BEGUN)) return;
  g_complaint.line = *line;
  hak_store_release(&g_complaint.state, WHOLE);
}

void hak_os_complain(const struct hak_line *line) {
  if (hak_load(&g_loaded)) hak_os_keep_complaint(line);
  else hak_os_write_err(line->text, line->used);
}

const struct hak_line *hak_os_first_complaint(void) {
  return hak_load_acquire(&g_complaint.state) == WHOLE ? &g_complaint.line : NULL;
}
