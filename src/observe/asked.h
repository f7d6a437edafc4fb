/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asked.h: sampling switched on and off by another process.
 *
 * what      A mailbox. The asker writes it as a debugger would, with the kernel's permission to write this process's
 *           memory, and sends no signal. A slow path that reads g_account.due anyway reads the request in the same
 *           load, so that no path has an instruction more.
 *
 *               asker: answer = 0, unwind, address, python, how, then g_account.asked = 1 | 2
 *               next slow path of any thread: asked = 0; profile = on | off; answer = 1 done | 2 refused
 *
 *           Blocks from before the request have no sample. A fork's child ends the sampling. The unwinder cannot be
 *           opened here, inside malloc, where the loader's lock may be held: the asker names the functions of a libgcc
 *           that the program loaded at its start, and so cannot close. Where the program has none, stacks are read by
 *           frame pointers, but not in a sandbox, which may end the process for the kernel call that checks a page. The
 *           asker sees a sandbox that this process was not told of, and asks for `bare`. There a child of a process of
 *           one thread samples on.
 * owner     g_asked: the asker, until `asked` is 0 again.
 * orders    `asked` is written last, and exchanged for 0 (cache/account.h); `answer` is stored with release.
 * failure   A program that runs with raised rights refuses. A program without slow paths does not answer. Not guarded
 *           against: a sandbox that is entered by a bare kernel call after the asker looked, which may end the process
 *           for the check of a page, and a stack with less than 8 KiB left, as the unwinder needs 3 KiB.
 * not here  The asker: cli/hakmem/reading/asking.py. The setting's other sources: tables/settings.h.
 */
#ifndef HAK_OBSERVE_ASKED_H
#define HAK_OBSERVE_ASKED_H

#include <stdint.h>

#include "base/bits.h"
#include "record/python_frames.h"

enum hak_asked_answer { HAK_ANSWER_NONE, HAK_ANSWER_DONE, HAK_ANSWER_REFUSED };

enum { HAK_HOW_FRAMES = 1, HAK_HOW_BARE = 2 }; /* stacks by frame pointers; only kernel calls of malloc */

struct hak_asked {
  uint64_t unwind, address; /* _Unwind_Backtrace, _Unwind_GetIP; 0: the program has loaded none */
  struct hak_python python; /* an interpreter in code that stays loaded; state 0: none */
  uint32_t how;             /* HAK_HOW_ bits */
  uint32_t answer;          /* enum hak_asked_answer */
};
extern HAK_HIDDEN struct hak_asked g_asked;

/* Does what is asked for. Call at the head of a slow path while g_account.asked is not 0. */
void hak_asked_heed(void);

#endif
