/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_places.c: lines of an interpreted program, as frames of stacks.
 *
 * what      See profile_places.h. Room is carved under the lock, the texts are copied without it, and the place is
 *           entered under it again, unless another thread entered an equal one meanwhile.
 * owner     g_places.
 */
#include "record/profile_places.h"

#include <string.h>

#include "base/atomic.h"
#include "os/os.h"
#include "record/profile_samples.h"
#include "record/profile_samples_file.h"

enum { HEADS = 1 << 12, PLACES_MOST = 1 << 16, ARENA_BYTES = 64 << 10, ARENAS_MOST = 128 };
enum { NAME_MOST = 120, FILE_MOST = 240 }; /* characters */

static HAK_RARE struct {
  struct hak_place **head; /* lists by hash; NULL: no table yet */
  char *arena, *arena_end;
  uint32_t places, arenas;
} g_places;

/* ---- texts ---- */

static uint32_t character_at(const struct hak_place_text *text, uint32_t n) {
  if (text->width <= 1) return ((const uint8_t *)text->data)[n];
  if (text->width == 2) return ((const uint16_t *)text->data)[n];
  return ((const uint32_t *)text->data)[n];
}

/* UTF-8; a 0, which ends a text, and what is no character become '?'. */
static unsigned encode(uint32_t c, char out[4]) {
  if (c == 0 || c > 0x10ffff || c >> 11 == 0x1b) c = '?';
  unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
  out[0] = (char)(leads[more] | c >> 6 * more);
  for (unsigned n = 1; n <= more; n++) out[n] = (char)(0x80 | (c >> 6 * (more - n) & 0x3f));
  return more + 1;
}

static size_t bytes_of(const struct hak_place_text *text) {
  char out[4];
  if (text->width == HAK_PLACE_ASCII) return text->length;
  size_t bytes = 0;
  for (uint32_t n = 0; n < text->length; n++) bytes += encode(character_at(text, n), out);
  return bytes;
}

/* Fills `bytes` bytes, with what fits: a text that the program changes meanwhile has another length by now. */
static void copy_text(const struct hak_place_text *text, char *to, size_t bytes) {
  char out[4], *end = to + bytes;
  for (uint32_t n = 0; n < text->length; n++) {
    unsigned more = encode(character_at(text, n), out);
    if ((size_t)(end - to) < more) break;
    memcpy(to, out, more);
    to += more;
  }
}

static bool is_text(const struct hak_place_text *text, const char *own, size_t bytes) {
  if (text->width == HAK_PLACE_ASCII) return bytes == text->length && memcmp(own, text->data, bytes) == 0;
  const char *end = own + bytes;
  char out[4];
  for (uint32_t n = 0; n < text->length; n++) {
    unsigned more = encode(character_at(text, n), out);
    if ((size_t)(end - own) < more || memcmp(own, out, more) != 0) return false;
    own += more;
  }
  return own == end;
}

/* FNV-1a by words. */
uint64_t hak_place_hash(uint64_t hash, const struct hak_place_text *text) {
  const char *at = text->data, *end = at + (size_t)text->length * (text->width != 0 ? text->width : 1);
  for (uint64_t word; (size_t)(end - at) >= sizeof word; at += sizeof word) {
    __builtin_memcpy(&word, at, sizeof word);
    hash = (hash ^ word) * 0x100000001b3u, hash ^= hash >> 29;
  }
  for (; at < end; at++) hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
  return hash ^ hash >> 29;
}

/* ---- places ---- */

struct wanted {
  struct hak_place_text name, file;
  uint64_t hash;
  uint32_t line;
};

static bool is_place(const struct hak_place *place, const struct wanted *wanted) {
  return place->hash == wanted->hash && place->line == wanted->line &&
         is_text(&wanted->name, place->text, place->name_bytes) &&
         is_text(&wanted->file, place->text + place->name_bytes + 1, place->file_bytes);
}

static struct hak_place *find_place(const struct wanted *wanted) {
  struct hak_place **heads = hak_load_acquire(&g_places.head);
  struct hak_place *place = heads != NULL ? hak_load_acquire(&heads[wanted->hash % HEADS]) : NULL;
  while (place != NULL && !is_place(place, wanted)) place = place->next;
  return place;
}

static bool has_place_heads_locked(void) {
  if (g_places.head == NULL) hak_store_release(&g_places.head, hak_os_map(HEADS * sizeof *g_places.head));
  return g_places.head != NULL;
}

