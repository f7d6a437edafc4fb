/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* secure.h: the checks of the secure flavour, around each block.
 *
 * what      Stub: no check yet.
 */
#ifndef HAK_SECURE_SECURE_H
#define HAK_SECURE_SECURE_H

#include <stddef.h>

#include "base/bits.h"
#include "base/config.h"

HAK_INLINE size_t hak_secure_room(size_t n) { return n; }
HAK_INLINE void hak_secure_dress(void *p, size_t n, size_t align) { (void)p, (void)n, (void)align; }
HAK_INLINE void *hak_secure_undress(void *p, const void *site) { return (void)site, p; }
HAK_INLINE void hak_secure_expect(const void *p, size_t n, size_t align, const void *site) {
  (void)p, (void)n, (void)align, (void)site;
}

#endif
