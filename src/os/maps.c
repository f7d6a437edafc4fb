/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* maps.c: the mappings of this process, as the kernel lists mappings.
 *
 * what      See maps.h.
 */
#include "os/maps.h"

#include <string.h>

#include "base/bytes.h"
#include "base/str.h"
#include "os/text.h"

enum { LINE_MOST = 4200 };

struct reader {
  char *text;
  void (*visit)(const struct hak_map *map, void *to);
  void *to;
};

static const char *parse_hex(const char *at, uint64_t *value) {
  for (*value = 0;; at++) {
    unsigned digit = *at >= 'a' ? (unsigned)(*at - 'a') + 10 : (unsigned)(*at - '0');
    if (digit > 15) return at;
    *value = *value << 4 | digit;
  }
}

/* Skips two words, device and inode, and the blanks behind. */
static const char *find_path(const char *at, const char *end) {
  for (int words = 0; words < 2; words++) {
    at = hak_memchr(at, ' ', (size_t)(end - at));
    if (at == NULL) return end;
    at++;
  }
  while (at < end && *at == ' ') at++;
  return at;
}

/* Parses the line [at, end); *end is the newline. */
static bool parse_map(struct hak_map *map, const char *at, const char *end) {
  enum { SHORTEST = 24, EXECUTABLE = 3, BEHIND_RIGHTS = 6 };
  *map = (struct hak_map){.line = at, .line_bytes = (size_t)(end + 1 - at)};
  if (end - at < SHORTEST) return false;
  at = parse_hex(at, &map->first);
  if (*at != '-') return false;
  at = parse_hex(at + 1, &map->end);
  if (end - at <= BEHIND_RIGHTS) return false;
  map->executable = at[EXECUTABLE] == 'x';
  at = parse_hex(at + BEHIND_RIGHTS, &map->offset) + 1;
  if (at >= end) return false;
  map->path = find_path(at, end);
  map->path_bytes = (size_t)(end - map->path);
  return true;
}

/* Visits the whole lines among the first `have` bytes. Returns the length of these lines [bytes]. */
static size_t visit_lines(const struct reader *reader, size_t have) {
  size_t done = 0;
  struct hak_map map;
  for (const char *end; (end = hak_memchr(reader->text + done, '\n', have - done)) != NULL;) {
    if (parse_map(&map, reader->text + done, end)) reader->visit(&map, reader->to);
    done = (size_t)(end + 1 - reader->text);
  }
  return done;
}

void hak_maps_visit(char text[HAK_MAPS_TEXT_BYTES], void (*visit)(const struct hak_map *map, void *to), void *to) {
  const struct reader reader = {text, visit, to};
  long maps = hak_text_open("/proc/self/maps"), n;
  size_t have = 0;
  uint64_t offset = 0; /* explicit: a fork's child shares the descriptor's own offset */
  if (maps < 0) return;
  while ((n = hak_text_read_at(maps, text + have, HAK_MAPS_TEXT_BYTES - have, offset)) > 0) {
    have += (size_t)n;
    offset += (uint64_t)n;
    size_t done = visit_lines(&reader, have);
    if (done == 0 && have > LINE_MOST) break; /* longer than any line of the file */
    have -= done;
    memmove(text, text + done, have);
  }
  hak_text_close(maps);
}
