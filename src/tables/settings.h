/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* settings.h: the settings, and the three ways to set a value.
 *
 * what      One word per row of settings.def and of lab_settings.def. Any code reads a word; a link-time text, the
 *           environment or a call sets the word.
 *
 *               hak_options "name=value,..." --+
 *               HAKMEM_NAME=value -------------+--> parse, check --> g_settings.name --> hak_setting(name) anywhere
 *               hak_set("name", "value") ------+                 \-> g_settings_generation + 1
 *
 * owner     g_settings. Text settings are written at start only.
 * orders    Words are relaxed; g_settings_generation grows with release after the word is stored.
 *           The secure flavour's settings are read-only between stores (os/seal.h).
 * failure   At start: one line on stderr with the given text, and the allowed values or the nearest name; the setting
 *           keeps its value. For an old name the line gives the new name. From a call: EINVAL, ENOENT, EPERM, ERANGE.
 * not here  The effect of a setting: each reader of the word.
 */
#ifndef HAK_TABLES_SETTINGS_H
#define HAK_TABLES_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "os/seal.h"

#define HAK_SETTING_PATH_BYTES 256 /* closing zero included */

#define HAK_SETTING_CELL_bytes(name) uint64_t name
#define HAK_SETTING_CELL_count(name) uint64_t name
#define HAK_SETTING_CELL_flag(name) uint64_t name
#define HAK_SETTING_CELL_price(name) uint64_t name
#define HAK_SETTING_CELL_huge(name) uint64_t name
#define HAK_SETTING_CELL_mode(name) uint64_t name
#define HAK_SETTING_CELL_path(name) const char *name /* NULL: unset */

struct hak_settings {
#define SETTING(name, type, initial, min, max, when, help) HAK_SETTING_CELL_##type(name);
#include "tables/settings.def"
#include "tables/lab_settings.def"
#undef SETTING
};
extern HAK_HIDDEN struct hak_settings g_settings;

/* Changes so far; grows by 1 with each. */
extern HAK_HIDDEN uint64_t g_settings_generation;

/* The present value of a setting that is a number or a flag. */
#define hak_setting(name) hak_load(&g_settings.name)
/* Changes a setting that is a number or a flag. No effect where the secure flavour's settings cannot be opened. */
#define hak_setting_put(name, value)                                     \
  do {                                                                   \
    enum hak_seal_state seal_state = hak_unseal();                       \
    if (seal_state != HAK_SEAL_SHUT) hak_store(&g_settings.name, value); \
    hak_reseal(seal_state);                                              \
  } while (0)
/* The present value of a path setting; "" if unset. */
#define hak_setting_path(name) (g_settings.name != NULL ? g_settings.name : "")

enum hak_setting_type {
  HAK_SETTING_bytes,
  HAK_SETTING_count,
  HAK_SETTING_flag,
  HAK_SETTING_price, /* worth of a MiB of idle memory for a second [ns of CPU time] */
  HAK_SETTING_huge,  /* enum hak_huge */
  HAK_SETTING_mode,  /* enum hak_mode */
  HAK_SETTING_path
};
enum hak_huge { HAK_HUGE_OFF, HAK_HUGE_AUTO, HAK_HUGE_ON };
enum hak_mode { HAK_MODE_OFF, HAK_MODE_BASELINE, HAK_MODE_SHADOW, HAK_MODE_EVOLVING, HAK_MODE_FROZEN };
enum hak_setting_when { HAK_SETTING_start, HAK_SETTING_any };

/* True if a setting has its initial value. Learning changes only settings at their initial value. */
#define SETTING(name, type, initial, min, max, when, help) \
  static inline uint64_t hak_setting_first_##name(void) { return (uint64_t)(initial); }
#include "tables/settings.def"
#include "tables/lab_settings.def"
#undef SETTING
#define hak_setting_is_default(name) (hak_setting(name) == hak_setting_first_##name())

enum { HAK_SETTING_NAME_BYTES = 24 }; /* closing zero included */

/* No pointers: the loader would relocate them, at the cost of a page in each process. No help text: nothing in the
 * library reads help. */
struct hak_setting_row {
  uint64_t initial, max;
  uint32_t min;
  char name[HAK_SETTING_NAME_BYTES];
  uint16_t cell; /* offset in g_settings [bytes] */
  uint8_t type, when; /* enum hak_setting_type, enum hak_setting_when */
};

/* The word of a setting: a uint64_t, or for a path a const char *. */
static inline uint64_t *hak_setting_cell(const struct hak_setting_row *row) {
  return (uint64_t *)((char *)&g_settings + row->cell);
}
static inline const char **hak_setting_path_cell(const struct hak_setting_row *row) {
  return (const char **)((char *)&g_settings + row->cell);
}

/* The n-th row; NULL past the last. */
const struct hak_setting_row *hak_settings_row(unsigned n);

/* Call at start. Sets first `options`, then the HAKMEM_ variables of `env`, which win; either may be NULL. A program
 * that runs with raised rights (AT_SECURE) ignores the environment and all paths. A soft_limit above hard_limit is
 * reported and becomes 0. hak_settings_set accepts such a soft_limit, so that a program can raise both limits in either
 * order. */
void hak_settings_load(char **env, const char *options);
/* As hak_settings_load; `secure`: the program runs with raised rights. */
void hak_settings_load_as(char **env, const char *options, bool secure);

/* Sets one setting. 0; EINVAL: malformed or out of range; ENOENT: unknown name; EPERM: a setting of the start, and
 * at_start is false; or the settings of the secure flavour cannot be opened (os/seal.h). */
int hak_settings_set(const char *name, const char *value, bool at_start);

/* Writes the present value in the form that hak_settings_set takes: "64M", "250", "on". 0; ENOENT: unknown name;
 * ERANGE: `size` is too small. */
int hak_settings_get(const char *name, char *out, size_t size);

#endif
