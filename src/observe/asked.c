/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asked.c: sampling switched on and off by another process.
 *
 * what      See asked.h.
 * owner     g_asked.
 */
#include "observe/asked.h"

#include <elf.h>
#include <stdbool.h>

#include "base/atomic.h"
#include "cache/account.h"
#include "cache/magazine.h"
#include "cache/marks.h"
#include "os/allowed.h"
#include "os/fork.h"
#include "os/given.h"
#include "record/profile_backtrace.h"
#include "record/python_frames.h"
#include "tables/calls.h"
#include "tables/settings.h"

HAK_RARE struct hak_asked g_asked;

/* As hak_heap_settings_changed after the setting `profile`, but from inside malloc. In a sandbox no kernel calls that
 * malloc does not need: one checks a page of a stack, another blocks signals while a fork is noticed. */
static void sample_from_now(bool on) {
  bool bare = (hak_load(&g_asked.how) & HAK_HOW_BARE) != 0 || !hak_load(&g_allowed);
  unsigned modules = (unsigned)hak_min(hak_load(&g_asked.modules), HAK_ASKED_MODULES);
  if (on && bare) hak_unwind_modules_give(g_asked.module, modules);
  if (on) hak_backtrace_prepare();
  if (on) hak_backtrace_bare(bare); /* a thread may still walk when sampling ends */
  bool python = on && !bare && !HAK_SECURE; /* not a function to call that another process wrote into memory */
  hak_python_take(python ? &g_asked.python : NULL);
  hak_setting_put(profile, on);
  hak_store(&g_account.lent, on);
  if (!bare) hak_fork_watch();
  hak_calls_heed();
  hak_marks_close_all();
}

void hak_asked_heed(void) {
  uint8_t what = hak_swap_acq_rel(&g_account.asked, (uint8_t)HAK_ASKED_NOTHING);
  bool known = what == HAK_ASKED_SAMPLE || what == HAK_ASKED_REST, refused = !known || hak_given(AT_SECURE) != 0;
  if (what == HAK_ASKED_NOTHING) return;
  bool taken = what == HAK_ASKED_REST && !hak_load(&g_account.lent); /* the program itself switched it meanwhile */
  if (!refused && !taken) sample_from_now(what == HAK_ASKED_SAMPLE);
  hak_store_release(&g_asked.answer, (uint32_t)(refused ? HAK_ANSWER_REFUSED : HAK_ANSWER_DONE));
}
