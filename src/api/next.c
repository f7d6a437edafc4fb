/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* next.c: looks up libc's own functions of the names that this library stands in front of.
 *
 * what      See next.h.
 * owner     g_next.
 * orders    Two threads that look up at once store the same addresses.
 */
#define _GNU_SOURCE
#include "api/next.h"

struct hak_next g_next;

static void store(void *cell, void *address) { hak_store((void **)cell, address); }

void hak_next_find(void) {
#define NEXT_FIND(name, result, parameters) store(&g_next.name, dlsym(RTLD_NEXT, #name));
  HAK_NEXT_NAMES(NEXT_FIND)
#undef NEXT_FIND
  hak_store_release(&g_next.found, true);
}
