/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_images.c: which files lie where in this process.
 *
 * what      See profile_images.h. A file's headers lie before its code, so a build-id is read when they are passed.
 * owner     g_images.
 */
#include "record/profile_images.h"

#include <link.h>
#include <string.h>

#include "base/bits.h"
#include "base/str.h"
#include "os/text.h"

enum { TEXT_BYTES = 8192, LINE_MOST = 4200, NOTES_BYTES = 4096, PARTS = 32 };

/* A line of the file. */
struct line {
  uint64_t first, end, offset;
  bool executable;
  char path[HAK_IMAGE_PATH_BYTES];
};

static HAK_RARE struct {
  long memory; /* descriptor of /proc/self/mem */
  struct line line;
  struct hak_image image; /* of the file whose headers were passed last */
  uint64_t notes[NOTES_BYTES / sizeof(uint64_t)];
  char text[TEXT_BYTES];
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

/* The first part that is loaded has the headers; all addresses are as far from those in the file as its own. */
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

/* ---- lines ---- */

static const char *hex(const char *at, uint64_t *value) {
  for (*value = 0;; at++) {
    unsigned digit = *at >= 'a' ? (unsigned)(*at - 'a') + 10 : (unsigned)(*at - '0');
    if (digit > 15) return at;
    *value = *value << 4 | digit;
  }
}

static void take_path(char path[HAK_IMAGE_PATH_BYTES], const char *from, const char *end) {
  while (from < end && *from == ' ') from++;
  size_t n = hak_min((size_t)(end - from), HAK_IMAGE_PATH_BYTES - 1);
  memcpy(path, from, n);
  path[n] = '\0';
}

/* "7f0c1a000000-7f0c1a022000 r-xp 00000000 08:01 1234   /path", up to the end of the line. */
static bool parse(struct line *line, const char *at, const char *end) {
  enum { SHORTEST = 24, EXECUTABLE = 3, BEHIND_RIGHTS = 6 };
  if (end - at < SHORTEST) return false;
  at = hex(hex(at, &line->first) + 1, &line->end);
  line->executable = at[EXECUTABLE] == 'x';
  at = hex(at + BEHIND_RIGHTS, &line->offset) + 1;
  if (at >= end) return false;
  for (int words = 0; words < 2; words++) {
    at = hak_memchr(at, ' ', (size_t)(end - at));
    if (at == NULL) at = end;
    if (at < end) at++;
  }
  take_path(line->path, at, end);
  return true;
}

static void begin_file(const struct line *line) {
  g_images.image.id_bytes = 0;
  memcpy(g_images.image.path, line->path, sizeof line->path);
  find_id(line->first);
}

static void take_line(const char *at, const char *end, void (*visit)(const struct hak_image *image, void *to),
                      void *to) {
  struct line *line = &g_images.line;
  if (!parse(line, at, end)) return;
  bool same = hak_strcmp(line->path, g_images.image.path) == 0;
  if (line->offset == 0 || !same) begin_file(line);
  if (!line->executable) return;
  g_images.image.first = line->first;
  g_images.image.end = line->end;
  g_images.image.offset = line->offset;
  visit(&g_images.image, to);
}

/* Whole lines among the first `have` bytes; how many bytes they are. */
static size_t take_lines(size_t have, void (*visit)(const struct hak_image *image, void *to), void *to) {
  size_t done = 0;
  for (const char *end; (end = hak_memchr(g_images.text + done, '\n', have - done)) != NULL;) {
    take_line(g_images.text + done, end, visit, to);
    done = (size_t)(end + 1 - g_images.text);
  }
  return done;
}

void hak_images_visit(void (*visit)(const struct hak_image *image, void *to), void *to) {
  long maps = hak_text_open("/proc/self/maps"), n;
  size_t have = 0;
  uint64_t offset = 0; /* not the kernel's, which a fork's child shares */
  if (maps < 0) return;
  g_images.memory = hak_text_open("/proc/self/mem");
  g_images.image.path[0] = '\0';
  while ((n = hak_text_read_at(maps, g_images.text + have, TEXT_BYTES - have, offset)) > 0) {
    have += (size_t)n;
    offset += (uint64_t)n;
    size_t done = take_lines(have, visit, to);
    if (done == 0 && have > LINE_MOST) break; /* no line of that file is so long */
    have -= done;
    memmove(g_images.text, g_images.text + done, have);
  }
  if (g_images.memory >= 0) hak_text_close(g_images.memory);
  hak_text_close(maps);
}
