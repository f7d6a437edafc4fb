/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* settings.c: parse, check, store and print settings.
 *
 * what      One row per setting and one row per type of setting; the functions know no setting by name.
 * owner     g_settings, g_settings_generation.
 * locks     None. Of two threads that set the same number at once, either wins.
 * orders    The word relaxed, then g_settings_generation with release.
 * hot path  No. No malloc, no stdio, no locale: the loader runs inside the first malloc.
 * failure   The setting keeps its value; at start, after a line on stderr.
 * not here  Writing to stderr: os/os.h.
 */
#include "tables/settings.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/config.h"
#include "base/edits.h"
#include "base/fmt.h"
#include "base/str.h"
#include "os/file.h"
#include "os/given.h"
#include "os/os.h"

#define LAB "lab_" /* prefix of names in lab_settings.def */

#define FIRST_bytes(initial) (initial)
#define FIRST_count(initial) (initial)
#define FIRST_flag(initial) (initial)
#define FIRST_price(initial) (initial)
#define FIRST_huge(initial) (initial)
#define FIRST_mode(initial) (initial)
#define FIRST_path(initial) NULL

HAK_SEALED struct hak_settings g_settings = {
#define SETTING(name, type, initial, min, max, when, help) .name = FIRST_##type(initial),
#include "tables/settings.def"
#include "tables/lab_settings.def"
#undef SETTING
};

uint64_t g_settings_generation;

