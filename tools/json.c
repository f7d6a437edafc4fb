/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* json.c: lines of JSON; see json.h. */
#include "json.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A byte beyond ASCII is written as the character of that number, as the text's encoding is unknown. */
static void put_letter(unsigned char c)
{
  if (c == '"' || c == '\\') {
    printf("\\%c", c);
  } else if (c < 0x20 || c >= 0x7f) {
    printf("\\u%04x", c);
  } else {
    putchar(c);
  }
}

static void put_quoted(const char *text, size_t size)
{
  putchar('"');
  for (size_t i = 0; i < size; i++) put_letter((unsigned char)text[i]);
  putchar('"');
}

void hak_json_text(const char *name, const char *text, size_t size)
{
  printf(",\"%s\":", name);
  put_quoted(text, size);
}

void hak_json_command(const char *name, const char *text, size_t size)
{
  printf(",\"%s\":[", name);
  for (size_t at = 0; at < size;) {
    size_t length = strnlen(text + at, size - at);
    if (at > 0) putchar(',');
    put_quoted(text + at, length);
    at += length + 1;
  }
  putchar(']');
}

void hak_json_number(const char *name, double value)
{
  if (isfinite(value)) {
    printf(",\"%s\":%.12g", name, value);
  } else {
    printf(",\"%s\":null", name);
  }
}

void hak_json_count(const char *name, uint64_t value)
{
  printf(",\"%s\":%" PRIu64, name, value);
}

void hak_json_begin(const char *kind, size_t process)
{
  printf("{\"kind\":\"%s\",\"process\":%zu", kind, process);
}

void hak_json_end(void)
{
  puts("}");
}
