/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* counters.h: one table of counters for the whole process.
 *
 * what      A row per line of counters.def. What is counted is added in memory of the process's own (g_counter, and
 *           what the kernel door counts there), and once more in
 *           a file mapped shared, if there is one: so it outlives _exit and abort, and a forked child adds to its
 *           parent's rows. The file is never read.
 *
 *               file <path>.<pid>:  | "HAKCNT01" | count u32 | 32 u32 | name[24] value u64 | name[24] value ... |
 *                                   0            8           12       16                   48
 *                                                                     ^ g_counters_shown
 *
 * owner     Whoever counts adds; nobody resets.
 * orders    Adding and reading are relaxed. g_counters_shown is stored when its rows are filled.
 * hot path  No: hak_count is for slow doors, and per call only while the setting `count_calls` is on.
 * failure   A file that cannot be made: one line on stderr, and the counters stay where they are.
 * not here  Which route a call took: the front decides. Text for people: observe/report.h.
 */
#ifndef HAK_TABLES_COUNTERS_H
#define HAK_TABLES_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

enum hak_counter_id {
#define COUNTER(name, help) HAK_COUNTER_##name,
#include "tables/counters.def"
#undef COUNTER
  HAK_COUNTERS
};

#define HAK_COUNTER_NAME_BYTES 24

struct hak_counter_row {
  char name[HAK_COUNTER_NAME_BYTES]; /* padded with zeros, at least one */
  uint64_t value;
};

struct hak_counter_header {
  char magic[8]; /* "HAKCNT01" */
  uint32_t count;
  uint32_t row_bytes;
};

struct hak_counter_file {
  struct hak_counter_header header;
  struct hak_counter_row rows[HAK_COUNTERS];
};

/* But for the kernel door's own. */
extern HAK_HIDDEN uint64_t g_counter[HAK_COUNTERS];
/* In the file; NULL: there is none. Written once, before there are threads: it is read plainly, which is an instruction
 * less at a slow door. */
extern HAK_HIDDEN struct hak_counter_row *g_counters_shown;

/* In the file alone. */
static inline void hak_count_shown(enum hak_counter_id id, uint64_t n) {
  if (HAK_UNLIKELY(g_counters_shown != NULL)) hak_add(&g_counters_shown[id].value, n);
}

static inline void hak_count(enum hak_counter_id id, uint64_t n) {
  hak_add(&g_counter[id], n);
  hak_count_shown(id, n);
}

/* Of this process, and those that it was forked from until then. */
uint64_t hak_counter_value(enum hak_counter_id id);

/* Both from counters.def, for as long as the library is there. */
const char *hak_counter_name(enum hak_counter_id id);
const char *hak_counter_help(enum hak_counter_id id);

/* Shows the counters in a new file "<path>.<pid>", too, which begins with what a program that this process ran before
 * left there. At start, before there are threads: what another thread counts meanwhile may not be shown. False, after
 * one line on stderr: the file could not be made. */
bool hak_counters_to_file(const char *path);

#endif
