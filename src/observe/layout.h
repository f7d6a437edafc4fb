/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* layout.h: where a debugger finds HAKMEM's tables in a process.
 *
 * what      The version of the note in layout.c, and the numbers of layout.def.
 * not here  The reader: cli/hakmem/reading/tables.py.
 */
#ifndef HAK_OBSERVE_LAYOUT_H
#define HAK_OBSERVE_LAYOUT_H

#include <stdint.h>

#include "base/bits.h"

/* For a source file that every link takes from libhakmem.a: makes the linker take layout.o, too, and so the note. Adds
 * nothing to the output. */
#define HAK_LAYOUT_COMES_ALONG() \
  __asm__(".pushsection .hakmem.needs, \"e\", %progbits\n.quad hak_layout\n.popsection")

#define HAK_LAYOUT_VERSION 8
#define HAK_LAYOUT_NUMBERS 130
extern HAK_HIDDEN const uint32_t hak_layout[HAK_LAYOUT_NUMBERS];

#endif
