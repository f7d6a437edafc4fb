/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* arena.h: memory for the trace reader in hak_replay, which must not use the malloc under measurement.
 *
 * what      Included before each source of the reader; the reader's calls of the malloc family then come here.
 * owner     One thread. hak_arena_drop unmaps everything at once; a freed small block stays until then.
 * failure   NULL, as malloc.
 */
#ifndef HAK_TOOLS_ARENA_H
#define HAK_TOOLS_ARENA_H

#include <stdlib.h>

void *hak_arena_alloc(size_t size);
void *hak_arena_zeroed(size_t count, size_t size);
void *hak_arena_resize(void *p, size_t size);
void hak_arena_free(void *p);
void hak_arena_drop(void);

#ifdef HAK_TAKES_ARENA
#define malloc hak_arena_alloc
#define calloc hak_arena_zeroed
#define realloc hak_arena_resize
#define free hak_arena_free
#endif

#endif
