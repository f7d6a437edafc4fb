/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_images.h: files mapped in this process.
 *
 * what      The executable mappings of /proc/self/maps, each with its file and the file's build-id. The build-id is
 *           read through /proc/self/mem, where an unreadable address is an error, not a signal.
 *
 *               7f0c1a000000-7f0c1a026000 r--p 00000000 ... /lib/libc.so.6    headers: build-id
 *               7f0c1a026000-7f0c1a17c000 r-xp 00026000 ... /lib/libc.so.6    an image
 *
 * owner     The caller; one caller at a time.
 * locks     None. Signal-safe: the loader, whose lock another function may hold, is not called.
 * failure   A file that the loader did not load has an empty id. Images beyond HAK_IMAGES are left out.
 */
#ifndef HAK_RECORD_PROFILE_IMAGES_H
#define HAK_RECORD_PROFILE_IMAGES_H

#include <stdint.h>

#include "os/loaded.h"

enum { HAK_IMAGES = 1024, HAK_IMAGE_PATH_BYTES = 512 };

struct hak_image {
  uint64_t first, end, offset;
  uint8_t id[HAK_BUILD_ID_BYTES];
  unsigned id_bytes;
  char path[HAK_IMAGE_PATH_BYTES]; /* clipped; "[vdso]" and similar names as the kernel gives; "": no file */
};

/* Calls `visit` for each image, by rising addresses. */
void hak_images_visit(void (*visit)(const struct hak_image *image, void *to), void *to);

#endif
