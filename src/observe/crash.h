/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crash.h: the report of a crash on stderr, with the setting crash_report.
 *
 * what      A few lines on stderr, then the default action of the signal, as if there were no handler:
 *
 *               hakmem: SIGSEGV: write to 0x2f0dd3e10048, at the instruction 0x5581c7e8a1f2, thread 4711
 *               hakmem: 0x2f0dd3e10048 lies in memory that was freed and unmapped
 *               hakmem: 0x5581c7e8a1f2 is /usr/bin/program+0x11f2
 *
 * locks     None. Signal-safe.
 * failure   A fault in the report ends the process, as the first fault would have. No report: a program with a handler
 *           of its own, installed before or after; a thread whose stack is used up, without an alternate signal stack.
 * not here  Text about an address: explain.h. Signals: os/catch.h.
 */
#ifndef HAK_OBSERVE_CRASH_H
#define HAK_OBSERVE_CRASH_H

#include <stdbool.h>

/* Installs the handlers. Call at start, if the setting is on. */
void hak_crash_begin(void);

/* The same for faults at guarded blocks (blocks/guarded.h), whatever crash_report says. */
void hak_crash_begin_guards(void);

/* True once no file may be opened. */
bool hak_crash_is_in_sandbox(void);

/* Call before the program enters a sandbox, which may end the process for opening a file. */
void hak_crash_enter_sandbox(void);

#endif
