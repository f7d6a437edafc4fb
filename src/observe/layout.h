/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* layout.h: where a debugger finds HAKMEM's tables in a process.
 *
 * what      The version of the note in layout.c, and the numbers of layout.def.
 * not here  Who reads them: python/hakmem/tables.py.
 */
#ifndef HAK_OBSERVE_LAYOUT_H
#define HAK_OBSERVE_LAYOUT_H

#include <stdint.h>

#include "base/bits.h"

/* Stands in a file that every program has: then an archive gives it the note, too. Nothing of it is in the output. */
#define HAK_LAYOUT_COMES_ALONG() \
  __asm__(".pushsection .hakmem.needs, \"e\", %progbits\n.quad hak_layout\n.popsection")

#define HAK_LAYOUT_VERSION 2
#define HAK_LAYOUT_NUMBERS 56
extern HAK_HIDDEN const uint32_t hak_layout[HAK_LAYOUT_NUMBERS];

#endif
