/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* samples_internal.c: the table of samples with its internals exposed. */
#include "record/profile_samples.c"

#include "internal.h"

struct hak_lock *hak_inside_table_lock(void);
struct hak_lock *hak_inside_table_lock(void) { return &g_samples.lock; }

/* As if a fork had interrupted a withdrawal: a row stands twice, and some rows cannot be found. */
void hak_inside_table_damage(void);
void hak_inside_table_damage(void) {
  struct hak_rows *rows = g_samples.rows;
  size_t i = 0;
  while (rows->row[i].address == 0) i++;
  size_t j = i;
  while (rows->row[j].address != 0) j = (j + 1) & rows->mask;
  rows->row[j] = rows->row[i];
  g_samples.live += 17;
}

void hak_inside_table_vanish(void);
void hak_inside_table_vanish(void) { hak_inside_vanish(&g_samples.lock); }
