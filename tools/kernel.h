/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kernel.h: the modelled kernel under the library.
 *
 * what      The library's kernel calls and clock end here (the linker's --wrap, and the clock's function). Addresses
 *           come from the real kernel, and so does the memory of the library's tables, which is really written. The
 *           program's blocks are never written: pages.h models which of their pages would be resident.
 *
 *              munmap, MADV_DONTNEED      the pages go            mremap      the pages move
 *              MADV_HUGEPAGE              noted by pages.h        the clock   stands still except for kernel_set_clock
 *
 *           Bytes copied or cleared by the library outside its slow paths belong to the program: a touch, no more.
 * owner     The process.
 * locks     None: single-threaded.
 * not here  Failed kernel calls: there are none.
 */
#ifndef HAK_TOOLS_KERNEL_H
#define HAK_TOOLS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* Work of the kernel since kernel_start. own: for the library's tables, as really done for this process. */
struct kernel_work {
  uint64_t peak_pages, own_peak_pages; /* [pages] own: at the time of the peak */
  uint64_t faults, own_faults;
  uint64_t mean_pages; /* over the modelled time */
};

/* Starts the model's clock and the counting of pages. */
void kernel_start(void);

/* [ns] since kernel_start */
void kernel_set_clock(uint64_t ns);
uint64_t kernel_clock_ms(void);

/* The program writes to a block. */
void kernel_touch(const void *p, size_t bytes);

/* After each call: updates the library's own pages at a new peak. */
void kernel_look(void);

/* Back to the real kernel. */
struct kernel_work kernel_stop(void);

#endif
