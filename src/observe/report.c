/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* report.c: the state of the allocator as text.
 *
 * what      tables/stats.def names the fields of struct hak_stats; counters and settings have names in their tables.
 *
 *               hak_stats, g_counter, g_settings --> one line at a time --> put(to, text, bytes)
 *
 * orders    None of its own.
 * not here  Numbers: observe/stats.h, tables/counters.h, tables/settings.h.
 */
#include "observe/report.h"

#include <string.h>

#include "base/fmt.h"
#include "base/str.h"
#include "os/complain.h"
#include "retain/footprint.h"
#include "tables/counters.h"
#include "tables/settings.h"

#define TEXT_OF(x) #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)
#define VERSION VERSION_TEXT(HAK_VERSION_MAJOR, HAK_VERSION_MINOR, HAK_VERSION_PATCH)

static const struct field {
  size_t offset;
  const char *name, *label, *help;
} fields[] = {
#define STAT(name, label, unit, help) {offsetof(struct hak_stats, name), #name, label, help},
#define STATE(name, unit, help)
#include "tables/stats.def"
#undef STAT
#undef STATE
};

#define FIELDS (sizeof fields / sizeof fields[0])

struct report {
  const struct hak_stats *stats;
  hak_report_put *put;
  void *to;
};

static uint64_t field_value(const struct hak_stats *stats, const struct field *field) {
  uint64_t value;
  memcpy(&value, (const char *)stats + field->offset, sizeof value);
  return value;
}

static void put_line(const struct report *report, const struct hak_line *line) {
  report->put(report->to, line->text, line->used);
}

static void put_text(const struct report *report, const char *text) { report->put(report->to, text, hak_strlen(text)); }

static uint64_t in_use_of_arena(const struct hak_stats *stats) {
  return stats->in_use - hak_min(stats->big_live, stats->in_use);
}

/* mallinfo2's arena: bytes that are likely to hold pages, without live big blocks. */
static uint64_t arena_bytes(const struct hak_stats *stats) {
  return hak_max(hak_footprint_arena(), in_use_of_arena(stats)); /* another thread may be between two stores */
}

/* ---- for people ---- */

#define NUMBER_ENDS 42
#define HELP_BEGINS 44

static size_t digits_of(uint64_t value) {
  size_t n = 1;
  for (; value >= 10; value /= 10) n++;
  return n;
}

/* "  name          12345  help" with the number's last digit at NUMBER_ENDS. */
static void report_row(const struct report *report, const char *name, uint64_t value, const char *help) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "  ");
  hak_line_text(&line, name);
  hak_line_pad(&line, NUMBER_ENDS - digits_of(value));
  hak_line_dec(&line, value);
  hak_line_pad(&line, HELP_BEGINS);
  hak_line_text(&line, help);
  hak_line_text(&line, "\n");
  put_line(report, &line);
}

static void put_counter_rows(const struct report *report) {
  for (unsigned n = 0; n < HAK_COUNTERS; n++) {
    enum hak_counter_id id = (enum hak_counter_id)n;
    uint64_t value = hak_counter_value(id);
    if (value != 0) report_row(report, hak_counter_name(id), value, hak_counter_help(id));
  }
}

/* Appends the first complaint that was withheld from stderr. */
static void put_complaint(const struct report *report) {
  const struct hak_line *first = hak_os_first_complaint();
  if (first == NULL) return;
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "  the first of the complaints: ");
  hak_line_text(&line, first->text);
  if (line.used == sizeof line.text - 1) line.text[line.used - 1] = '\n';
  put_line(report, &line);
}

static bool has_default(const struct hak_setting_row *row) {
  if (row->type == HAK_SETTING_path) return *hak_setting_path_cell(row) == NULL;
  return hak_load(hak_setting_cell(row)) == row->initial;
}

