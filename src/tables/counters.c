/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* counters.c: where the counters live.
 *
 * what      The static table, and the file that repeats its values; see counters.h for the drawing.
 * owner     g_counter, g_counters_shown.
 * failure   Without a file, the counters live in memory only.
 * not here  Making the file: shared_file.h.
 */
#include "tables/counters.h"

#include <stddef.h>
#include <string.h>

#include "os/os.h"
#include "os/text.h"
#include "tables/shared_file.h"

/* A tiny process touches no page of this table: counts of kernel calls live in src/os. */
HAK_TABLE uint64_t g_counter[HAK_COUNTERS];

struct hak_counter_row *g_counters_shown;

/* Arrays of characters: pointers would need relocation by the loader. */
HAK_RARE_CONSTANT const char hak_counter_names[HAK_COUNTERS][HAK_COUNTER_NAME_BYTES] = {
#define COUNTER(name, help) #name,
#include "tables/counters.def"
#undef COUNTER
};
HAK_RARE_CONSTANT const char hak_counter_helps[HAK_COUNTERS][HAK_COUNTER_HELP_BYTES] = {
#define COUNTER(name, help) help,
#include "tables/counters.def"
#undef COUNTER
};

#define COUNTER(name, help)                                                              \
  _Static_assert(sizeof #name <= HAK_COUNTER_NAME_BYTES, "name too long: " #name); \
  _Static_assert(sizeof help <= HAK_COUNTER_HELP_BYTES, "help too long: " #name);
#include "tables/counters.def"
#undef COUNTER

_Static_assert(sizeof(struct hak_counter_header) == 16, "the file's header is 16 bytes");
_Static_assert(sizeof(struct hak_counter_row) == 32, "a row of the file is 32 bytes");

/* Rows of kernel calls follow the order of enum hak_os_call. */
static unsigned row_of_call(unsigned call) { return HAK_COUNTER_kernel_map + call; }
_Static_assert(HAK_COUNTER_kernel_unmap - HAK_COUNTER_kernel_map == HAK_OS_UNMAP, "munmap");
_Static_assert(HAK_COUNTER_kernel_advise - HAK_COUNTER_kernel_map == HAK_OS_ADVISE, "madvise");
_Static_assert(HAK_COUNTER_kernel_remap - HAK_COUNTER_kernel_map == HAK_OS_REMAP, "mremap");
_Static_assert(HAK_COUNTER_kernel_futex - HAK_COUNTER_kernel_map == HAK_OS_FUTEX, "futex");
_Static_assert(sizeof(struct hak_counter_row) == HAK_OS_SHOWN_STEP * sizeof(uint64_t), "os.h");
_Static_assert(HAK_COUNTER_unsaid - HAK_COUNTER_kernel_map == HAK_OS_UNSAID, "unsaid");

const char *hak_counter_name(enum hak_counter_id id) { return hak_counter_names[id]; }
const char *hak_counter_help(enum hak_counter_id id) { return hak_counter_helps[id]; }

uint64_t hak_counter_value(enum hak_counter_id id) {
  unsigned call = id - HAK_COUNTER_kernel_map;
  return call < HAK_OS_CALLS ? hak_os_tallied((enum hak_os_call)call) : hak_load(&g_counter[id]);
}

static const struct hak_counter_header file_header = {
    {'H', 'A', 'K', 'C', 'N', 'T', '0', '1'}, HAK_COUNTERS, sizeof(struct hak_counter_row)};

/* The process id survives execve, so the new program finds the counters file of the program before and adds its values.
 * The file may hold anything: its numbers are added and used for nothing else. */
static void add_what_was_left(long left, void *to) {
  struct hak_counter_file *file = to, old;
  bool whole = hak_text_read_at(left, &old, sizeof old, 0) == sizeof old;
  if (!whole || memcmp(&old.header, &file_header, sizeof file_header) != 0) return;
  for (unsigned i = 0; i < HAK_COUNTERS; i++) hak_add(&file->rows[i].value, old.rows[i].value);
}

static void fill_counters(struct hak_counter_file *file) {
  file->header = file_header;
  for (unsigned i = 0; i < HAK_COUNTERS; i++) {
    memcpy(file->rows[i].name, hak_counter_names[i], sizeof hak_counter_names[i]);
    hak_add(&file->rows[i].value, hak_counter_value((enum hak_counter_id)i));
  }
}

bool hak_counters_to_file(const char *path) {
  struct hak_counter_file *file = hak_shared_file(&(struct hak_shared_file_order){
      .setting = "counters_file", .path = path, .ending = "", .bytes = sizeof *file, .continues = add_what_was_left});
  if (file == NULL) return false;
  fill_counters(file);
  hak_os_tally_shown(&file->rows[row_of_call(0)].value);
  g_counters_shown = file->rows;
  return true;
}