static bool has_arena_locked(size_t bytes) {
  if ((size_t)(g_places.arena_end - g_places.arena) >= bytes) return true;
  char *more = g_places.arenas < ARENAS_MOST ? hak_os_map(ARENA_BYTES) : NULL;
  if (more == NULL) return false;
  g_places.arenas++;
  g_places.arena = more;
  g_places.arena_end = more + ARENA_BYTES;
  return true;
}

static struct hak_place *carve_place(size_t bytes) {
  struct hak_place *place = NULL;
  hak_samples_lock();
  if (g_places.places < PLACES_MOST && has_place_heads_locked() && has_arena_locked(bytes)) {
    place = (struct hak_place *)(void *)g_places.arena;
    g_places.arena += bytes;
  }
  hak_samples_unlock();
  return place;
}

/* True if a is the place b. */
static bool is_same(const struct hak_place *a, const struct hak_place *b) {
  return a->hash == b->hash && a->line == b->line && a->name_bytes == b->name_bytes &&
         a->file_bytes == b->file_bytes && memcmp(a->text, b->text, (size_t)a->name_bytes + a->file_bytes + 2) == 0;
}

/* Returns the place, or an equal one that another thread entered meanwhile. */
static struct hak_place *enter_place(struct hak_place *place) {
  hak_samples_lock();
  struct hak_place **head = &g_places.head[place->hash % HEADS], *same = *head;
  while (same != NULL && !is_same(same, place)) same = same->next;
  if (same == NULL) {
    place->next = *head;
    hak_samples_file_place(place);
    hak_store_release(head, place);
    g_places.places++;
  }
  hak_samples_unlock();
  return same != NULL ? same : place;
}

static struct hak_place *add_place(const struct wanted *wanted) {
  size_t name_bytes = bytes_of(&wanted->name), file_bytes = bytes_of(&wanted->file);
  size_t bytes = sizeof(struct hak_place) + name_bytes + file_bytes + 2;
  struct hak_place *place = carve_place(hak_round_up(bytes, sizeof(uint64_t)));
  if (place == NULL) return NULL;
  place->hash = wanted->hash;
  place->line = wanted->line;
  place->name_bytes = (uint16_t)name_bytes;
  place->file_bytes = (uint16_t)file_bytes;
  copy_text(&wanted->name, place->text, name_bytes);
  copy_text(&wanted->file, place->text + name_bytes + 1, file_bytes);
  return enter_place(place);
}

uint64_t hak_place_find(struct hak_place_text name, struct hak_place_text file, uint32_t line) {
  uint32_t skipped = file.length - (uint32_t)hak_min(file.length, FILE_MOST);
  name.length = (uint32_t)hak_min(name.length, NAME_MOST);
  file.data = (const char *)file.data + (size_t)skipped * (file.width != 0 ? file.width : 1);
  file.length -= skipped;
  struct wanted wanted = {name, file, hak_place_hash(hak_place_hash(0xcbf29ce484222325u ^ line, &name), &file), line};
  const struct hak_place *place = find_place(&wanted);
  if (place == NULL) place = add_place(&wanted);
  return place != NULL ? hak_place_frame(place) : 0;
}

/* ---- places known by a hash of what they are made of ---- */

enum { KNOWN_ROWS = 1 << 10 };

/* Two words, of which one has the other in it: torn rows fit no key. Threads may lose each other's rows. */
struct known_place {
  uint64_t check, frame; /* check: key ^ frame; frame 0: free */
};

static HAK_RARE struct known_place *g_known_places; /* NULL: none yet */

static struct known_place *known_row(uint64_t key) {
  struct known_place *rows = hak_load_acquire(&g_known_places);
  return rows != NULL ? &rows[key % KNOWN_ROWS] : NULL;
}

uint64_t hak_place_known(uint64_t key) {
  const struct known_place *row = known_row(key);
  uint64_t frame = row != NULL ? hak_load(&row->frame) : 0;
  return frame != 0 && (hak_load(&row->check) ^ frame) == key ? frame : 0;
}

void hak_place_learn(uint64_t key, uint64_t frame) {
  struct known_place *row = known_row(key), *none = NULL;
  if (row == NULL) {
    struct known_place *rows = hak_os_map(KNOWN_ROWS * sizeof *rows);
    if (rows == NULL) return;
    if (!hak_cas_acq_rel(&g_known_places, &none, rows)) hak_os_unmap(rows, KNOWN_ROWS * sizeof *rows);
    row = known_row(key);
  }
  hak_store(&row->frame, frame);
  hak_store(&row->check, key ^ frame);
}

void hak_places_visit(void (*visit)(const struct hak_place *place)) {
  for (unsigned n = 0; g_places.head != NULL && n < HEADS; n++) {
    for (const struct hak_place *place = g_places.head[n]; place != NULL; place = place->next) visit(place);
  }
}
