/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* loaded.h: the program and the libraries that the dynamic loader has mapped.
 *
 * what      For each module the load address, the extent, and the linker's build-id (a note of type 3 and name "GNU").
 * locks     The loader's, during the walk: the caller holds no lock that is taken inside malloc.
 * failure   id_bytes = 0: a module without a build-id.
 * not here  Names of functions: api/sites.c.
 */
#ifndef HAK_OS_LOADED_H
#define HAK_OS_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

enum { HAK_BUILD_ID_BYTES = 32, HAK_LOADED_NAME_BYTES = 64 };

struct hak_loaded {
  uint64_t base;       /* address in memory - address in the file */
  uint64_t first, end; /* the module lies in [first, end) */
  uint8_t id[HAK_BUILD_ID_BYTES];
  uint8_t id_bytes;    /* 0: none */
  char name[HAK_LOADED_NAME_BYTES]; /* last part of the path, cut to fit, without blanks */
};

/* Number of calls of dlopen and dlmopen that the program made (api/dlopen.c): what is loaded may have changed. */
extern HAK_HIDDEN uint32_t g_loaded_opens;

/* Copies the build-id from a module's notes, which lie at a multiple of 4 bytes. Returns the length [bytes]; 0:
 * none. */
unsigned hak_loaded_id(const char *notes, size_t bytes, uint8_t id[HAK_BUILD_ID_BYTES]);

/* Stores at most `most` modules, in the loader's order. Returns the number stored. */
unsigned hak_loaded_all(struct hak_loaded *modules, unsigned most);

#endif
