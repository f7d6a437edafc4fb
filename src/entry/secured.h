/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* secured.h: calloc, realloc and the usable size in the secure flavour.
 *
 * what      As the functions of fast_path.h, on dressed blocks (entry/front.h). In no other library.
 * failure   NULL with errno = ENOMEM; a block that fails a check ends the program.
 */
#ifndef HAK_ENTRY_SECURED_H
#define HAK_ENTRY_SECURED_H

#include <stddef.h>

void *hak_secured_calloc(size_t count, size_t size, const void *site);
void *hak_secured_realloc(void *p, size_t n, const void *site);

/* [bytes] As asked for. */
size_t hak_secured_usable(const void *p, const void *site);

#endif
