/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_samples_file.c: a copy of the table of samples in a file that outlives the process.
 *
 * what      See profile_samples_file.h. A new stack with an address in no known image makes the file read the images.
 *           Each time that no new image is found, the number of stacks until the next reading doubles.
 * owner     g_table_file.
 */
#include "record/profile_samples_file.h"

#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fmt.h"
#include "base/str.h"
#include "os/complain.h"
#include "os/file.h"
#include "os/fork.h"
#include "os/os.h"
#include "os/own_file.h"
#include "os/text.h"
#include "record/profile_images.h"
#include "record/profile_places.h"
#include "record/profile_samples.h"
#include "tables/counters.h"
#include "tables/settings.h"
#include "tables/shared_file.h"

enum {
  CHUNK_BYTES = 64 << 10,
  HEAD_BYTES = 512,
  CHUNK_HEAD_BYTES = 64,
  CHUNKS = 4096,
  RESERVE = 32,          /* chunks for a sandbox */
  PATIENCE_MOST = 4096 /* most stacks until the next reading of images */
};

struct head {
  char magic[8];
  uint32_t chunk_bytes, row_bytes, stack_bytes, image_bytes; /* sizes of records, without frames and paths */
  uint64_t pid, since_ns; /* by the wall clock */
  uint64_t mean;          /* bytes between two samples, at present: no sample has a larger one */
  uint64_t sampled, lost;
  uint64_t ended;  /* 1: by exit */
  uint64_t chunks; /* chunks with a magic, at least */
  char program[64];
  uint64_t in_use; /* bytes at exit, by the counters; 0: unknown */
  uint64_t peak_number, peak_in_use, peak_after_ns;
  uint64_t last_after_ns;
  uint64_t whole; /* 1: sampled from the first block on */
  uint64_t live;  /* sampled blocks at exit, as of in_use: fewer are left where destructors freed some */
};

struct row {
  uint64_t address, bytes, asked;
  double weight;
  uint64_t stack;
};

struct stack {
  uint32_t depth, number;
  struct hak_sums taken;
  struct hak_at_peak peak;
  struct hak_brief brief;
  uint64_t frame[];
};

struct image {
  uint64_t end, first, offset, since;
  uint32_t id_bytes, path_bytes;
  uint8_t id[HAK_BUILD_ID_BYTES];
  char path[];
};

struct place {
  uint64_t frame;
  uint32_t line;
  uint16_t name_bytes, file_bytes;
  char text[];
};

_Static_assert(sizeof(struct head) <= HEAD_BYTES && sizeof(struct row) == 40, "profile_samples_file.h");
_Static_assert(sizeof(struct stack) == 96 && sizeof(struct image) == 72, "profile_samples_file.h");

/* Room for further records of a kind. */
struct part {
  char *at, *end;
};

struct known {
  uint64_t first, end, what; /* what: a hash of the file */
};

static HAK_RARE struct {
  const char *path; /* of the setting; NULL: no file */
  struct hak_line name;
  struct hak_os_file file;
  uint64_t generation; /* generation of forks of the process whose file is open */
  struct head *head;   /* NULL: no file */
  uint64_t sampled, lost; /* as in the head, which is written only */
  bool full, finished;
  char *reserve, *reserve_end;
  struct part rows, stacks, images, places;
  struct row **free; /* dropped rows for reuse; outside the file, as a fork's child may repeat stores into the file */
  size_t free_count;
  uint32_t number;  /* of the stack that was added last */
  char **chunk; /* CHUNKS pointers, mapped with the first file: few programs have a file */
  unsigned chunks;
  struct known *known; /* HAK_IMAGES entries, behind `chunk` */
  unsigned known_count, hit;      /* hit: the image found last */
  uint32_t read_after, patience;  /* images are read after this stack number; stacks between two readings */
  bool found;                     /* the present reading found a new image */
} g_table_file;

/* Keeps the compiler from reordering a store that must be first or last. */
static void in_order(void) { __asm__ volatile("" ::: "memory"); }

/* ---- the file ---- */

static void complain_of_table(const char *what) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: profile_table: ");
  hak_line_foreign(&line, g_table_file.name.text);
  hak_line_text(&line, what);
  hak_os_complain(&line);
}

static char *grow_table(size_t bytes) {
  uint64_t at = (uint64_t)g_table_file.chunks * CHUNK_BYTES;
  return hak_os_file_grow(&g_table_file.file, g_table_file.name.text, at, bytes);
}

static char *take_spare_chunk(void) {
  if (g_table_file.reserve == g_table_file.reserve_end) return NULL;
  char *chunk = g_table_file.reserve;
  g_table_file.reserve += CHUNK_BYTES;
  return chunk;
}

