/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* knobs.h: the settings, and the three ways to them.
 *
 * what      One word per row of knobs.def, read wherever it is wanted and set by a link-time text, by the
 *           environment, or by a call.
 *
 *               hak_options "name=value,..." --+
 *               HAKMEM_NAME=value -------------+--> parse, check --> g_knobs.name --> hak_knob(name) anywhere
 *               hak_set("name", "value") ------+                 \-> g_knobs_generation + 1
 *
 * owner     g_knobs. Text settings are written at start only.
 * orders    Words are relaxed; g_knobs_generation grows with release after the word is stored.
 * failure   At start: one line on stderr naming what was given, and what is allowed or the nearest name; the setting
 *           keeps its value. From a call: EINVAL, ENOENT, EPERM, ERANGE.
 * not here  What a setting does: whoever reads it.
 */
#ifndef HAK_CORE_KNOBS_H
#define HAK_CORE_KNOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

#define HAK_KNOB_PATH_BYTES 256 /* with the closing zero */

#define HAK_KNOB_CELL_bytes(name) uint64_t name
#define HAK_KNOB_CELL_count(name) uint64_t name
#define HAK_KNOB_CELL_flag(name) uint64_t name
#define HAK_KNOB_CELL_price(name) uint64_t name
#define HAK_KNOB_CELL_huge(name) uint64_t name
#define HAK_KNOB_CELL_mode(name) uint64_t name
#define HAK_KNOB_CELL_path(name) const char *name /* NULL: none */

struct hak_knobs {
#define KNOB(name, type, initial, min, max, when, help) HAK_KNOB_CELL_##type(name);
#include "core/knobs.def"
#undef KNOB
};
extern HAK_HIDDEN struct hak_knobs g_knobs;

/* Grows with every setting that was changed. */
extern HAK_HIDDEN uint64_t g_knobs_generation;

/* The present value of a setting that is a number or a flag. */
#define hak_knob(name) hak_load(&g_knobs.name)
/* And of one that is a path; "" for none. */
#define hak_knob_path(name) (g_knobs.name != NULL ? g_knobs.name : "")

enum hak_knob_type {
  HAK_KNOB_bytes,
  HAK_KNOB_count,
  HAK_KNOB_flag,
  HAK_KNOB_price, /* ns of CPU time that a MiB of idle memory is worth per second */
  HAK_KNOB_huge,  /* enum hak_huge */
  HAK_KNOB_mode,  /* enum hak_mode */
  HAK_KNOB_path
};
enum hak_huge { HAK_HUGE_OFF, HAK_HUGE_AUTO, HAK_HUGE_ON };
enum hak_mode { HAK_MODE_OFF, HAK_MODE_BASELINE, HAK_MODE_SHADOW, HAK_MODE_EVOLVING, HAK_MODE_FROZEN };
enum hak_knob_when { HAK_KNOB_start, HAK_KNOB_any };

/* Has a setting its first value? One that was set by hand is left alone by what is learnt. */
#define KNOB(name, type, initial, min, max, when, help) \
  static inline uint64_t hak_knob_first_##name(void) { return (uint64_t)(initial); }
#include "core/knobs.def"
#undef KNOB
#define hak_knob_is_first(name) (hak_knob(name) == hak_knob_first_##name())

enum { HAK_KNOB_NAME_BYTES = 20 }; /* with the closing zero */

/* No pointers: the loader would write them, in each process, and have a page more for it. Nor what it is for: nothing
 * in the library reads that. */
struct hak_knob_row {
  uint64_t initial, min, max;
  char name[HAK_KNOB_NAME_BYTES];
  uint16_t cell; /* where in g_knobs */
  uint8_t type, when; /* enum hak_knob_type, enum hak_knob_when */
};

/* Its word, a uint64_t; or of a path, a const char *. */
static inline uint64_t *hak_knob_cell(const struct hak_knob_row *row) {
  return (uint64_t *)((char *)&g_knobs + row->cell);
}
static inline const char **hak_knob_path_cell(const struct hak_knob_row *row) {
  return (const char **)((char *)&g_knobs + row->cell);
}

/* The n-th row; NULL past the last. */
const struct hak_knob_row *hak_knobs_row(unsigned n);

/* At start: first `options` (may be NULL), then the HAKMEM_ variables of `env` (may be NULL), which win. A program
 * that runs with raised rights (AT_SECURE) takes neither its environment nor any path. A soft_limit above hard_limit is
 * reported and becomes 0; hak_knobs_set takes it, so that both can be raised one by one, whichever comes first. */
void hak_knobs_load(char **env, const char *options);
/* The same, told whether the rights are raised. */
void hak_knobs_load_as(char **env, const char *options, bool secure);

/* 0; EINVAL: malformed or out of range; ENOENT: no such setting; EPERM: at_start is false and it is set only then. */
int hak_knobs_set(const char *name, const char *value, bool at_start);

/* The present value as hak_knobs_set would take it: "64M", "250", "on". 0, ENOENT, ERANGE (`size` is too small). */
int hak_knobs_get(const char *name, char *out, size_t size);

#endif