static void put_setting(const struct report *report, const struct hak_setting_row *row) {
  char value[HAK_SETTING_PATH_BYTES];
  struct hak_line line;
  if (hak_settings_get(row->name, value, sizeof value) != 0) return;
  hak_line_start(&line);
  hak_line_text(&line, "  ");
  hak_line_text(&line, row->name);
  size_t bytes = hak_strlen(value);
  hak_line_pad(&line, bytes < NUMBER_ENDS ? NUMBER_ENDS - bytes : 0);
  hak_line_foreign(&line, value);
  hak_line_text(&line, "\n");
  put_line(report, &line);
}

static void put_setting_rows(const struct report *report) {
  const struct hak_setting_row *row;
  for (unsigned n = 0; (row = hak_settings_row(n)) != NULL; n++) {
    if (!has_default(row)) put_setting(report, row);
  }
}

void hak_report_text(const struct hak_stats *stats, hak_report_put *put, void *to) {
  struct report report = {stats, put, to};
  put_text(&report, "hakmem " VERSION " memory\n");
  uint64_t held = arena_bytes(stats) + stats->big_live;
  report_row(&report, "held", held, "bytes that are likely to hold pages, as mallinfo2's arena + hblkhd");
  for (size_t n = 0; n < FIELDS; n++) {
    report_row(&report, fields[n].label, field_value(stats, &fields[n]), fields[n].help);
  }
  put_text(&report, "hakmem counters that are not 0 (calls by route: while count_calls is on)\n");
  put_counter_rows(&report);
  put_complaint(&report);
  put_text(&report, "hakmem settings that were changed\n");
  put_setting_rows(&report);
}

/* ---- for programs ---- */

/* Puts an element: `before`, the number, `after`. */
static void put_element(const struct report *report, const char *before, uint64_t value, const char *after) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, before);
  hak_line_dec(&line, value);
  hak_line_text(&line, after);
  put_line(report, &line);
}

static void put_named_element(const struct report *report, const char *before, const char *name, uint64_t value) {
  put_text(report, before);
  put_text(report, name);
  put_element(report, "\" value=\"", value, "\"/>\n");
}

static void put_glibc_elements(const struct report *report) {
  const struct hak_stats *stats = report->stats;
  put_text(report, "<heap nr=\"0\">\n<sizes>\n</sizes>\n");
  put_element(report, "<system type=\"current\" size=\"", arena_bytes(stats), "\"/>\n");
  put_element(report, "<aspace type=\"total\" size=\"", stats->mapped, "\"/>\n</heap>\n");
  uint64_t arena = arena_bytes(stats);
  put_element(report, "<total type=\"rest\" size=\"", arena - in_use_of_arena(stats), "\"/>\n");
  put_element(report, "<total type=\"mmap\" size=\"", stats->big_live, "\"/>\n");
  put_element(report, "<system type=\"current\" size=\"", arena, "\"/>\n");
  put_element(report, "<aspace type=\"total\" size=\"", stats->mapped, "\"/>\n");
}

/* False for a route's counter that is 0 while calls are not counted: a 0 would claim that no call took the route. */
static bool is_counted(enum hak_counter_id id) {
  return id > HAK_COUNTER_free_remote || hak_setting(count_calls) != 0 || hak_counter_value(id) != 0;
}

static void put_counter_elements(const struct report *report) {
  for (unsigned n = 0; n < HAK_COUNTERS; n++) {
    enum hak_counter_id id = (enum hak_counter_id)n;
    if (is_counted(id)) put_named_element(report, "<counter name=\"", hak_counter_name(id), hak_counter_value(id));
  }
}

void hak_report_xml(const struct hak_stats *stats, hak_report_put *put, void *to) {
  struct report report = {stats, put, to};
  put_text(&report, "<malloc version=\"1\">\n");
  put_glibc_elements(&report);
  put_text(&report, "<hakmem version=\"" VERSION "\">\n");
  for (size_t n = 0; n < FIELDS; n++) {
    put_named_element(&report, "<stat name=\"", fields[n].name, field_value(stats, &fields[n]));
  }
  put_counter_elements(&report);
  put_text(&report, "</hakmem>\n</malloc>\n");
}
