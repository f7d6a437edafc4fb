/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* counters.c: where the counters live.
 *
 * what      The static table, and the move to a file; see counters.h for the drawing.
 * owner     g_counter_rows points at the table in use; the static one stays valid for a thread that still holds it.
 * orders    The pointer is published with release once the new rows are complete.
 * failure   A file that cannot be made is done without.
 * not here  Making the file: kept_file.h.
 */
#include "core/counters.h"

#include <stddef.h>
#include <string.h>

#include "core/kept_file.h"
#include "os/os.h"

/* Without their names, which are the file's. What the kernel door counts lies there as long as there is no file: a tiny
 * process has nothing else to count, and no page for it. */
static HAK_TABLE_AT(3) struct hak_counter_row first_rows[HAK_COUNTERS];

struct hak_counter_row *g_counter_rows = first_rows;

enum { HELP_BYTES = 80 };
/* Not pointers, which the loader would have to relocate. */
static const char names[HAK_COUNTERS][HAK_COUNTER_NAME_BYTES] = {
#define COUNTER(name, help) #name,
#include "core/counters.def"
#undef COUNTER
};
static const char helps[HAK_COUNTERS][HELP_BYTES] = {
#define COUNTER(name, help) help,
#include "core/counters.def"
#undef COUNTER
};

#define COUNTER(name, help)                                                              \
  _Static_assert(sizeof #name <= HAK_COUNTER_NAME_BYTES, "name too long: " #name); \
  _Static_assert(sizeof help <= HELP_BYTES, "help too long: " #name);
#include "core/counters.def"
#undef COUNTER

_Static_assert(sizeof(struct hak_counter_header) == 16, "the file's header is 16 bytes");
_Static_assert(sizeof(struct hak_counter_row) == 32, "a row of the file is 32 bytes");

/* The kernel's calls have their rows in the order of enum hak_os_call. */
static unsigned row_of_call(unsigned call) { return HAK_COUNTER_kernel_map + call; }
_Static_assert(HAK_COUNTER_kernel_unmap - HAK_COUNTER_kernel_map == HAK_OS_UNMAP, "munmap");
_Static_assert(HAK_COUNTER_kernel_advise - HAK_COUNTER_kernel_map == HAK_OS_ADVISE, "madvise");
_Static_assert(HAK_COUNTER_kernel_remap - HAK_COUNTER_kernel_map == HAK_OS_REMAP, "mremap");
_Static_assert(HAK_COUNTER_kernel_futex - HAK_COUNTER_kernel_map == HAK_OS_FUTEX, "futex");

const char *hak_counter_name(enum hak_counter_id id) { return names[id]; }
const char *hak_counter_help(enum hak_counter_id id) { return helps[id]; }

uint64_t hak_counter_apart(enum hak_counter_id id) {
  unsigned call = id - HAK_COUNTER_kernel_map;
  return call < HAK_OS_CALLS ? hak_os_tallied((enum hak_os_call)call) : 0;
}

static void tally_into(struct hak_counter_row *rows) {
  for (unsigned call = 0; call < HAK_OS_CALLS; call++) {
    hak_os_tally_to((enum hak_os_call)call, &rows[row_of_call(call)].value);
  }
}

void hak_counters_start(void) { tally_into(hak_load_acquire(&g_counter_rows)); }

static const struct hak_counter_header file_header = {
    {'H', 'A', 'K', 'C', 'N', 'T', '0', '1'}, HAK_COUNTERS, sizeof(struct hak_counter_row)};

/* A program that executes another one without forking leaves its counts to it: the process id stays. */
static void begin_or_continue(struct hak_counter_file *file) {
  if (memcmp(&file->header, &file_header, sizeof file_header) == 0) return;
  file->header = file_header;
  for (unsigned i = 0; i < HAK_COUNTERS; i++) {
    memcpy(file->rows[i].name, names[i], sizeof names[i]);
    file->rows[i].value = 0;
  }
}

/* The kernel door carries its own values over (hak_os_tally_to adds). */
static void carry_over(struct hak_counter_file *file, const struct hak_counter_row *old) {
  uint64_t kernel[HAK_OS_CALLS];
  for (unsigned call = 0; call < HAK_OS_CALLS; call++) kernel[call] = file->rows[row_of_call(call)].value;
  for (unsigned i = 0; i < HAK_COUNTERS; i++) hak_add(&file->rows[i].value, old[i].value);
  for (unsigned call = 0; call < HAK_OS_CALLS; call++) file->rows[row_of_call(call)].value = kernel[call];
}

bool hak_counters_to_file(const char *path) {
  struct hak_counter_file *file = hak_kept_file("counters_file", path, sizeof *file);
  if (file == NULL) return false;
  hak_counters_start();
  begin_or_continue(file);
  carry_over(file, hak_load_acquire(&g_counter_rows));
  hak_store_release(&g_counter_rows, file->rows);
  tally_into(file->rows);
  return true;
}
