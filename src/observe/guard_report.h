/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guard_report.h: the report of an error at a guarded block, on stderr.
 *
 * what      The kind of the error, the address and its distance, the block, and the stacks that took and freed it; then
 *           the files that hold these stacks, so that `hakmem crash` can name functions and lines later, from the text:
 *
 *               hakmem: guard: use after free: write to 0x2f0dd3e10048, 8 B into a freed block of 24 B
 *               hakmem: guard: faulted, thread 12: 0x5581c7e8a1f2
 *               hakmem: guard: taken, thread 11: 0x5581c7e8a0c1 0x7f0c1a027249
 *               hakmem: guard: freed, thread 11: 0x5581c7e8a0d7 0x7f0c1a027249
 *               hakmem: guard: image 0x5581c7e8a000 to 0x5581c7e8b000 offset 0x1000 id 4b1f..., /usr/bin/program
 *
 * locks     None. Signal-safe.
 * failure   In a sandbox no file may be opened: no images.
 * not here  Finding the error: blocks/guarded.h. Other crashes: crash.h.
 */
#ifndef HAK_OBSERVE_GUARD_REPORT_H
#define HAK_OBSERVE_GUARD_REPORT_H

#include <stdbool.h>

#include "blocks/guarded.h"
#include "os/catch.h"
#include "os/die.h"

/* A fault at an address of the pool. images: files may be opened. */
void hak_guard_report_fault(const struct hak_os_crash *crash, bool images);

/* A wrong free of p, whose stack is `now`. */
void hak_guard_report_free(enum hak_error error, const void *p, const struct hak_guarded_stack *now);

#endif
