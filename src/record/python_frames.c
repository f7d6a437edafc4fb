/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* python_frames.c: the lines of Python that a stack was called from.
 *
 * what      See python_frames.h. Where fields lie differs by version: one row of g_layout each. In 3.11 the record in
 *           the C frame is a struct of its own, and the outermost function of a call of the loop is marked; from 3.12
 *           on the record is a frame itself, outside of that function.
 *
 *               3.11   thread -> record -> frame -> frame, entry          3.12   thread -> record -> frame
 *                        outer record -> ...                              3.13   thread -> frame -> frame -> frame in C
 * owner     g_python.
 */
#define _GNU_SOURCE
#include "record/python_frames.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/allowed.h"
#include "os/catch.h"
#include "os/lookup.h"
#include "os/os.h"
#include "os/seal.h"
#include "record/profile_places.h"
#include "record/unwind.h"

/* Offsets. */
struct layout {
  uint32_t version;                  /* the upper half of Py_Version */
  uint16_t state_chain;              /* of a thread: its record, or its frame if `record_frame` is NONE */
  uint16_t record_frame, record_out; /* of a record; record_out NONE: records are frames */
  uint16_t code, outer, instruction, owner, entry;             /* of a frame */
  uint16_t first_line, instructions;                           /* of a code object */
  uint16_t ascii, wide;                                        /* of a text: its characters */
};

enum { NONE = 0xffff };
enum { FILE_AT = 112, NAME_AT = 128, LINES_AT = 136 };         /* of a code object, in all versions */
enum { TYPE_AT = 8, SIZE_AT = 16, BYTES_AT = 32, STATE_AT = 32 }; /* of an object; bytes; a text */
enum { OWNED_BY_LOOP = 3 };
enum { STEPS_MOST = 4096, SCAN_MOST = 256 << 10, LENGTH_MOST = 1 << 16, TABLE_MOST = 1 << 20 };

static const HAK_RARE_CONSTANT struct layout g_layout[] = {
    {0x030b, 56, 8, 16, 32, 48, 56, 69, 68, 72, 184, 48, 72},
    {0x030c, 56, 0, NONE, 0, 8, 56, 70, NONE, 68, 192, 40, 56},
    {0x030d, 72, NONE, NONE, 0, 8, 56, 70, NONE, 68, 200, 40, 56},
    {0x030e, 72, NONE, NONE, 0, 8, 56, 74, NONE, 68, 208, 40, 56},
};

static HAK_SEALED_OR_RARE struct {
  struct hak_python found;
  const struct layout *layout; /* NULL: no interpreter */
  bool own;                    /* found here, and so kept */
} g_python;

/* ---- the interpreter ---- */

static const struct layout *layout_for(uint64_t version) {
  for (unsigned n = 0; n < sizeof g_layout / sizeof *g_layout; n++) {
    if (g_layout[n].version == version >> 16) return &g_layout[n];
  }
  return NULL;
}

static void use_interpreter(const struct hak_python *found) {
  const struct layout *layout = found != NULL && found->state != 0 ? layout_for(found->version) : NULL;
  enum hak_seal_state seal = hak_unseal();
  if (seal == HAK_SEAL_SHUT) return;
  hak_store_release(&g_python.layout, NULL);
  if (layout != NULL) {
    g_python.found = *found;
    hak_store_release(&g_python.layout, layout);
  }
  hak_reseal(seal);
}

