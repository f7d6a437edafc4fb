/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* marker.h: what a stepped program tells its stepper: an int3 with a code in rax.
 *
 * failure   Without a stepper the program ends by SIGTRAP.
 */
#ifndef HAK_TESTS_STEP_MARKER_H
#define HAK_TESTS_STEP_MARKER_H

enum {
  MARKER_BEGIN = 1, /* the operation begins */
  MARKER_END,       /* the operation has ended */
  MARKER_WENT_ON,   /* the interrupted copy finished, and its checks passed */
  MARKER_REFUSED,   /* the interrupted copy ended with the line of a re-entry */
  MARKER_FAILED,    /* the interrupted copy failed */
};

static inline void marker_raise(long code) { __asm__ volatile("int3" : "+a"(code) : : "memory"); }

#endif
