/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* image.h: populates the pages of the file that contains this code.
 *
 * what      Maps text and constants and fetches zeroed data, for a program that must not fault later. In a static
 *           program the file contains the whole program; a part of more than 16 MiB is skipped. Of libc only the two
 *           functions that copy and clear blocks are mapped.
 *
 *               [ headers, text, constants ]   [ .data .... | zeroed ]     parts that the headers say are loaded
 *
 * owner     The headers, found by the linker's __ehdr_start.
 * failure   Not reported. A kernel before 5.14 populates nothing; pages come with the first use.
 * not here  Memory outside of the file: entry/mallopt.h.
 */
#ifndef HAK_OS_IMAGE_H
#define HAK_OS_IMAGE_H

void hak_image_populate(void);

#endif