static char *new_chunk(void) {
  if (g_table_file.full || g_table_file.chunks == CHUNKS) return NULL;
  char *chunk = g_table_file.finished ? take_spare_chunk() : grow_table(CHUNK_BYTES);
  if (chunk != NULL) {
    g_table_file.chunk[g_table_file.chunks++] = chunk;
    return chunk;
  }
  g_table_file.full = true;
  if (g_table_file.chunks != 0) complain_of_table(" cannot grow; the samples in it stay\n");
  return NULL;
}

static bool begin_chunk(struct part *part, const char *magic) {
  char *chunk = new_chunk();
  if (chunk == NULL) return false;
  *part = (struct part){chunk + CHUNK_HEAD_BYTES, chunk + CHUNK_BYTES};
  memcpy(chunk, magic, sizeof g_table_file.head->magic);
  hak_store_release(&g_table_file.head->chunks, g_table_file.chunks);
  return true;
}

/* Carves zero bytes for a record; NULL: no room. */
static void *carve(struct part *part, const char *magic, size_t bytes) {
  bytes = hak_round_up(bytes, sizeof(uint64_t));
  if ((size_t)(part->end - part->at) < bytes && !begin_chunk(part, magic)) return NULL;
  void *record = part->at;
  part->at += bytes;
  return record;
}

static bool adopt(struct hak_own_file *made) {
  g_table_file.name = made->name;
  bool adopted = hak_os_file_adopt(&g_table_file.file, made->descriptor);
  made->descriptor = -1;
  hak_own_file_close(made);
  return adopted;
}

static bool make_table_file(void) {
  struct hak_own_file made;
  hak_shared_file_name(&g_table_file.name, g_table_file.path);
  struct hak_line stem = g_table_file.name;
  return hak_own_file_make(&made, stem.text, "") == 0 && hak_own_file_place(&made) == 0 && adopt(&made);
}

static void fill_peak(struct head *head, const struct hak_samples_peak *peak) {
  hak_store(&head->peak_in_use, peak->in_use);
  hak_store(&head->peak_after_ns, peak->ns - peak->begun_ns);
  hak_store_release(&head->peak_number, peak->number);
}

static void fill_head(struct head *head) {
  head->chunk_bytes = CHUNK_BYTES;
  head->row_bytes = sizeof(struct row);
  head->stack_bytes = sizeof(struct stack);
  head->image_bytes = sizeof(struct image);
  head->pid = hak_os_process_id();
  head->since_ns = hak_os_wall_ns();
  head->sampled = g_table_file.sampled = hak_counter_value(HAK_COUNTER_samples);
  head->lost = g_table_file.lost = hak_counter_value(HAK_COUNTER_samples_lost);
  head->mean = hak_samples_mean(hak_setting(profile_bytes));
  head->chunks = 1;
  head->whole = hak_load(&g_samples.whole);
  fill_peak(head, &g_samples.peak);
  hak_text_of("/proc/self/comm", head->program, sizeof head->program);
  in_order();
  memcpy(head->magic, "HAKPRO03", sizeof head->magic);
}

static bool has_lists(void) {
  enum { CHUNK_LIST = CHUNKS * sizeof *g_table_file.chunk, IMAGE_LIST = HAK_IMAGES * sizeof *g_table_file.known };
  if (g_table_file.chunk != NULL) return true;
  char *lists = hak_os_map(hak_round_up(CHUNK_LIST + IMAGE_LIST, hak_os_page_bytes()));
  if (lists == NULL) return false;
  g_table_file.known = (struct known *)(void *)(lists + CHUNK_LIST);
  g_table_file.chunk = (char **)(void *)lists;
  return true;
}

static void begin_table_file(void) {
  bool made = !g_table_file.finished && has_lists() && make_table_file();
  char *chunk = made ? new_chunk() : NULL;
  if (chunk == NULL) {
    if (!g_table_file.finished) complain_of_table(" cannot be made; no samples are kept\n");
    if (made) hak_os_file_remove(g_table_file.name.text);
    hak_os_file_close(&g_table_file.file);
    return;
  }
  struct head *head = (struct head *)(void *)chunk;
  fill_head(head);
  g_table_file.images = (struct part){chunk + HEAD_BYTES, chunk + CHUNK_BYTES};
  g_table_file.head = head;
}

void hak_samples_file_start(const char *path) {
  g_table_file.path = path;
  g_table_file.file.descriptor = -1;
  g_table_file.generation = hak_load(&g_fork.generation);
  begin_table_file();
}

/* ---- a fork's child ---- */

bool hak_samples_file_is_due(void) {
  if (g_table_file.path == NULL) return false;
  if (HAK_UNLIKELY(hak_fork_happened())) hak_fork_notice();
  return g_table_file.generation != hak_load(&g_fork.generation);
}

