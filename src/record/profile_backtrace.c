/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_backtrace.c: return addresses of a call of malloc.
 *
 * what      See profile_backtrace.h.
 * owner     g_backtrace.
 */
#include "record/profile_backtrace.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/allowed.h"
#include "record/unwind.h"
#include "record/unwind_modules.h"

static HAK_RARE struct {
  bool bare;        /* as another process said */
  bool was_allowed; /* when stacks began to be taken */
  bool finished;    /* the program said that it enters a sandbox */
} g_backtrace;

/* Settings may be set in a sandbox, too: what was allowed before stays known. */
void hak_backtrace_prepare(void) {
  if (hak_load(&g_allowed)) hak_store(&g_backtrace.was_allowed, true);
}

/* In a sandbox that the program entered, too. */
static bool is_bare(void) {
  if (hak_load(&g_backtrace.bare) || hak_load(&g_backtrace.finished)) return true;
  return hak_load(&g_backtrace.was_allowed) && !hak_load(&g_allowed);
}

void hak_backtrace_finish(bool reads) {
  if (reads && !is_bare()) hak_unwind_modules_read();
  hak_store(&g_backtrace.finished, true);
}

void hak_backtrace_bare(bool bare) { hak_store(&g_backtrace.bare, bare); }

/* By frame pointers, behind `site`, to which the program's call may return out of a frame of HAKMEM's own. */
static unsigned by_frame_pointers(uint64_t *frames, const void *frame) {
  unsigned depth = hak_unwind_chain(frames + 1, HAK_BACKTRACE_MOST - 1, frame, is_bare());
  if (depth == 0 || frames[1] != frames[0]) return depth + 1;
  memmove(frames, frames + 1, depth * sizeof *frames);
  return depth;
}

/* Of a library whose own tables have no header, only frame pointers are left. */
unsigned hak_backtrace_take(uint64_t frames[HAK_BACKTRACE_MOST], const void *site, const void *frame, uintptr_t *sp) {
  unsigned depth = hak_unwind(frames, HAK_BACKTRACE_MOST, (uintptr_t)site, is_bare(), sp);
  if (depth != 0) return depth;
  if (sp != NULL) *sp = 0;
  frames[0] = (uintptr_t)site;
  return frame != NULL ? by_frame_pointers(frames, frame) : 1;
}
