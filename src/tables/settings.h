/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* settings.h: the settings, and the three ways to them.
 *
 * what      One word per row of settings.def and of lab_settings.def, read wherever it is wanted and set by
 *           a link-time text, by the environment, or by a call.
 *
 *               hak_options "name=value,..." --+
 *               HAKMEM_NAME=value -------------+--> parse, check --> g_settings.name --> hak_setting(name) anywhere
 *               hak_set("name", "value") ------+                 \-> g_settings_generation + 1
 *
 * owner     g_settings. Text settings are written at start only.
 * orders    Words are relaxed; g_settings_generation grows with release after the word is stored.
 * failure   At start: one line on stderr naming what was given, and what is allowed or the nearest name; the setting
 *           keeps its value. An old name is answered with the new one. From a call: EINVAL, ENOENT, EPERM, ERANGE.
 * not here  What a setting does: whoever reads it.
 */
#ifndef HAK_TABLES_SETTINGS_H
#define HAK_TABLES_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"

#define HAK_SETTING_PATH_BYTES 256 /* with the closing zero */

#define HAK_SETTING_CELL_bytes(name) uint64_t name
#define HAK_SETTING_CELL_count(name) uint64_t name
#define HAK_SETTING_CELL_flag(name) uint64_t name
#define HAK_SETTING_CELL_price(name) uint64_t name
#define HAK_SETTING_CELL_huge(name) uint64_t name
#define HAK_SETTING_CELL_mode(name) uint64_t name
#define HAK_SETTING_CELL_path(name) const char *name /* NULL: none */

struct hak_settings {
#define SETTING(name, type, initial, min, max, when, help) HAK_SETTING_CELL_##type(name);
#include "tables/settings.def"
#include "tables/lab_settings.def"
#undef SETTING
};
extern HAK_HIDDEN struct hak_settings g_settings;

/* Grows with every setting that was changed. */
extern HAK_HIDDEN uint64_t g_settings_generation;

/* The present value of a setting that is a number or a flag. */
#define hak_setting(name) hak_load(&g_settings.name)
/* And of one that is a path; "" for none. */
#define hak_setting_path(name) (g_settings.name != NULL ? g_settings.name : "")

enum hak_setting_type {
  HAK_SETTING_bytes,
  HAK_SETTING_count,
  HAK_SETTING_flag,
  HAK_SETTING_price, /* ns of CPU time that a MiB of idle memory is worth per second */
  HAK_SETTING_huge,  /* enum hak_huge */
  HAK_SETTING_mode,  /* enum hak_mode */
  HAK_SETTING_path
};
enum hak_huge { HAK_HUGE_OFF, HAK_HUGE_AUTO, HAK_HUGE_ON };
enum hak_mode { HAK_MODE_OFF, HAK_MODE_BASELINE, HAK_MODE_SHADOW, HAK_MODE_EVOLVING, HAK_MODE_FROZEN };
enum hak_setting_when { HAK_SETTING_start, HAK_SETTING_any };

/* Has a setting its first value? One that was set by hand is left alone by what is learnt. */
#define SETTING(name, type, initial, min, max, when, help) \
  static inline uint64_t hak_setting_first_##name(void) { return (uint64_t)(initial); }
#include "tables/settings.def"
#include "tables/lab_settings.def"
#undef SETTING
#define hak_setting_is_default(name) (hak_setting(name) == hak_setting_first_##name())

enum { HAK_SETTING_NAME_BYTES = 24 }; /* with the closing zero */

/* No pointers: the loader would write them, in each process, and have a page more for it. Nor what it is for: nothing
 * in the library reads that. */
struct hak_setting_row {
  uint64_t initial, max;
  uint32_t min;
  char name[HAK_SETTING_NAME_BYTES];
  uint16_t cell; /* where in g_settings */
  uint8_t type, when; /* enum hak_setting_type, enum hak_setting_when */
};

/* Its word, a uint64_t; or of a path, a const char *. */
static inline uint64_t *hak_setting_cell(const struct hak_setting_row *row) {
  return (uint64_t *)((char *)&g_settings + row->cell);
}
static inline const char **hak_setting_path_cell(const struct hak_setting_row *row) {
  return (const char **)((char *)&g_settings + row->cell);
}

/* The n-th row; NULL past the last. */
const struct hak_setting_row *hak_settings_row(unsigned n);

/* At start: first `options` (may be NULL), then the HAKMEM_ variables of `env` (may be NULL), which win. A program
 * that runs with raised rights (AT_SECURE) takes neither its environment nor any path. A soft_limit above hard_limit is
 * reported and becomes 0; hak_settings_set takes it, so that both can be raised one by one, whichever comes first. */
void hak_settings_load(char **env, const char *options);
/* The same, told whether the rights are raised. */
void hak_settings_load_as(char **env, const char *options, bool secure);

/* 0; EINVAL: malformed or out of range; ENOENT: no such setting; EPERM: at_start is false and it is set only then. */
int hak_settings_set(const char *name, const char *value, bool at_start);

/* The present value as hak_settings_set would take it: "64M", "250", "on". 0, ENOENT, ERANGE (`size` is too small). */
int hak_settings_get(const char *name, char *out, size_t size);

#endif
