/* large.h: blocks that are runs of units, above the slabs and below the big threshold.
 *
 * what      A block is a run; its facts are the run's. There is no cache: span's dirty bins are one.
 * owner     The run belongs to the block until it is freed. g_large counts live bytes.
 * locks     Span's.
 * orders    The counter is relaxed.
 * hot path  No.
 * failure   NULL: no memory.
 * not here  Placement by call site.
 */
#ifndef HAK_BOX_LARGE_H
#define HAK_BOX_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n bytes at a multiple of align (a power of two). *zero: the block is known to be all zero. */
void *hak_large_alloc(size_t n, size_t align, bool *zero);

/* Frees the block whose run begins at `unit`. */
void hak_large_free(uint32_t unit);

/* Usable bytes of that block. */
size_t hak_large_bytes(uint32_t unit);

/* Makes it n bytes long where it lies; false when it cannot. */
bool hak_large_resize(uint32_t unit, size_t n);

/* Usable bytes of all live large blocks. */
uint64_t hak_large_live(void);

#endif
