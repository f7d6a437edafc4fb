/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_images.c: files mapped in this process.
 *
 * what      See profile_images.h. A file's headers are mapped below its code, so a walk by rising addresses reads the
 *           build-id before the code.
 * owner     g_images.
 */
#include "record/profile_images.h"

#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "base/str.h"
#include "os/maps.h"
#include "os/text.h"

enum { NOTES_BYTES = 4096, PARTS = 32 };

static HAK_RARE struct {
  long memory; /* descriptor of /proc/self/mem */
  struct hak_image image; /* the file whose headers were passed last */
  uint64_t notes[NOTES_BYTES / sizeof(uint64_t)];
  char text[HAK_MAPS_TEXT_BYTES];
} g_images;

/* ---- build-ids ---- */

static bool read_memory(void *out, size_t bytes, uint64_t address) {
  return g_images.memory >= 0 && hak_text_read_at(g_images.memory, out, bytes, address) == (long)bytes;
}

static bool read_id(const ElfW(Phdr) *part, uint64_t base) {
  size_t bytes = hak_min(part->p_filesz, NOTES_BYTES);
  if (part->p_type != PT_NOTE || !read_memory(g_images.notes, bytes, base + part->p_vaddr)) return false;
  g_images.image.id_bytes = hak_loaded_id((const char *)g_images.notes, bytes, g_images.image.id);
  return g_images.image.id_bytes != 0;
}

/* Finds the build-id of the file whose headers lie at `first`. The loaded segment with the lowest address has the
 * headers; all segments are shifted by the same distance. */
static void find_id(uint64_t first) {
  ElfW(Ehdr) head;
  ElfW(Phdr) part[PARTS];
  uint64_t base = first;
  if (!read_memory(&head, sizeof head, first) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (head.e_phentsize != sizeof *part || head.e_phnum > PARTS) return;
  if (!read_memory(part, head.e_phnum * sizeof *part, first + head.e_phoff)) return;
  for (unsigned n = head.e_phnum; n-- > 0;) {
    if (part[n].p_type == PT_LOAD) base = first - (part[n].p_vaddr - part[n].p_offset);
  }
  for (unsigned n = 0; n < head.e_phnum && !read_id(&part[n], base); n++) {
  }
}

/* ---- mappings ---- */

struct visitor {
  void (*visit)(const struct hak_image *image, void *to);
  void *to;
};

static bool is_same_path(const struct hak_map *map, size_t bytes) {
  const char *path = g_images.image.path;
  return hak_strncmp(map->path, path, bytes) == 0 && path[bytes] == '\0';
}

static void begin_image(const struct hak_map *map, size_t bytes) {
  g_images.image.id_bytes = 0;
  memcpy(g_images.image.path, map->path, bytes);
  g_images.image.path[bytes] = '\0';
  find_id(map->first);
}

static void take_map(const struct hak_map *map, void *to) {
  const struct visitor *visitor = to;
  size_t bytes = hak_min(map->path_bytes, HAK_IMAGE_PATH_BYTES - 1);
  if (map->offset == 0 || !is_same_path(map, bytes)) begin_image(map, bytes);
  if (!map->executable) return;
  g_images.image.first = map->first;
  g_images.image.end = map->end;
  g_images.image.offset = map->offset;
  visitor->visit(&g_images.image, visitor->to);
}

void hak_images_visit(void (*visit)(const struct hak_image *image, void *to), void *to) {
  struct visitor visitor = {visit, to};
  g_images.memory = hak_text_open("/proc/self/mem");
  g_images.image.path[0] = '\0';
  hak_maps_visit(g_images.text, take_map, &visitor);
  hak_text_close(g_images.memory);
}
