/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* counters.h: one table of counters for the whole process.
 *
 * what      A row per line of counters.def. Each count is added in memory of the process (g_counter; for kernel calls,
 *           a tally in src/os), and once more in a file mapped shared, if the process has such a file. So counts
 *           outlive _exit and abort, and a forked child adds to its parent's rows. HAKMEM never reads the file again.
 *
 *               file <path>.<pid>:  | "HAKCNT01" | count u32 | 32 u32 | name[24] value u64 | name[24] value ... |
 *                                   0            8           12       16                   48
 *                                                                     ^ g_counters_shown
 *
 * owner     Any thread adds; no counter is ever reset.
 * orders    Adding and reading are relaxed. g_counters_shown is stored after its rows are filled.
 * hot path  No: hak_count is for slow paths, and per call only while the setting `count_calls` is on.
 * failure   A file that cannot be made: one line on stderr, and the counters live in memory only.
 * not here  Which route a call took: entry/slow_path.c. Text for people: observe/report.h.
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
#define HAK_COUNTER_HELP_BYTES 80

struct hak_counter_row {
  char name[HAK_COUNTER_NAME_BYTES]; /* padded with at least one zero */
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

/* By enum hak_counter_id. Rows of kernel calls stay 0 here: their counts live in src/os. */
extern HAK_HIDDEN uint64_t g_counter[HAK_COUNTERS];
/* Rows of the counters file; NULL: no file. Written once, before there are threads, so plain reads suffice: one
 * instruction less in a slow path. */
extern HAK_HIDDEN struct hak_counter_row *g_counters_shown;

/* Adds n in the file only. */
static inline void hak_count_shown(enum hak_counter_id id, uint64_t n) {
  if (HAK_UNLIKELY(g_counters_shown != NULL)) hak_add(&g_counters_shown[id].value, n);
}

static inline void hak_count(enum hak_counter_id id, uint64_t n) {
  hak_add(&g_counter[id], n);
  hak_count_shown(id, n);
}

/* The count of this process and, up to each fork, of the processes that it was forked from. */
uint64_t hak_counter_value(enum hak_counter_id id);

/* From counters.def; valid for as long as the library is loaded. The tables: for readers in another process. */
extern HAK_HIDDEN const char hak_counter_names[HAK_COUNTERS][HAK_COUNTER_NAME_BYTES];
extern HAK_HIDDEN const char hak_counter_helps[HAK_COUNTERS][HAK_COUNTER_HELP_BYTES];
const char *hak_counter_name(enum hak_counter_id id);
const char *hak_counter_help(enum hak_counter_id id);

/* Repeats the counters in a new file "<path>.<pid>", which starts with the values that an earlier program of this
 * process (before execve) left there. Call at start, before there are threads: counts of other threads meanwhile may be
 * missing. False, after one line on stderr: the file could not be made. */
bool hak_counters_to_file(const char *path);

#endif
