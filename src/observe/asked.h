/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asked.h: sampling switched on and off by another process.
 *
 * what      A mailbox. The asker writes it as a debugger would, with the kernel's permission to write this process's
 *           memory, and sends no signal. A slow path that reads g_account.due anyway reads the request in the same
 *           load, so that no path has an instruction more.
 *
 *               asker: answer = 0, how, modules, python, then g_account.asked = 1 | 2
 *               next slow path of any thread: asked = 0; profile = on | off; answer = 1 done | 2 refused
 *
 *           Blocks from before the request have no sample. A fork's child ends the sampling. In a sandbox, which may
 *           end the process for any kernel call that malloc does not make, stacks are walked without one. The asker
 *           sees a sandbox that this process was not told of, asks for `bare`, and writes which modules there are,
 *           of those that the program cannot close: the list of them is a file. There a child of a process of one
 *           thread samples on.
 * owner     g_asked: the asker, until `asked` is 0 again.
 * orders    `asked` is written last, and exchanged for 0 (cache/account.h); `answer` is stored with release.
 * failure   A program that runs with raised rights refuses. A program without slow paths does not answer. Not guarded
 *           against: a sandbox that is entered by a bare kernel call after the asker looked, which may end the process
 *           for the check of a page, and a stack with less than 3 KiB left.
 * not here  The asker: cli/hakmem/reading/asking.py. The setting's other sources: tables/settings.h.
 */
#ifndef HAK_OBSERVE_ASKED_H
#define HAK_OBSERVE_ASKED_H

#include <stdint.h>

#include "base/bits.h"
#include "record/python_frames.h"
#include "record/unwind_modules.h"

enum hak_asked_answer { HAK_ANSWER_NONE, HAK_ANSWER_DONE, HAK_ANSWER_REFUSED };

enum { HAK_HOW_BARE = 1 }; /* only kernel calls of malloc */

enum { HAK_ASKED_MODULES = 18 };

struct hak_asked {
  uint32_t how;     /* HAK_HOW_ bits */
  uint32_t answer;  /* enum hak_asked_answer */
  struct hak_python python; /* an interpreter in code that stays loaded; state 0: none */
  uint64_t modules; /* number of rows in use, with `bare`; by rising addresses */
  struct hak_unwind_module module[HAK_ASKED_MODULES];
};
extern HAK_HIDDEN struct hak_asked g_asked;

/* Does what is asked for. Call at the head of a slow path while g_account.asked is not 0. */
void hak_asked_heed(void);

#endif
