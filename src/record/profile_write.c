/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_write.c: the table as a profile.
 *
 * what      See profile_write.h. Strings are numbered in the order of writing, from the empty string on.
 * owner     g_writer; lock: g_samples.lock held.
 */
#include "record/profile_write.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/fmt.h"
#include "base/str.h"
#include "os/draft.h"
#include "os/os.h"
#include "record/profile_ages.h"
#include "record/profile_images.h"
#include "record/profile_places.h"
#include "record/profile_proto.h"
#include "record/profile_samples.h"
#include "tables/counters.h"

/* Fields of the message Profile, and of the messages inside. */
enum { SAMPLE_TYPE = 1, SAMPLE = 2, MAPPING = 3, LOCATION = 4, FUNCTION = 5, STRING = 6, TIME = 9 };
enum { PERIOD_TYPE = 11, PERIOD = 12, DURATION = 10, COMMENT = 13, DEFAULT_TYPE = 14 };
enum { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { MAPPING_ID = 1, MAPPING_FIRST = 2, MAPPING_END = 3, MAPPING_OFFSET = 4, MAPPING_FILE = 5, MAPPING_BUILD_ID = 6 };
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

struct place {
  uint64_t address, id;
};

struct extent {
  uint64_t first, end;
};

static HAK_RARE struct {
  struct hak_draft draft;
  struct hak_proto message, inner;
  uint64_t strings, places, images, functions;
  struct place *place; /* addresses with their numbers, by hash; mask + 1 entries */
  size_t mask;
  struct extent image[HAK_IMAGES];
  uint64_t mean;
  struct notes {
    size_t used;
    char text[HAK_PROTO_BYTES / 2 - 64];
  } live, peak;
} g_writer;

/* ---- pieces ---- */

static void put_message(unsigned field, const struct hak_proto *message) {
  struct hak_proto *outer = &g_writer.inner;
  hak_proto_start(outer);
  hak_proto_varint(outer, (uint64_t)field << 3 | 2);
  hak_proto_varint(outer, message->used);
  hak_draft_put(&g_writer.draft, (const char *)outer->bytes, outer->used);
  hak_draft_put(&g_writer.draft, (const char *)message->bytes, message->used);
}

static void write_number(unsigned field, uint64_t value) {
  struct hak_proto *outer = &g_writer.inner;
  hak_proto_start(outer);
  hak_proto_number(outer, field, value);
  hak_draft_put(&g_writer.draft, (const char *)outer->bytes, outer->used);
}

/* Writes a string and returns its number. */
static uint64_t put_string(const char *text) {
  struct hak_proto *outer = &g_writer.inner;
  hak_proto_start(outer);
  hak_proto_bytes(outer, STRING, text, hak_strlen(text));
  hak_draft_put(&g_writer.draft, (const char *)outer->bytes, outer->used);
  return g_writer.strings++;
}

static struct hak_proto *start_message(void) {
  hak_proto_start(&g_writer.message);
  return &g_writer.message;
}

static void put_type(unsigned field, uint64_t name, uint64_t unit) {
  struct hak_proto *message = start_message();
  hak_proto_number(message, TYPE_NAME, name);
  hak_proto_number(message, TYPE_UNIT, unit);
  put_message(field, message);
}

/* ---- types of values ---- */

static void put_types(uint64_t mean) {
  static const char *const names[] = {"alloc_objects",   "alloc_space",     "inuse_objects", "inuse_space",
                                      "alloc_requested", "inuse_requested", "peak_objects",  "peak_space",
                                      "temporary_objects", "temporary_space"};
  put_string("");
  uint64_t count = put_string("count"), bytes = put_string("bytes"), in_use = 0;
  for (unsigned n = 0; n < sizeof names / sizeof *names; n++) {
    uint64_t name = put_string(names[n]);
    put_type(SAMPLE_TYPE, name, n % 2 == 0 && n != 4 ? count : bytes);
    if (n == 3) in_use = name;
  }
  put_type(PERIOD_TYPE, put_string("space"), bytes);
  write_number(PERIOD, mean);
  write_number(DEFAULT_TYPE, in_use);
  write_number(TIME, hak_os_wall_ns());
  if (g_samples.peak.begun_ns != 0) write_number(DURATION, hak_less(hak_os_now_ns(), g_samples.peak.begun_ns));
}

/* "hakmem: pid 17, 120 blocks sampled, 80 of them live, 0 lost" */
static void put_comment(uint64_t pid) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: pid ");
  hak_line_dec(&line, pid);
  hak_line_text(&line, ", ");
  hak_line_dec(&line, hak_counter_value(HAK_COUNTER_samples));
  hak_line_text(&line, " blocks sampled, ");
  hak_line_dec(&line, hak_samples_live());
  hak_line_text(&line, " of them live, ");
  hak_line_dec(&line, hak_counter_value(HAK_COUNTER_samples_lost));
  hak_line_text(&line, " lost");
  write_number(COMMENT, put_string(line.text));
}

