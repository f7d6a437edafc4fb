/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* loaded.h: what the dynamic loader has mapped.
 *
 * what      The program and its libraries, each with the address it was loaded at, its extent, and the build-id that
 *           the linker gave it (a note of type 3 and name "GNU").
 * locks     The loader's, while it is gone through: no lock may be held that is taken inside malloc.
 * failure   A module without a build-id has none.
 * not here  Names of functions: api/sites.c.
 */
#ifndef HAK_OS_LOADED_H
#define HAK_OS_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAK_BUILD_ID_BYTES = 32, HAK_LOADED_NAME_BYTES = 64 };

struct hak_loaded {
  uint64_t base;       /* what addresses in the module are relative to */
  uint64_t first, end; /* all of it lies between */
  uint8_t id[HAK_BUILD_ID_BYTES];
  uint8_t id_bytes;    /* 0: none */
  char name[HAK_LOADED_NAME_BYTES]; /* the last part of its path, cut, without blanks */
};

/* The build-id among a module's notes, which lie at a multiple of 4 bytes; how long it is. 0: there is none. */
unsigned hak_loaded_id(const char *notes, size_t bytes, uint8_t id[HAK_BUILD_ID_BYTES]);

/* At most `most` modules, in the loader's order; how many there are. */
unsigned hak_loaded_all(struct hak_loaded *modules, unsigned most);

#endif
