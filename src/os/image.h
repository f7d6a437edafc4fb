/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* image.h: the pages of the file that this code came in.
 *
 * what      Its text and constants are mapped and its zeroed data fetched, for a program that may not fault later. In a
 *           static program that is all of the program's; a large part is left alone. So is libc's text, but for the
 *           two functions of it that blocks are copied and cleared by.
 *
 *               [ headers, text, constants ]   [ .data .... | zeroed ]     parts that the headers say are loaded
 *
 * owner     The headers, found by the linker's __ehdr_start.
 * failure   None: a kernel before 5.14 does neither, and pages come with their first use as ever.
 * not here  What lies outside of the file: entry/mallopt.h.
 */
#ifndef HAK_OS_IMAGE_H
#define HAK_OS_IMAGE_H

void hak_image_populate(void);

#endif