#define ROW(text, name, type, initial, min, max, when) \
  {initial, max, min, text, offsetof(struct hak_settings, name), HAK_SETTING_##type, HAK_SETTING_##when},

static const struct hak_setting_row rows[] = {
#define SETTING(name, type, initial, min, max, when, help) ROW(#name, name, type, initial, min, max, when)
#include "tables/settings.def"
#undef SETTING
#define SETTING(name, type, initial, min, max, when, help) ROW(LAB #name, name, type, initial, min, max, when)
#include "tables/lab_settings.def"
#undef SETTING
};

#define SETTING(name, type, initial, min, max, when, help) \
  _Static_assert(sizeof LAB #name <= HAK_SETTING_NAME_BYTES, "a setting's name is longer than its row has room for");
#include "tables/settings.def"
#include "tables/lab_settings.def"
#undef SETTING

#define ROWS (sizeof rows / sizeof rows[0])

/* ---- types of settings: parse, print, allowed values ---- */

/* Parses decimal digits. *rest: the text after the last digit. */
static bool parse_digits(const char *text, uint64_t *value, const char **rest) {
  const char *at = text;
  *value = 0;
  for (; *at >= '0' && *at <= '9'; at++) {
    uint64_t digit = (uint64_t)(*at - '0');
    if (__builtin_mul_overflow(*value, 10u, value) || __builtin_add_overflow(*value, digit, value)) return false;
  }
  *rest = at;
  return at != text;
}

static bool store_number(const struct hak_setting_row *row, uint64_t value) {
  if (value < row->min || value > row->max) return false;
  hak_store(hak_setting_cell(row), value);
  return true;
}

static bool parse_count(const struct hak_setting_row *row, const char *text) {
  uint64_t value;
  const char *rest;
  return parse_digits(text, &value, &rest) && *rest == '\0' && store_number(row, value);
}

/* The shift of a suffix K, M, G or T, in either case; 0 for an empty suffix; -1 for anything else. */
static int suffix_shift(const char *suffix) {
  if (suffix[0] == '\0') return 0;
  if (suffix[1] != '\0') return -1;
  switch (suffix[0] | 0x20) {
    case 'k': return 10;
    case 'm': return 20;
    case 'g': return 30;
    case 't': return 40;
    default: return -1;
  }
}

static bool parse_bytes(const struct hak_setting_row *row, const char *text) {
  uint64_t value;
  const char *rest;
  if (!parse_digits(text, &value, &rest)) return false;
  int shift = suffix_shift(rest);
  if (shift < 0 || value > UINT64_MAX >> shift) return false;
  return store_number(row, value << shift);
}

/* Words that stand for numbers of a type. A number is printed as the first word with this value. */
struct word {
  char text[12]; /* an array: a pointer would cost a page that the loader relocates */
  uint32_t value;
};

static const struct word flag_words[] = {{"on", 1}, {"off", 0}, {"1", 1}, {"0", 0}, {"true", 1}, {"false", 0}, {"", 0}};
static const struct word price_words[] = {{"speed", 8500}, {"balanced", 640000}, {"lean", 5140000}, {"", 0}};
static const struct word huge_words[] = {{"off", HAK_HUGE_OFF}, {"auto", HAK_HUGE_AUTO}, {"on", HAK_HUGE_ON}, {"", 0}};

static const struct word mode_words[] = {{"off", HAK_MODE_OFF},
                                         {"baseline", HAK_MODE_BASELINE},
                                         {"shadow", HAK_MODE_SHADOW},
                                         {"evolving", HAK_MODE_EVOLVING},
                                         {"frozen", HAK_MODE_FROZEN},
                                         {"", 0}};

static const struct word *const words_of[] = {
    [HAK_SETTING_flag] = flag_words,
    [HAK_SETTING_price] = price_words,
    [HAK_SETTING_huge] = huge_words,
    [HAK_SETTING_mode] = mode_words,
};

static bool parse_word(const struct hak_setting_row *row, const char *text) {
  for (const struct word *word = words_of[row->type]; word->text[0] != '\0'; word++) {
    if (hak_strcmp(text, word->text) == 0) return store_number(row, word->value);
  }
  return false;
}

static bool parse_price(const struct hak_setting_row *row, const char *text) {
  return parse_word(row, text) || parse_count(row, text);
}

enum {
  PATHS = 0
#define SETTING(name, type, initial, min, max, when, help) +(HAK_SETTING_##type == HAK_SETTING_path)
#include "tables/settings.def"
#include "tables/lab_settings.def"
#undef SETTING
};

/* Separate from g_settings: most processes set no path, and touch no page of this array. */
static HAK_SEALED_OR_RARE char g_paths[PATHS][HAK_SETTING_PATH_BYTES];

static char *room_of(const struct hak_setting_row *row) {
  unsigned n = 0;
  for (const struct hak_setting_row *other = rows; other < row; other++) n += other->type == HAK_SETTING_path;
  return g_paths[n];
}

static bool parse_path(const struct hak_setting_row *row, const char *text) {
  size_t bytes = hak_strlen(text) + 1;
  if (bytes > HAK_SETTING_PATH_BYTES || hak_os_file_is_device(text)) return false;
  char *room = memcpy(room_of(row), text, bytes);
  *hak_setting_path_cell(row) = bytes > 1 ? room : NULL;
  return true;
}

static const char *setting_path(const struct hak_setting_row *row) {
  const char *path = *hak_setting_path_cell(row);
  return path != NULL ? path : "";
}

static uint64_t number(const struct hak_setting_row *row) { return hak_load(hak_setting_cell(row)); }

/* Writes bytes with the largest suffix that loses nothing. */
static void write_bytes(struct hak_line *line, uint64_t value) {
  static const char *const suffixes[] = {"", "K", "M", "G", "T"};
  unsigned n = 0;
  for (; n < 4 && value != 0 && value % 1024 == 0; n++) value /= 1024;
  hak_line_dec(line, value);
  hak_line_text(line, suffixes[n]);
}

static void print_bytes(const struct hak_setting_row *row, struct hak_line *line) { write_bytes(line, number(row)); }
static void print_count(const struct hak_setting_row *row, struct hak_line *line) { hak_line_dec(line, number(row)); }
static void print_path(const struct hak_setting_row *row, struct hak_line *line) {
  hak_line_text(line, setting_path(row));
}
static void print_word(const struct hak_setting_row *row, struct hak_line *line) {
  const struct word *word = words_of[row->type];
  while (word->text[0] != '\0' && word->value != number(row)) word++;
  if (word->text[0] != '\0') hak_line_text(line, word->text);
  if (word->text[0] == '\0') print_count(row, line);
}

static void allow_bytes(const struct hak_setting_row *row, struct hak_line *line) {
  write_bytes(line, row->min);
  hak_line_text(line, " to ");
  write_bytes(line, row->max);
  hak_line_text(line, " bytes, with or without K, M, G or T");
}

static void allow_count(const struct hak_setting_row *row, struct hak_line *line) {
  hak_line_dec(line, row->min);
  hak_line_text(line, " to ");
  hak_line_dec(line, row->max);
}

static void allow_word(const struct hak_setting_row *row, struct hak_line *line) {
  const struct word *first = words_of[row->type];
  for (const struct word *word = first; word->text[0] != '\0'; word++) {
    hak_line_text(line, word == first ? "" : ", ");
    hak_line_text(line, word->text);
  }
}

static void allow_price(const struct hak_setting_row *row, struct hak_line *line) {
  allow_word(row, line);
  hak_line_text(line, ", or ");
  allow_count(row, line);
}

static void allow_path(const struct hak_setting_row *row, struct hak_line *line) {
  (void)row;
  hak_line_text(line, "a path of at most ");
  hak_line_dec(line, HAK_SETTING_PATH_BYTES - 1);
  hak_line_text(line, " bytes, not a device's");
}

static const struct {
  bool (*parse)(const struct hak_setting_row *row, const char *text);
  void (*print)(const struct hak_setting_row *row, struct hak_line *line);
  void (*allow)(const struct hak_setting_row *row, struct hak_line *line);
} types[] = {
    [HAK_SETTING_bytes] = {parse_bytes, print_bytes, allow_bytes},
    [HAK_SETTING_count] = {parse_count, print_count, allow_count},
    [HAK_SETTING_flag] = {parse_word, print_word, allow_word},
    [HAK_SETTING_price] = {parse_price, print_word, allow_price},
    [HAK_SETTING_huge] = {parse_word, print_word, allow_word},
    [HAK_SETTING_mode] = {parse_word, print_word, allow_word},
    [HAK_SETTING_path] = {parse_path, print_path, allow_path},
};

/* ---- by name ---- */

const struct hak_setting_row *hak_settings_row(unsigned n) { return n < ROWS ? &rows[n] : NULL; }

static const struct hak_setting_row *find_row(const char *name) {
  for (unsigned n = 0; n < ROWS; n++) {
    if (hak_strcmp(rows[n].name, name) == 0) return &rows[n];
  }
  return NULL;
}

static bool g_mode_was_named; /* at start; by a misspelt mode, too: baseline then, and no policy is written */

int hak_settings_set(const char *name, const char *value, bool at_start) {
  const struct hak_setting_row *row = find_row(name);
  if (row == NULL) return ENOENT;
  if (row->when == HAK_SETTING_start && !at_start) return EPERM;
  if (at_start && row->type == HAK_SETTING_mode) g_mode_was_named = true;
  enum hak_seal_state seal = hak_unseal();
  if (seal == HAK_SEAL_SHUT) return EPERM;
  bool parsed = types[row->type].parse(row, value);
  hak_reseal(seal);
  if (!parsed) return EINVAL;
  hak_add_release(&g_settings_generation, 1);
  return 0;
}

int hak_settings_get(const char *name, char *out, size_t size) {
  const struct hak_setting_row *row = find_row(name);
  if (row == NULL) return ENOENT;
  struct hak_line line;
  hak_line_start(&line);
  types[row->type].print(row, &line);
  if (line.used >= size) return ERANGE;
  memcpy(out, line.text, line.used + 1);
  return 0;
}

/* ---- at start: hak_options and the environment ---- */

#define NAME_SHOWN 40
#define VALUE_SHOWN 60

#define PREFIX "HAKMEM_"
#define CASE_BIT 0x20

/* Spelling of a name by source: the prefix, and the bits in which letters differ from settings.def. */
struct way {
  const char *before;
  char other_case;
};
static const struct way by_options = {"hak_options: ", 0}, by_environment = {PREFIX, CASE_BIT};

static bool is_letter(char c) { return (c | CASE_BIT) >= 'a' && (c | CASE_BIT) <= 'z'; }

/* Copies `name`; in each letter sets the bits `set`, then flips the bits `flipped`. */
static void copy_name(char out[NAME_SHOWN + 2], const char *name, char set, char flipped) {
  size_t n = 0;
  for (; name[n] != '\0'; n++) out[n] = is_letter(name[n]) ? (char)((name[n] | set) ^ flipped) : name[n];
  out[n] = '\0';
}

/* The closest row: few edits away, or with `given` as a part of its name; NULL: no row is close. */
static const struct hak_setting_row *nearest_row(const char *given) {
  char name[NAME_SHOWN + 2];
  copy_name(name, given, CASE_BIT, 0);
  size_t length = hak_strlen(name);
  unsigned fewest = HAK_EDITS_MANY;
  const struct hak_setting_row *nearest = NULL;
  for (unsigned n = 0; n < ROWS; n++) {
    unsigned edits = hak_edits(name, rows[n].name);
    bool near = edits <= 1 + length / 4 || (length >= 3 && hak_strstr(rows[n].name, name) != NULL);
    if (!near || edits >= fewest) continue;
    fewest = edits;
    nearest = &rows[n];
  }
  return nearest;
}

/* "price" for hak_options; "price (HAKMEM_PRICE)" for the environment. */
static void say_setting(struct hak_line *line, const struct way *way, const struct hak_setting_row *row) {
  hak_line_text(line, row->name);
  if (way->other_case == 0) return;
  char spelled[NAME_SHOWN + 2];
  copy_name(spelled, row->name, 0, way->other_case);
  hak_line_text(line, " (");
  hak_line_text(line, way->before);
  hak_line_text(line, spelled);
  hak_line_text(line, ")");
}

/* Names before 0.2, for this release. Before 0.2 the laboratory's settings had no prefix. */
static const struct {
  char old[14], now[18]; /* arrays: see struct word */
} renamed[] = {{"helper", "background_thread"},
               {"count", "count_calls"},
               {"sites", "site_all_sizes"},
               {"limits_folder", "cgroup_dir"}};

static const struct hak_setting_row *renamed_row(const char *old) {
  for (size_t n = 0; n < sizeof renamed / sizeof renamed[0]; n++) {
    if (hak_strcmp(renamed[n].old, old) == 0) return find_row(renamed[n].now);
  }
  return NULL;
}

static const struct hak_setting_row *lab_row(const char *bare) {
  for (unsigned n = 0; n < ROWS; n++) {
    bool is_lab = hak_strncmp(rows[n].name, LAB, hak_strlen(LAB)) == 0;
    if (is_lab && hak_strcmp(rows[n].name + hak_strlen(LAB), bare) == 0) return &rows[n];
  }
  return NULL;
}

/* The row that replaces an old name, and the words before the new name; NULL: never a name. */
static const struct hak_setting_row *moved_row(const char *given, char other_case, const char **said) {
  char name[NAME_SHOWN + 2];
  copy_name(name, given, 0, other_case);
  const struct hak_setting_row *row = renamed_row(name);
  *said = row != NULL ? "now named " : "now the laboratory's: ";
  return row != NULL ? row : lab_row(name);
}

static void say_unknown(struct hak_line *line, const struct way *way, const char *name) {
  const char *said;
  const struct hak_setting_row *row = moved_row(name, way->other_case, &said);
  if (row == NULL) {
    row = nearest_row(name);
    said = row != NULL ? "no such setting; nearest: " : "no such setting, nor one like it";
  }
  hak_line_text(line, said);
  if (row != NULL) say_setting(line, way, row);
}

/* "hakmem: HAKMEM_COUNT_CALLS=maybe ignored: allowed: on, off, ..."; row NULL: no setting has this name. */
static void say_ignored(const struct hak_setting_row *row, const struct way *way, const char *name,
                        const char *value) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: ");
  hak_line_text(&line, way->before);
  hak_line_clipped(&line, name, NAME_SHOWN);
  hak_line_text(&line, "=");
  hak_line_clipped(&line, value, VALUE_SHOWN);
  hak_line_text(&line, row == NULL ? " ignored: " : " ignored: allowed: ");
  if (row == NULL) say_unknown(&line, way, name);
  if (row != NULL) types[row->type].allow(row, &line);
  hak_line_text(&line, "\n");
  hak_os_write_err(line.text, line.used);
}

/* A setting as found: text up to an equals sign, and the text behind the sign. */
struct setting {
  char name[NAME_SHOWN + 2]; /* longer than any setting's name, and than NAME_SHOWN */
  char value[HAK_SETTING_PATH_BYTES + 1];
};

/* Copies at most size - 1 bytes. Clipped text ends in '?' and is longer than any valid name or path. */
static void copy_range(char *out, size_t size, const char *from, size_t bytes) {
  size_t n = bytes < size ? bytes : size - 1;
  memcpy(out, from, n);
  if (n < bytes) out[n - 1] = '?';
  out[n] = '\0';
}

static void split_settings(struct setting *setting, const char *text, size_t bytes) {
  const char *equals = hak_memchr(text, '=', bytes);
  size_t name_bytes = equals != NULL ? (size_t)(equals - text) : bytes;
  size_t value_at = equals != NULL ? name_bytes + 1 : bytes;
  copy_range(setting->name, sizeof setting->name, text, name_bytes);
  copy_range(setting->value, sizeof setting->value, text + value_at, bytes - value_at);
}

static void load_option(const char *text, size_t bytes, bool secure) {
  struct setting setting;
  split_settings(&setting, text, bytes);
  const struct hak_setting_row *row = find_row(setting.name);
  if (secure && row != NULL && row->type == HAK_SETTING_path) return;
  if (hak_settings_set(setting.name, setting.value, true) == 0) return;
  say_ignored(row, &by_options, setting.name, setting.value);
}

static void load_options(const char *options, bool secure) {
  for (const char *at = options; *at != '\0';) {
    const char *comma = hak_strchr(at, ',');
    size_t bytes = comma != NULL ? (size_t)(comma - at) : hak_strlen(at);
    if (bytes > 0) load_option(at, bytes, secure);
    at += bytes + (at[bytes] == ',');
  }
}

/* Finds HAKMEM_NAME by swapping the case of each letter: upper case becomes a name of settings.def, all other spellings
 * become no name. */
static const struct hak_setting_row *find_variable(const char *name) {
  char swapped[NAME_SHOWN + 2];
  copy_name(swapped, name, 0, by_environment.other_case);
  return find_row(swapped);
}

static void load_variable(const char *variable) {
  struct setting setting;
  split_settings(&setting, variable + hak_strlen(PREFIX), hak_strlen(variable) - hak_strlen(PREFIX));
  const struct hak_setting_row *row = find_variable(setting.name);
  if (row != NULL && hak_settings_set(row->name, setting.value, true) == 0) return;
  say_ignored(row, &by_environment, setting.name, setting.value);
}

static void load_environment(char **env) {
  for (; *env != NULL; env++) {
    bool may_be = (*env)[0] == 'H' && (*env)[1] == 'A'; /* cheap: no constant, no call of libc */
    if (may_be && hak_strncmp(*env, PREFIX, hak_strlen(PREFIX)) == 0) load_variable(*env);
  }
}

/* Drops a soft limit above the hard limit, with a line on stderr: memory can never reach such a soft limit. */
static void drop_idle_soft_limit(void) {
  uint64_t soft = hak_setting(soft_limit), hard = hak_setting(hard_limit);
  if (hard == 0 || soft <= hard) return;
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: soft_limit=");
  write_bytes(&line, soft);
  hak_line_text(&line, " ignored: it is above hard_limit=");
  write_bytes(&line, hard);
  hak_line_text(&line, ", which holds alone\n");
  hak_os_write_err(line.text, line.used);
  hak_setting_put(soft_limit, 0);
}

/* One setting is enough to learn across runs: a policy file asks for the mode evolving where nothing names a mode. */
static void learn_into_policy(void) {
  if (g_settings.policy_file != NULL && !g_mode_was_named) hak_setting_put(mode, HAK_MODE_EVOLVING);
}

void hak_settings_load_as(char **env, const char *options, bool secure) {
  if (options != NULL) load_options(options, secure);
  if (HAK_READ_ENVIRONMENT && env != NULL && !secure) load_environment(env);
  drop_idle_soft_limit();
  learn_into_policy();
}

void hak_settings_load(char **env, const char *options) {
  hak_settings_load_as(env, options, hak_given(AT_SECURE) != 0);
}