/* "hakmem: at least one byte in 65536 is sampled, and all figures are estimates; a place with less than ..." */
static void put_sentence(uint64_t mean) {
  struct hak_line line;
  if (mean <= 1) return;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: at least one byte in ");
  hak_line_dec(&line, mean);
  hak_line_text(&line, " is sampled, and all figures are estimates; a place with less than ");
  hak_line_dec(&line, 3 * mean); /* 3 * mean bytes are sampled with probability 1 - exp(-3) */
  hak_line_text(&line, " bytes may go unseen");
  write_number(COMMENT, put_string(line.text));
}

static void put_in_use(uint64_t bytes) {
  struct hak_line line;
  if (bytes == 0) return;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: bytes in use, counted: ");
  hak_line_dec(&line, bytes);
  write_number(COMMENT, put_string(line.text));
}

/* With this a reader may take the counted bytes for those that the samples stand for. */
static void put_whole(void) {
  if (g_samples.whole) write_number(COMMENT, put_string("hakmem: sampled from the first block on"));
}

/* "hakmem: bytes in use at the peak, counted: 209715200, 1234567 ns after the first sample" */
static void put_peak(const struct hak_samples_peak *peak) {
  struct hak_line line;
  if (peak->number == 0) return;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: bytes in use at the peak, counted: ");
  hak_line_dec(&line, peak->in_use);
  hak_line_text(&line, ", ");
  hak_line_dec(&line, peak->ns - peak->begun_ns);
  hak_line_text(&line, " ns after the first sample");
  write_number(COMMENT, put_string(line.text));
}

static void put_ages(enum hak_ages_kind kind) {
  static HAK_RARE char text[HAK_PROTO_BYTES - 64];
  for (unsigned next = 0; hak_ages_text(kind, &next, text, sizeof text);) write_number(COMMENT, put_string(text));
}

/* ---- images ---- */

static uint64_t put_id(const struct hak_image *image) {
  static const char digits[] = "0123456789abcdef";
  char text[2 * HAK_BUILD_ID_BYTES + 1];
  for (unsigned n = 0; n < image->id_bytes; n++) {
    text[2 * n] = digits[image->id[n] >> 4];
    text[2 * n + 1] = digits[image->id[n] & 15];
  }
  text[2 * image->id_bytes] = '\0';
  return put_string(text);
}

static void put_image(const struct hak_image *image, void *to) {
  (void)to;
  if (g_writer.images == HAK_IMAGES) return;
  g_writer.image[g_writer.images++] = (struct extent){image->first, image->end};
  uint64_t path = put_string(image->path), id = put_id(image);
  struct hak_proto *message = start_message();
  hak_proto_number(message, MAPPING_ID, g_writer.images);
  hak_proto_number(message, MAPPING_FIRST, image->first);
  hak_proto_number(message, MAPPING_END, image->end);
  hak_proto_number(message, MAPPING_OFFSET, image->offset);
  hak_proto_number(message, MAPPING_FILE, path);
  hak_proto_number(message, MAPPING_BUILD_ID, id);
  put_message(MAPPING, message);
}

/* The number of the image around the address; 0: no image. */
static uint64_t image_of(uint64_t address) {
  for (uint64_t n = 0; n < g_writer.images; n++) {
    if (address >= g_writer.image[n].first && address < g_writer.image[n].end) return n + 1;
  }
  return 0;
}

static void put_location(const struct place *place) {
  struct hak_proto *message = start_message();
  uint64_t image = image_of(place->address);
  hak_proto_number(message, LOCATION_ID, place->id);
  if (image != 0) hak_proto_number(message, LOCATION_MAPPING, image);
  hak_proto_number(message, LOCATION_ADDRESS, place->address);
  put_message(LOCATION, message);
}

/* A place has a function of its own. Numbers without gaps: pprof goes on with the number of functions. */
static uint64_t put_function(const struct hak_place *place) {
  uint64_t name = put_string(place->text), file = put_string(place->text + place->name_bytes + 1);
  struct hak_proto *message = start_message();
  hak_proto_number(message, FUNCTION_ID, ++g_writer.functions);
  hak_proto_number(message, FUNCTION_NAME, name);
  hak_proto_number(message, FUNCTION_SYSTEM_NAME, name);
  hak_proto_number(message, FUNCTION_FILE, file);
  put_message(FUNCTION, message);
  return g_writer.functions;
}

static void put_place(uint64_t id, const struct hak_place *place) {
  struct hak_proto *line = &g_writer.inner;
  uint64_t function = put_function(place);
  struct hak_proto *message = start_message();
  hak_proto_start(line);
  hak_proto_number(line, LINE_FUNCTION, function);
  hak_proto_number(line, LINE_NUMBER, place->line);
  hak_proto_number(message, LOCATION_ID, id);
  hak_proto_message(message, LOCATION_LINE, line);
  put_message(LOCATION, message);
}

