/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* secured.h: realloc, the usable size, and long blocks in the secure flavour.
 *
 * what      As the functions of fast_path.h, on dressed blocks (entry/front.h). In no other library.
 * failure   NULL with errno = ENOMEM; a block that fails a check ends the program.
 */
#ifndef HAK_ENTRY_SECURED_H
#define HAK_ENTRY_SECURED_H

#include <stdbool.h>
#include <stddef.h>

/* For n above HAK_SECURE_ZEROED, where the memory below is not known to be zero; or from a slow path. */
void *hak_secured_malloc(size_t n, const void *site);
void hak_secured_free(void *p, const void *site);
/* A free of p, or of NULL, for which no block is given to the layers below: counted here, as it is while calls are. */
void hak_secured_note_free(void *p, const void *site);
void *hak_secured_realloc(void *p, size_t n, const void *site);

/* Frees what waits in the calling thread's quarantine; with `close` nothing waits there from now on. */
void hak_secured_empty(bool close);

/* [bytes] As asked for. */
size_t hak_secured_usable(const void *p, const void *site);

#endif
