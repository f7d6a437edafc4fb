/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* arena.c: see arena.h.
 *
 * what      Small blocks are cut in order from mappings of 1 MiB; a large block is a mapping of its own.
 */
#define _GNU_SOURCE
#include "arena.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { region_bytes = 1 << 20, large_bytes = 1 << 17, grain = 16 };

/* At the start of a mapping; all mappings form a ring. */
struct mapping {
  struct mapping *next, *previous;
  size_t bytes, used;
};

/* In front of a block. */
struct label {
  size_t size;
  bool large;
};
_Static_assert(sizeof(struct label) == grain && sizeof(struct mapping) % grain == 0, "blocks are aligned");

static struct mapping ring = {&ring, &ring, 0, 0};
static struct mapping *open_region;

static void link_in(struct mapping *m)
{
  m->next = ring.next;
  m->previous = &ring;
  m->next->previous = m;
  ring.next = m;
}

static void unlink_and_unmap(struct mapping *m)
{
  m->previous->next = m->next;
  m->next->previous = m->previous;
  munmap(m, m->bytes);
}

static struct mapping *map(size_t bytes)
{
  struct mapping *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED)
    return NULL;
  *m = (struct mapping){.bytes = bytes, .used = sizeof *m};
  link_in(m);
  return m;
}

static void *cut(struct mapping *m, size_t size, bool large)
{
  struct label *label = (struct label *)(void *)((char *)m + m->used);
  *label = (struct label){size, large};
  m->used += sizeof *label + size;
  return label + 1;
}

static struct label *label_of(void *p)
{
  return (struct label *)p - 1;
}

static struct mapping *own_mapping(void *p)
{
  return (struct mapping *)(void *)label_of(p) - 1;
}

void *hak_arena_alloc(size_t size)
{
  if (size > SIZE_MAX / 2)
    return NULL;
  size = (size + grain - 1) / grain * grain;
  if (size >= large_bytes) {
    struct mapping *own = map(sizeof *own + sizeof(struct label) + size);
    return own == NULL ? NULL : cut(own, size, true);
  }
  if (open_region == NULL || open_region->bytes - open_region->used < sizeof(struct label) + size)
    open_region = map(region_bytes);
  return open_region == NULL ? NULL : cut(open_region, size, false);
}

/* Fresh mappings are zero, and no byte is handed out twice. */
void *hak_arena_zeroed(size_t count, size_t size)
{
  return size != 0 && count > SIZE_MAX / size ? NULL : hak_arena_alloc(count * size);
}

static void *resize_large(void *p, size_t size)
{
  struct mapping *old = own_mapping(p);
  struct mapping kept = *old;
  size_t bytes = sizeof kept + sizeof(struct label) + size;
  struct mapping *m = mremap(old, kept.bytes, bytes, MREMAP_MAYMOVE);
  if (m == MAP_FAILED)
    return NULL;
  m->bytes = m->used = bytes;
  m->next->previous = m->previous->next = m;
  struct label *label = (struct label *)(void *)(m + 1);
  label->size = size;
  return label + 1;
}

void *hak_arena_resize(void *p, size_t size)
{
  if (p != NULL && label_of(p)->large && size >= large_bytes && size <= SIZE_MAX / 2)
    return resize_large(p, (size + grain - 1) / grain * grain);
  void *moved = hak_arena_alloc(size);
  if (p != NULL && moved != NULL) {
    memcpy(moved, p, label_of(p)->size < size ? label_of(p)->size : size);
    hak_arena_free(p);
  }
  return moved;
}

void hak_arena_free(void *p)
{
  if (p != NULL && label_of(p)->large)
    unlink_and_unmap(own_mapping(p));
}

void hak_arena_drop(void)
{
  while (ring.next != &ring)
    unlink_and_unmap(ring.next);
  open_region = NULL;
}
