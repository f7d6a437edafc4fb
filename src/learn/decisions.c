/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* decisions.c: decisions, and the inputs of learning, in files that outlive the process.
 *
 * what      See decisions.h.
 */
#include "learn/decisions.h"

#include <assert.h>
#include <string.h>

#include "learn/big_keep.h"
#include "learn/tune.h"
#include "os/text.h"
#include "tables/shared_file.h"

enum { MAPS_BYTES = 64 << 10, JOURNAL_BYTES = 64 << 20 };

struct decisions_file {
  struct hak_decisions ring;
  char maps[MAPS_BYTES]; /* ends at the first zero */
  struct hak_changes changes;
};
static_assert(sizeof(struct decisions_file) == 28696 + MAPS_BYTES + 20504, "decisions.h");

/* Drops the last line if cut. The kernel returns at most a page per read. */
static void write_maps(char maps[MAPS_BYTES]) {
  long descriptor = hak_text_open("/proc/self/maps");
  size_t used = 0;
  memset(maps, 0, MAPS_BYTES);
  if (descriptor < 0) return;
  for (long n; used < MAPS_BYTES - 1 && (n = hak_text_read(descriptor, maps + used, MAPS_BYTES - 1 - used)) > 0;)
    used += (size_t)n;
  hak_text_close(descriptor);
  while (used != 0 && maps[used - 1] != '\n') maps[--used] = '\0';
}

void hak_decisions_to_file(const char *path) {
  struct decisions_file *file = hak_shared_file(
      &(struct hak_shared_file_order){.setting = "decisions_file", .path = path, .ending = "", .bytes = sizeof *file});
  if (file == NULL) return;
  write_maps(file->maps);
  hak_big_write_decisions(&file->ring);
  hak_tune_write_changes(&file->changes);
}

bool hak_journal_to_file(const char *path) {
  struct hak_journal *journal = hak_shared_file(
      &(struct hak_shared_file_order){.setting = "lab_learn_log", .path = path, .ending = "", .bytes = JOURNAL_BYTES});
  if (journal == NULL) return false;
  hak_journal_start(journal, JOURNAL_BYTES);
  hak_big_write_journal(journal, hak_journal_room(JOURNAL_BYTES));
  return true;
}
