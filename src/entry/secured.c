/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* secured.c: calloc, realloc and the usable size in the secure flavour: see secured.h.
 */
#include "entry/secured.h"

#include "entry/fast_path.h"

void *hak_secured_calloc(size_t count, size_t size, const void *site) { return hak_slow_calloc(count, size, site); }
void *hak_secured_realloc(void *p, size_t n, const void *site) { return hak_slow_realloc(p, n, site); }
size_t hak_secured_usable(const void *p, const void *site) { return hak_slow_usable(p, site); }
