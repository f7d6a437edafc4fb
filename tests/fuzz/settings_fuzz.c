/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* settings_fuzz.c: any bytes are variables, hak_options and arguments of hak_set; see tests/README.md.
 *
 * what      The input's lines: "v NAME=VALUE" a variable, "o OPTIONS" hak_options, "n NAME=VALUE" hak_settings_set
 *           while the program runs, each without the letter's blank. HAKMEM_ is put before a variable whose name does
 *           not begin with it, and a line "s" makes the program one with raised rights.
 *
 *           Whatever comes in, every number lies within the bounds of its row, every printed value is read back as the
 *           same number, and every line on stderr is one line that steers no terminal (--wrap=hak_os_write_err).
 * owner     The settings, which every input finds as at start.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tables/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __wrap_hak_os_write_err(const char *text, size_t bytes);

static void must(bool holds) {
  if (!holds) abort();
}

void __wrap_hak_os_write_err(const char *text, size_t bytes) {
  must(bytes > 0 && bytes < 400 && text[bytes - 1] == '\n' && strncmp(text, "hakmem: ", 8) == 0);
  for (size_t n = 0; n + 1 < bytes; n++) must((unsigned char)text[n] >= ' ' && text[n] != 0x7f);
}

/* What is printed is read back. */
static void check_text(const struct hak_setting_row *row) {
  char text[HAK_SETTING_PATH_BYTES], again[HAK_SETTING_PATH_BYTES];
  must(hak_settings_get(row->name, text, sizeof text) == 0);
  must(hak_settings_get(row->name, again, 1) == (text[0] == '\0' ? 0 : ERANGE));
  if (row->type == HAK_SETTING_path) return;
  uint64_t number = *hak_setting_cell(row);
  must(hak_settings_set(row->name, text, true) == 0 && *hak_setting_cell(row) == number);
  must(hak_settings_get(row->name, again, sizeof again) == 0 && strcmp(text, again) == 0);
}

static void check_row(const struct hak_setting_row *row) {
  bool path = row->type == HAK_SETTING_path;
  uint64_t number = *hak_setting_cell(row);
  must(path || (number >= row->min && number <= row->max));
  if (path ? number != 0 : number != row->initial) check_text(row);
}

static void check_rows(void) {
  const struct hak_setting_row *row;
  for (unsigned n = 0; (row = hak_settings_row(n)) != NULL; n++) check_row(row);
}

static bool is_known(const char *name) {
  const struct hak_setting_row *row;
  for (unsigned n = 0; (row = hak_settings_row(n)) != NULL; n++) {
    if (strcmp(row->name, name) == 0) return true;
  }
  return false;
}

static void set(char *line) {
  char *value = strchr(line, '='), before[HAK_SETTING_PATH_BYTES], after[HAK_SETTING_PATH_BYTES];
  if (value != NULL) *value++ = '\0';
  bool known = hak_settings_get(line, before, sizeof before) == 0;
  int error = hak_settings_set(line, value != NULL ? value : "", false);
  must(error == 0 || error == (known ? EINVAL : ENOENT) || (known && error == EPERM));
  must(known == is_known(line));
  if (error != 0 && known) must(hak_settings_get(line, after, sizeof after) == 0 && strcmp(before, after) == 0);
}

static char *variable(const char *line) {
  bool named = strncmp(line, "HAKMEM_", 7) == 0;
  char *text = malloc(strlen(line) + 8);
  return strcat(strcpy(text, named ? "" : "HAKMEM_"), line);
}

enum { VARIABLES = 16 };
struct start {
  char *env[VARIABLES + 1], *options;
  unsigned variables;
  bool secure;
};

static void take_line(struct start *start, char *line) {
  if (line[0] == 'v' && start->variables < VARIABLES) start->env[start->variables++] = variable(line + 1);
  if (line[0] == 'o') start->options = line + 1;
  if (line[0] == 's') start->secure = true;
}

static void each_line(char *text, struct start *start, char letter) {
  for (char *line = text, *next; line != NULL; line = next) {
    next = strchr(line, '\n');
    if (next != NULL) *next = '\0';
    if (letter == 'n' && line[0] == 'n') set(line + 1);
    if (letter != 'n') take_line(start, line);
    if (next != NULL) *next++ = letter == 'n' ? '\0' : '\n';
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct start start = {.variables = 0};
  struct hak_settings first = g_settings;
  char *text = malloc(size + 1), *options = malloc(size + 1);
  memcpy(text, data, size);
  text[size] = '\0';
  each_line(text, &start, 'v');
  size_t n = start.options != NULL ? strcspn(start.options, "\n") : 0;
  if (n != 0) memcpy(options, start.options, n);
  options[n] = '\0';
  hak_settings_load_as(start.env, options, start.secure);
  check_rows();
  each_line(text, &start, 'n');
  check_rows();
  for (unsigned v = 0; v < start.variables; v++) free(start.env[v]);
  free(text);
  free(options);
  g_settings = first;
  return 0;
}