/* In a fork's child: unmaps the parent's file. */
static void forget_table(void) {
  for (unsigned n = 0; n < g_table_file.chunks; n++) hak_os_unmap(g_table_file.chunk[n], CHUNK_BYTES);
  size_t reserved = (size_t)(g_table_file.reserve_end - g_table_file.reserve);
  if (reserved != 0) hak_os_unmap(g_table_file.reserve, reserved);
  hak_os_file_close(&g_table_file.file);
  g_table_file.head = NULL;
  g_table_file.reserve = g_table_file.reserve_end = NULL;
  g_table_file.rows = g_table_file.stacks = g_table_file.images = g_table_file.places = (struct part){NULL, NULL};
  g_table_file.free_count = 0;
  g_table_file.full = false;
  g_table_file.chunks = g_table_file.known_count = g_table_file.hit = 0;
  g_table_file.number = g_table_file.read_after = 0;
}

void hak_samples_file_begin(void) {
  forget_table();
  g_table_file.generation = hak_load(&g_fork.generation);
  begin_table_file();
}

/* ---- images ---- */

static bool is_image_known(uint64_t address) {
  for (unsigned n = 0; n < g_table_file.known_count; n++) {
    unsigned i = (g_table_file.hit + n) % g_table_file.known_count;
    if (address < g_table_file.known[i].first || address >= g_table_file.known[i].end) continue;
    g_table_file.hit = i;
    return true;
  }
  return false;
}

static bool has_unknown(const struct hak_backtrace *stack) {
  for (uint32_t n = 0; n < stack->depth; n++) {
    if (!hak_frame_is_place(stack->frame[n]) && !is_image_known(stack->frame[n] - 1)) return true;
  }
  return false;
}

/* FNV-1a. */
static uint64_t hash_of_image(const struct hak_image *image) {
  uint64_t hash = 0xcbf29ce484222325u ^ image->offset;
  for (unsigned n = 0; n < image->id_bytes; n++) hash = (hash ^ image->id[n]) * 0x100000001b3u;
  for (const char *c = image->path; *c != '\0'; c++) hash = (hash ^ (uint8_t)*c) * 0x100000001b3u;
  return hash;
}

/* Adds an image, in place of known images at its addresses. False: known, or no room. */
static bool make_known(const struct known *image) {
  for (unsigned n = 0; n < g_table_file.known_count;) {
    struct known *old = &g_table_file.known[n];
    if (memcmp(old, image, sizeof *old) == 0) return false;
    if (old->first < image->end && image->first < old->end) *old = g_table_file.known[--g_table_file.known_count];
    else n++;
  }
  if (g_table_file.known_count == HAK_IMAGES) return false;
  g_table_file.known[g_table_file.known_count++] = *image;
  return true;
}

static void take_image(const struct hak_image *image, void *to) {
  size_t path_bytes = hak_strlen(image->path);
  (void)to;
  if (!make_known(&(struct known){image->first, image->end, hash_of_image(image)})) return;
  g_table_file.found = true;
  struct image *own = carve(&g_table_file.images, "HAKPRIMG", sizeof *own + path_bytes);
  if (own == NULL) return;
  own->first = image->first;
  own->offset = image->offset;
  own->since = (uint64_t)g_table_file.number + 1;
  own->id_bytes = image->id_bytes;
  own->path_bytes = (uint32_t)path_bytes;
  memcpy(own->id, image->id, sizeof own->id);
  memcpy(own->path, image->path, path_bytes);
  hak_store_release(&own->end, image->end);
}

static void read_images(const struct hak_backtrace *stack) {
  if (g_table_file.finished || g_table_file.number < g_table_file.read_after || !has_unknown(stack)) return;
  g_table_file.found = false;
  hak_images_visit(take_image, NULL);
  g_table_file.patience = g_table_file.found ? 1 : (uint32_t)hak_min(2 * (size_t)g_table_file.patience, PATIENCE_MOST);
  g_table_file.read_after = g_table_file.number + g_table_file.patience;
}

/* ---- places ---- */

void hak_samples_file_place(const struct hak_place *place) {
  if (g_table_file.head == NULL) return;
  size_t bytes = (size_t)place->name_bytes + place->file_bytes;
  struct place *own = carve(&g_table_file.places, "HAKPRPLC", sizeof *own + bytes);
  if (own == NULL) return;
  own->line = place->line;
  own->name_bytes = place->name_bytes;
  own->file_bytes = place->file_bytes;
  memcpy(own->text, place->text, place->name_bytes);
  memcpy(own->text + place->name_bytes, place->text + place->name_bytes + 1, place->file_bytes);
  hak_store_release(&own->frame, hak_place_frame(place));
}

