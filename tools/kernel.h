/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kernel.h: the kernel that the model invents for the library.
 *
 * what      The library's kernel calls and its clock come here (the linker's --wrap, and the clock's function). The
 *           addresses are the real kernel's, and so is the memory of the library's own tables, which it really writes.
 *           The program's blocks are never written to: which of their pages would be there is in pages.h.
 *
 *               munmap, MADV_DONTNEED      the pages go            mremap      they go along
 *               MADV_HUGEPAGE              as asked for            the clock   stands still but for kernel_set_clock
 *
 *           What the library copies or clears outside its slow doors are the program's bytes: a touch, and no more.
 * owner     The process.
 * locks     None: one thread.
 * not here  Kernel calls that failed: there are none.
 */
#ifndef HAK_TOOLS_KERNEL_H
#define HAK_TOOLS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* What the kernel did from kernel_start on. own: for the library's own tables, as this process really got them. */
struct kernel_work {
  uint64_t peak_pages, own_peak_pages; /* own: at the time of the peak */
  uint64_t faults, own_faults;
  uint64_t mean_pages; /* over the time that passed */
};

/* From here on the clock is the model's, and pages are counted. */
void kernel_start(void);

/* Nanoseconds since kernel_start. */
void kernel_set_clock(uint64_t ns);
uint64_t kernel_clock_ms(void);

/* The program writes to a block. */
void kernel_touch(const void *p, size_t bytes);

/* After each call: may there be a new peak? */
void kernel_look(void);

/* The real kernel again. */
struct kernel_work kernel_stop(void);

#endif