/* Keeps the library of this function loaded for ever. Of the program itself there is nothing to keep. */
static void keep_loaded(hak_lookup_function *lookup, const void *function) {
  int (*find)(const void *, Dl_info *) = (int (*)(const void *, Dl_info *))lookup(RTLD_DEFAULT, "dladdr");
  void *(*open)(const char *, int) = (void *(*)(const char *, int))lookup(RTLD_DEFAULT, "dlopen");
  Dl_info info = {.dli_fname = NULL};
  if (find == NULL || open == NULL || find(function, &info) == 0 || info.dli_fname == NULL) return;
  open(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Its size is known to glibc's loader only. */
static void find_loop(hak_lookup_function *lookup, struct hak_python *found) {
  typedef int size_function(const void *, Dl_info *, void **, int);
  enum { SYMBOL = 1 }; /* RTLD_DL_SYMENT */
  size_function *find = (size_function *)lookup(RTLD_DEFAULT, "dladdr1");
  const void *loop = lookup(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
  void *symbol = NULL;
  Dl_info info;
  if (find == NULL || loop == NULL || find(loop, &info, &symbol, SYMBOL) == 0 || symbol == NULL) return;
  found->loop = (uintptr_t)loop;
  found->loop_end = found->loop + ((const ElfW(Sym) *)symbol)->st_size;
}

void hak_python_prepare(void) {
  hak_lookup_function *lookup = hak_load(&g_python.own) ? NULL : hak_lookup();
  const unsigned long *version = lookup != NULL ? lookup(RTLD_DEFAULT, "Py_Version") : NULL;
  if (version == NULL) return;
  struct hak_python found = {.version = *version};
  found.state = (uintptr_t)lookup(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
  found.code_type = (uintptr_t)lookup(RTLD_DEFAULT, "PyCode_Type");
  found.text_type = (uintptr_t)lookup(RTLD_DEFAULT, "PyUnicode_Type");
  if (found.state == 0 || found.code_type == 0 || found.text_type == 0) return;
  keep_loaded(lookup, (const void *)(uintptr_t)found.state);
  find_loop(lookup, &found);
  use_interpreter(&found);
  enum hak_seal_state seal = hak_unseal();
  if (seal != HAK_SEAL_SHUT) hak_store(&g_python.own, true);
  hak_reseal(seal);
}

void hak_python_take(const struct hak_python *found) {
  if (!hak_load(&g_python.own)) use_interpreter(found);
}

/* ---- reading ---- */

enum { PAGE_SHIFT = 12, PAGES = 32 };

struct walk {
  const struct layout *layout;
  uint64_t *frames;
  unsigned depth, most;
  unsigned from;    /* the loop of the next call lies here or further out */
  bool in_order;    /* as many frames of the loop as records */
  unsigned next;    /* this frame begins above `scanned`, or its return address was not met yet */
  uint64_t scanned; /* up to here on the stack; if the frames have sizes, where frames[next - 1] begins */
  bool has_sizes;   /* in the frames' upper bits */
  unsigned pending; /* places behind `depth` that belong to that call */
  uint64_t page[PAGES]; /* pages that can be read, by the last bits of their numbers */
};

static bool is_page_readable(struct walk *walk, uint64_t page) {
  uint64_t *known = &walk->page[page % PAGES];
  if (*known == page) return true;
  if (!hak_os_is_readable((const void *)(uintptr_t)(page << PAGE_SHIFT))) return false;
  *known = page;
  return true;
}

static HAK_NOINLINE bool can_read_all(struct walk *walk, uint64_t address, uint64_t bytes) {
  uint64_t last = (address + bytes - 1) >> PAGE_SHIFT;
  if (bytes == 0) return true;
  if (address >> PAGE_SHIFT == 0 || address >> 56 != 0 || bytes > TABLE_MOST) return false;
  for (uint64_t page = address >> PAGE_SHIFT; page <= last; page++) {
    if (!is_page_readable(walk, page)) return false;
  }
  return true;
}

/* False: `bytes` bytes at the address, a multiple of them, cannot be read. */
HAK_INLINE bool is_sound(struct walk *walk, uint64_t address, uint64_t bytes) {
  uint64_t page = address >> PAGE_SHIFT;
  return address % bytes == 0 && page != 0 && (walk->page[page % PAGES] == page || can_read_all(walk, address, bytes));
}

/* The same for more, at a multiple of 8. */
HAK_INLINE bool can_read_object(struct walk *walk, uint64_t address, uint64_t bytes) {
  uint64_t page = address >> PAGE_SHIFT, last = (address + bytes - 1) >> PAGE_SHIFT;
  bool known = page == last && page != 0 && walk->page[page % PAGES] == page;
  return address % sizeof address == 0 && (HAK_LIKELY(known) || can_read_all(walk, address, bytes));
}

/* The stack is read between its variables, too, where the address sanitizer lets nothing be read. */
#define ANY_BYTE __attribute__((no_sanitize_address))

/* A word of what can be read. */
ANY_BYTE static uint64_t object_word(uint64_t object, unsigned at) {
  return hak_load((const uint64_t *)(uintptr_t)(object + at));
}

ANY_BYTE static uint64_t word_at(struct walk *walk, uint64_t address) {
  return is_sound(walk, address, sizeof(uint64_t)) ? hak_load((const uint64_t *)(uintptr_t)address) : 0;
}

ANY_BYTE static uint32_t half_at(struct walk *walk, uint64_t address) {
  return is_sound(walk, address, sizeof(uint32_t)) ? hak_load((const uint32_t *)(uintptr_t)address) : 0;
}

ANY_BYTE static uint8_t byte_at(struct walk *walk, uint64_t address) {
  return is_sound(walk, address, sizeof(uint8_t)) ? hak_load((const uint8_t *)(uintptr_t)address) : 0;
}

/* ---- objects ---- */

/* An empty text for an object that is none. */
static struct hak_place_text text_at(struct walk *walk, uint64_t object) {
  static const struct hak_place_text none = {"?", 1, HAK_PLACE_ASCII};
  enum { KIND_SHIFT = 2, KIND = 7, COMPACT = 1 << 5, ASCII = 1 << 6 };
  if (!can_read_object(walk, object, STATE_AT + sizeof object)) return none;
  uint64_t length = object_word(object, SIZE_AT);
  uint32_t state = (uint32_t)object_word(object, STATE_AT);
  if (object_word(object, TYPE_AT) != g_python.found.text_type || length == 0 || length > LENGTH_MOST) return none;
  bool ascii = (state & ASCII) != 0;
  uint32_t width = ascii ? 1 : state >> KIND_SHIFT & KIND;
  uint64_t data = object + (ascii ? walk->layout->ascii : walk->layout->wide);
  if ((state & COMPACT) == 0 || (width != 1 && width != 2 && width != 4)) return none;
  if (!can_read_all(walk, data, length * width)) return none;
  return (struct hak_place_text){(const void *)(uintptr_t)data, (uint32_t)length, ascii ? HAK_PLACE_ASCII : width};
}

struct table {
  const uint8_t *at, *end;
};

/* The number of a table of lines: groups of 6 bits, low ones first, bit 6 set in all but the last. */
static uint32_t next_number(struct table *table) {
  enum { BITS = 6, MORE = 1 << BITS };
  uint32_t value = 0;
  for (unsigned shift = 0; table->at < table->end && shift < 32; shift += BITS) {
    uint8_t byte = *table->at++;
    value |= (uint32_t)(byte & (MORE - 1)) << shift;
    if ((byte & MORE) == 0) break;
  }
  return value;
}

/* By how many lines an entry of this kind goes on. */
static int32_t line_step(struct table *table, unsigned kind) {
  enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14 };
  if (kind >= ONE_LINE && kind < NO_COLUMNS) return (int32_t)kind - ONE_LINE;
  if (kind != NO_COLUMNS && kind != LONG) return 0;
  uint32_t value = next_number(table);
  return (value & 1) != 0 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* The line of the instruction number `index`. Only the first byte of an entry has bit 7 set: kind, instructions - 1.
 * Most kinds have one or two bytes of columns behind it, which are passed over. */
static uint32_t line_in(struct table table, uint32_t line, uint64_t index) {
  static const uint8_t columns[] HAK_RARE_CONSTANT = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0};
  enum { FIRST = 0x80, KIND_SHIFT = 3, KIND = 15, LENGTH = 7, NO_LINE = 15 };
  uint64_t end = 0;
  while (table.at < table.end) {
    uint8_t first = *table.at++;
    if ((first & FIRST) == 0) continue;
    unsigned kind = first >> KIND_SHIFT & KIND;
    line += (uint32_t)line_step(&table, kind);
    end += (first & LENGTH) + 1u;
    if (index < end) return kind == NO_LINE ? 0 : line;
    table.at += columns[kind];
  }
  return 0;
}

/* The table of lines of a code object that can be read; empty: it cannot. */
static struct table lines_of(struct walk *walk, uint64_t code) {
  static const struct table none = {NULL, NULL};
  uint64_t bytes = object_word(code, LINES_AT);
  if (!can_read_object(walk, bytes, BYTES_AT)) return none;
  uint64_t size = object_word(bytes, SIZE_AT);
  if (size > TABLE_MOST || !can_read_all(walk, bytes + BYTES_AT, size)) return none;
  const uint8_t *begin = (const uint8_t *)(uintptr_t)(bytes + BYTES_AT);
  return (struct table){begin, begin + size};
}

/* ---- places ---- */

static bool is_code(struct walk *walk, uint64_t code) {
  return can_read_object(walk, code, LINES_AT + sizeof code) && object_word(code, TYPE_AT) == g_python.found.code_type;
}

/* All that a place is made of. */
struct spot {
  struct hak_place_text name, file;
  struct table lines;
  uint32_t first_line;
  uint64_t index; /* of the instruction */
};

/* The same bytes are another text in another width. */
static uint64_t add_text(uint64_t key, const struct hak_place_text *text) {
  return hak_place_hash(key ^ ((uint64_t)text->length << 8 | text->width), text);
}

static uint64_t key_of_spot(const struct spot *spot) {
  struct hak_place_text lines = {spot->lines.at, (uint32_t)(spot->lines.end - spot->lines.at), HAK_PLACE_ASCII};
  uint64_t key = hak_place_hash(0xcbf29ce484222325u ^ spot->first_line ^ spot->index << 32, &lines);
  return add_text(add_text(key, &spot->name), &spot->file);
}

/* The hash of the same bytes takes a tenth of the work of line_in. */
static uint64_t place_of_spot(const struct spot *spot) {
  if (spot->lines.at == NULL) return hak_place_find(spot->name, spot->file, spot->first_line);
  uint64_t key = key_of_spot(spot), place = hak_place_known(key);
  if (HAK_LIKELY(place != 0)) return place;
  place = hak_place_find(spot->name, spot->file, line_in(spot->lines, spot->first_line, spot->index));
  hak_place_learn(key, place);
  return place;
}

static void note_place(struct walk *walk, uint64_t frame) {
  enum { TAG = 3, INSTRUCTION_BYTES = 2 }; /* TAG: from 3.14 on, of a reference */
  uint64_t code = word_at(walk, frame + walk->layout->code) & ~(uint64_t)TAG;
  if (walk->depth + walk->pending == walk->most || !is_code(walk, code)) return;
  uint64_t instruction = word_at(walk, frame + walk->layout->instruction);
  struct spot spot = {.name = text_at(walk, object_word(code, NAME_AT)),
                      .file = text_at(walk, object_word(code, FILE_AT)),
                      .lines = lines_of(walk, code),
                      .first_line = half_at(walk, code + walk->layout->first_line),
                      .index = hak_less(instruction, code + walk->layout->instructions) / INSTRUCTION_BYTES};
  uint64_t place = place_of_spot(&spot);
  if (place != 0) walk->frames[walk->depth + walk->pending++] = place;
}

static bool is_in_loop(uint64_t frame) {
  uint64_t address = frame & ~HAK_FRAME_SIZE_MASK;
  return address > g_python.found.loop && address <= g_python.found.loop_end;
}

/* walk->depth: none. */
static unsigned next_in_loop(const struct walk *walk, unsigned from) {
  unsigned n = from;
  while (n < walk->depth && !is_in_loop(walk->frames[n])) n++;
  return n;
}

static unsigned count_in_loop(const struct walk *walk) {
  unsigned count = 0;
  for (unsigned n = next_in_loop(walk, 0); n < walk->depth; n = next_in_loop(walk, n + 1)) count++;
  return count;
}

/* The frame that the record lies in: the last one whose return address lies below. A frame whose caller's frame holds a
 * copy of the return address is taken to end there, so an error is one of a frame, and none is left behind by samples
 * (entry/sampled.c). walk->depth: none. */
static unsigned loop_by_addresses(struct walk *walk, uint64_t record) {
  if (record % sizeof record != 0 || record < walk->scanned || record - walk->scanned > SCAN_MOST) return walk->depth;
  for (; walk->scanned < record && walk->next < walk->depth; walk->scanned += sizeof record) {
    walk->next += word_at(walk, walk->scanned) == walk->frames[walk->next];
  }
  return walk->next > walk->from ? walk->next - 1 : walk->depth;
}

static uint64_t size_before(const struct walk *walk, unsigned n) {
  uint64_t frame = walk->frames[n];
  return hak_frame_is_place(frame) ? 0 : (frame & HAK_FRAME_SIZE_MASK) >> HAK_FRAME_SIZE_SHIFT;
}

/* The frame that the record lies in, by where frames begin. Behind a frame of unknown size none is found.
 * walk->depth: none. */
static unsigned loop_by_sizes(struct walk *walk, uint64_t record) {
  if (record < walk->scanned) return walk->depth;
  for (; walk->next < walk->depth; walk->next++) {
    uint64_t bytes = size_before(walk, walk->next) * sizeof record;
    if (bytes == 0) return walk->depth;
    if (record - walk->scanned < bytes) break;
    walk->scanned += bytes;
  }
  return walk->next > walk->from && walk->next < walk->depth ? walk->next - 1 : walk->depth;
}

static unsigned loop_by_stack(struct walk *walk, uint64_t record) {
  return walk->has_sizes ? loop_by_sizes(walk, record) : loop_by_addresses(walk, record);
}

/* The frame of the loop whose record lies here. walk->depth: none. */
static unsigned loop_of(struct walk *walk, uint64_t record) {
  if (record == 0) return walk->depth;
  return walk->in_order ? next_in_loop(walk, walk->from) : loop_by_stack(walk, record);
}

static void turn_round(uint64_t *begin, uint64_t *end) {
  for (; begin + 1 < end; begin++) {
    uint64_t first = *begin;
    *begin = *--end;
    *end = first;
  }
}

/* Moves the pending places to frames[to], before what lies there. */
static void move_places(struct walk *walk, unsigned to) {
  uint64_t *begin = walk->frames + to, *middle = walk->frames + walk->depth, *end = middle + walk->pending;
  turn_round(begin, middle);
  turn_round(middle, end);
  turn_round(begin, end);
}

/* Puts the pending places in the place of the loop's frame. The call site stays, and the outermost frame, which is no
 * loop's: the stack is cut off there. */
static void end_call(struct walk *walk, uint64_t record) {
  unsigned count = walk->pending, at = loop_of(walk, record);
  bool replaces = at != 0 && at + 1 < walk->depth && count != 0;
  unsigned left = at < walk->depth ? walk->depth - at - 1 : 0;
  walk->from = at < walk->depth ? at + 1 - replaces + count : walk->depth + count;
  if (replaces) {
    uint64_t *loop = walk->frames + at;
    for (unsigned n = 0; n < left + count; n++) loop[n] = loop[n + 1];
    walk->depth--;
  }
  walk->next = walk->from;
  move_places(walk, walk->depth - left);
  walk->depth += count;
  walk->pending = 0;
}

/* ---- the chain ---- */

/* The next frame; where records are apart, that of its call. */
struct chain {
  uint64_t frame, record;
};

static struct chain first_of(struct walk *walk, uint64_t state) {
  const struct layout *l = walk->layout;
  uint64_t top = word_at(walk, state + l->state_chain);
  bool has_record = top != 0 && l->record_frame != NONE;
  return (struct chain){has_record ? word_at(walk, top + l->record_frame) : top, top};
}

/* Goes on to the frame outside. Returns the record of the call that ends with this frame; 0: none does. */
static uint64_t step_out(struct walk *walk, struct chain *at) {
  const struct layout *l = walk->layout;
  uint64_t frame = at->frame, ended = 0;
  bool is_apart = l->record_out != NONE;
  if (is_apart && byte_at(walk, frame + l->entry) != 0) ended = at->record;
  if (!is_apart && byte_at(walk, frame + l->owner) == OWNED_BY_LOOP) ended = frame;
  if (is_apart && ended != 0) at->record = word_at(walk, ended + l->record_out);
  at->frame = word_at(walk, frame + l->outer);
  return ended;
}

static unsigned count_records(struct walk *walk, struct chain at) {
  unsigned count = 0;
  if (g_python.found.loop_end == 0) return UINT32_MAX;
  for (unsigned n = 0; n < STEPS_MOST && at.frame != 0; n++) count += step_out(walk, &at) != 0;
  return count;
}

static HAK_NOINLINE unsigned mix_frames(const struct layout *layout, uint64_t *frames, unsigned depth, unsigned most,
                                        uintptr_t sp) {
  uint64_t (*state_of)(void) = (uint64_t (*)(void))(uintptr_t)g_python.found.state;
  struct walk walk = {.layout = layout, .frames = frames, .depth = depth, .most = most, .has_sizes = sp != 0};
  walk.scanned = sp != 0 ? sp : (uintptr_t)(frames + most);
  walk.next = sp != 0;
  uint64_t state = state_of();
  struct chain at = state != 0 ? first_of(&walk, state) : (struct chain){0, 0};
  walk.in_order = at.frame != 0 && count_records(&walk, at) == count_in_loop(&walk);
  for (unsigned n = 0; n < STEPS_MOST && at.frame != 0; n++) {
    uint64_t frame = at.frame, ended = step_out(&walk, &at);
    if (ended != frame) note_place(&walk, frame);
    if (ended != 0) end_call(&walk, ended);
  }
  if (walk.pending != 0) end_call(&walk, 0);
  return walk.depth;
}

bool hak_python_is_known(void) { return hak_load(&g_python.layout) != NULL && hak_load(&g_allowed); }

static void take_sizes_away(uint64_t *frames, unsigned depth) {
  for (unsigned n = 0; n < depth; n++) {
    if (!hak_frame_is_place(frames[n])) frames[n] &= ~HAK_FRAME_SIZE_MASK;
  }
}

unsigned hak_python_mix(uint64_t *frames, unsigned depth, unsigned most, uintptr_t sp) {
  const struct layout *layout = hak_load_acquire(&g_python.layout);
  if (HAK_UNLIKELY(layout != NULL) && hak_load(&g_allowed)) depth = mix_frames(layout, frames, depth, most, sp);
  if (sp != 0) take_sizes_away(frames, depth);
  return depth;
}

void hak_python_forget(uint64_t *frames, unsigned depth) {
  for (unsigned n = 0; hak_load(&g_python.layout) != NULL && n < depth; n++) frames[n] = 0;
  __asm__ volatile("" : : "r"(frames) : "memory");
}
