/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* crash.h: what a crash is told, with the setting crash_report.
 *
 * what      Some lines on stderr before the signal does what it does by default, as from where it came:
 *
 *               hakmem: SIGSEGV: write to 0x2f0dd3e10048, at the instruction 0x5581c7e8a1f2, thread 4711
 *               hakmem: 0x2f0dd3e10048 lies in memory that was freed and unmapped
 *               hakmem: 0x5581c7e8a1f2 is /usr/bin/program+0x11f2
 *
 * locks     None. Signal-safe.
 * failure   A fault in the report itself ends the process, as the first one would have. A program with a handler of its
 *           own, then or later, has that and no report; so has a thread whose stack is used up, unless it has another
 *           one for handlers.
 * not here  What an address is: explain.h. Signals: os/catch.h.
 */
#ifndef HAK_OBSERVE_CRASH_H
#define HAK_OBSERVE_CRASH_H

/* The setting says so. At start. */
void hak_crash_begin(void);

/* A sandbox comes, which may end the process for opening a file. */
void hak_crash_enter_sandbox(void);

#endif