/* The number of this address. Writes a new address first. */
static uint64_t location_of(uint64_t address) {
  size_t i = (size_t)(address * 0x9e3779b97f4a7c15u >> 24) & g_writer.mask;
  while (g_writer.place[i].id != 0 && g_writer.place[i].address != address) i = (i + 1) & g_writer.mask;
  struct place *place = &g_writer.place[i];
  if (place->id == 0) {
    *place = (struct place){address, ++g_writer.places};
    if (hak_frame_is_place(address)) put_place(place->id, hak_place_at(address));
    else put_location(place);
  }
  return place->id;
}

/* ---- values ---- */

static uint64_t nearest(double x) { return x <= 0 ? 0 : (uint64_t)(x + 0.5); }

static void pack_values(struct hak_proto *packed, const struct hak_backtrace *stack) {
  const struct hak_sums *taken = &stack->taken, *live = &stack->live;
  const double values[] = {taken->blocks, taken->bytes, live->blocks,       live->bytes,
                           taken->asked,  live->asked,  stack->peak.blocks, stack->peak.bytes,
                           stack->brief.blocks, stack->brief.bytes};
  hak_proto_start(packed);
  for (unsigned n = 0; n < sizeof values / sizeof *values; n++) hak_proto_varint(packed, nearest(values[n]));
}

/* ---- variance ---- */

static void start_notes(struct notes *notes) {
  hak_strcpy(notes->text, notes == &g_writer.live ? "#hakmem samples:" : "#hakmem peak samples:");
  notes->used = hak_strlen(notes->text);
}

static void put_notes(struct notes *notes) {
  write_number(COMMENT, put_string(notes->text));
  start_notes(notes);
}

static void note_evidence(struct notes *notes, const struct hak_evidence *evidence) {
  struct hak_line line;
  const uint64_t values[] = {evidence->samples, evidence->bytes, nearest(evidence->variance / (double)g_writer.mean)};
  hak_line_start(&line);
  for (unsigned n = 0; n < sizeof values / sizeof *values; n++) {
    hak_line_text(&line, " ");
    hak_line_dec(&line, values[n]);
  }
  hak_line_text(&line, ";");
  if (notes->used + line.used >= sizeof notes->text) put_notes(notes);
  memcpy(notes->text + notes->used, line.text, line.used + 1);
  notes->used += line.used;
}

/* ---- a sample ---- */

/* The last byte of the call that returns to a frame; a place as it is. */
static uint64_t asking(uint64_t frame) { return hak_frame_is_place(frame) ? frame : frame - 1; }

/* Collects the sample's parts first: location_of writes messages of its own through g_writer.message. */
static void put_sample(const struct hak_backtrace *stack, void *to) {
  static HAK_RARE struct hak_proto locations, values;
  (void)to;
  hak_proto_start(&locations);
  for (uint32_t n = 0; n < stack->depth; n++) hak_proto_varint(&locations, location_of(asking(stack->frame[n])));
  pack_values(&values, stack);
  struct hak_proto *message = start_message();
  hak_proto_message(message, SAMPLE_LOCATIONS, &locations);
  hak_proto_message(message, SAMPLE_VALUES, &values);
  put_message(SAMPLE, message);
  note_evidence(&g_writer.live, &stack->evidence);
  note_evidence(&g_writer.peak, &stack->peak.evidence);
}

/* ---- the whole profile ---- */

static size_t place_bytes(void) {
  return hak_round_up((g_writer.mask + 1) * sizeof *g_writer.place, hak_os_page_bytes());
}

static bool get_places(void) {
  uint64_t least = 2 * hak_samples_frames() + 64;
  g_writer.mask = ((size_t)2 << hak_highest_bit(least)) - 1;
  g_writer.place = hak_os_map(place_bytes());
  g_writer.strings = g_writer.places = g_writer.images = g_writer.functions = 0;
  return g_writer.place != NULL;
}

static void put_heads(const struct hak_profile_facts *facts) {
  put_comment(facts->pid);
  put_sentence(facts->mean);
  put_in_use(facts->in_use);
  put_whole();
  put_peak(&g_samples.peak);
}

static int write_locked(const char *path, const struct hak_profile_facts *facts) {
  if (!get_places()) return ENOMEM;
  hak_samples_end_peak(facts->in_use);
  hak_draft_begin(&g_writer.draft, path);
  put_types(facts->mean);
  hak_images_visit(put_image, NULL);
  put_heads(facts);
  g_writer.mean = facts->mean;
  start_notes(&g_writer.live);
  start_notes(&g_writer.peak);
  hak_samples_visit(put_sample, NULL);
  put_notes(&g_writer.live);
  put_notes(&g_writer.peak);
  put_ages(HAK_SIZES);
  put_ages(HAK_AGES);
  long error = hak_draft_end(&g_writer.draft, path);
  hak_os_unmap(g_writer.place, place_bytes());
  return (int)-error;
}

int hak_profile_try(const char *path) {
  hak_samples_lock();
  long error = hak_draft_try(&g_writer.draft, path);
  hak_samples_unlock();
  return (int)-error;
}

int hak_profile_write(const char *path, const struct hak_profile_facts *facts) {
  hak_samples_lock();
  int error = write_locked(path, facts);
  hak_samples_unlock();
  return error;
}