/* ---- stacks ---- */

void hak_samples_file_brief(const struct hak_backtrace *stack) {
  struct stack *own = stack->kept;
  if (g_table_file.head != NULL && own != NULL) own->brief = stack->brief;
}

void hak_samples_file_count(const struct hak_backtrace *stack, uint64_t now_ns) {
  struct stack *own = stack->kept;
  if (g_table_file.head == NULL) return;
  hak_store(&g_table_file.head->sampled, ++g_table_file.sampled);
  g_table_file.head->mean = hak_samples_mean(hak_setting(profile_bytes));
  hak_store(&g_table_file.head->last_after_ns, hak_less(now_ns, g_samples.peak.begun_ns));
  if (own != NULL) own->taken = stack->taken;
}

/* The number is stored last: until then the rows are what was live at the peak. */
static void store_peak(struct hak_at_peak *own, const struct hak_at_peak *peak) {
  own->blocks = peak->blocks;
  own->bytes = peak->bytes;
  own->evidence = peak->evidence;
  hak_store_release(&own->number, peak->number);
  in_order();
}

void hak_samples_file_settle(const struct hak_backtrace *stack) {
  struct stack *own = stack->kept;
  if (g_table_file.head != NULL && own != NULL) store_peak(&own->peak, &stack->peak);
}

void hak_samples_file_peak(const struct hak_samples_peak *peak) {
  if (g_table_file.head != NULL) fill_peak(g_table_file.head, peak);
}

void hak_samples_file_add(struct hak_backtrace *stack) {
  stack->kept = NULL;
  if (g_table_file.head == NULL) return;
  read_images(stack);
  struct stack *own = carve(&g_table_file.stacks, "HAKPRSTK", sizeof *own + stack->depth * sizeof *own->frame);
  if (own == NULL) return;
  own->number = stack->kept_number = ++g_table_file.number;
  own->taken = stack->taken;
  own->brief = stack->brief;
  store_peak(&own->peak, &stack->peak);
  memcpy(own->frame, stack->frame, stack->depth * sizeof *own->frame);
  hak_store_release(&own->depth, stack->depth);
  stack->kept = own;
}

/* ---- rows ---- */

void hak_samples_file_miss(void) {
  struct head *head = hak_load(&g_table_file.head);
  if (head != NULL) hak_store(&head->whole, 0);
}

void hak_samples_file_lose(void) {
  if (g_table_file.head != NULL) hak_store(&g_table_file.head->lost, ++g_table_file.lost);
}

static struct row *take_free_row(void) {
  if (g_table_file.free_count != 0) return g_table_file.free[--g_table_file.free_count];
  return carve(&g_table_file.rows, "HAKPRROW", sizeof(struct row));
}

void hak_samples_file_enter(struct hak_sample *row) {
  row->kept = NULL;
  if (g_table_file.head == NULL) return;
  struct row *own = row->stack->kept != NULL ? take_free_row() : NULL;
  if (own == NULL) {
    hak_samples_file_lose();
    return;
  }
  own->bytes = row->bytes;
  own->asked = row->asked;
  own->weight = row->weight;
  own->stack = row->stack->kept_number;
  hak_store_release(&own->address, row->address);
  in_order();
  row->kept = own;
}

void hak_samples_file_drop(const struct hak_sample *row) {
  struct row *own = row->kept;
  if (own == NULL) return;
  hak_store(&own->address, 0);
  in_order();
  if (g_table_file.free == NULL) g_table_file.free = hak_os_map(HAK_SAMPLES_MOST * sizeof *g_table_file.free);
  bool room = g_table_file.free != NULL && g_table_file.free_count < HAK_SAMPLES_MOST;
  if (room) g_table_file.free[g_table_file.free_count++] = own;
}

/* ---- ends ---- */

static void end_file(struct head *head, uint64_t in_use) {
  head->in_use = in_use;
  head->live = hak_samples_live();
  hak_store_release(&head->ended, 1);
}

void hak_samples_file_end(uint64_t in_use) {
  hak_samples_lock();
  hak_samples_end_peak(in_use);
  if (g_table_file.head != NULL) end_file(g_table_file.head, in_use);
  hak_samples_unlock();
}

void hak_samples_file_finish(void) {
  hak_samples_lock();
  size_t bytes = (size_t)RESERVE * CHUNK_BYTES;
  bool fits = g_table_file.head != NULL && !g_table_file.finished && g_table_file.chunks + RESERVE <= CHUNKS;
  g_table_file.reserve = fits ? grow_table(bytes) : g_table_file.reserve;
  if (fits && g_table_file.reserve != NULL) g_table_file.reserve_end = g_table_file.reserve + bytes;
  g_table_file.finished = true;
  hak_samples_unlock();
}
