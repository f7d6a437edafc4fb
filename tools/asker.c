/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asker.c: see asker.h. */
#include "asker.h"
#include "os/self.h"
#include "tables/site.h"

static __thread struct {
  uint64_t address, depth;
} asker;

void hak_ask_as(uint64_t address, uint64_t depth)
{
  asker.address = address;
  asker.depth = depth;
}

/* The frame for which hak_self_depth is `depth`; for 0 a frame above any stack. */
static const void *frame_at(uint64_t depth)
{
  uintptr_t frame = depth == 0 ? UINTPTR_MAX : (uintptr_t)hak_self_pointer() - depth * 16;
  return (const void *)frame;
}

HAK_HIDDEN unsigned __real_hak_site_of(const void *address, const void *frame);
HAK_HIDDEN unsigned __wrap_hak_site_of(const void *address, const void *frame);

unsigned __wrap_hak_site_of(const void *address, const void *frame)
{
  if (asker.address == 0)
    return __real_hak_site_of(address, frame);
  return __real_hak_site_of((const void *)(uintptr_t)asker.address, frame_at(asker.depth));
}
