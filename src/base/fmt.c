/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fmt.c: text without malloc, stdio or locale.
 *
 * what      Appends to a struct hak_line; see fmt.h for the drawing.
 * owner     The caller.
 * locks     None. Signal-safe.
 * failure   Text beyond the end is dropped.
 * not here  Writing the line out.
 */
#include "base/fmt.h"

#include "base/bytes.h"

void hak_line_start(struct hak_line *line) {
  line->used = 0;
  line->text[0] = '\0';
}

static void append_char(struct hak_line *line, char c) {
  if (line->used + 1 >= sizeof line->text) return;
  line->text[line->used++] = c;
  line->text[line->used] = '\0';
}

void hak_line_text(struct hak_line *line, const char *text) {
  for (; *text != '\0'; text++) append_char(line, *text);
}

void hak_line_foreign(struct hak_line *line, const char *text) { hak_line_clipped(line, text, sizeof line->text); }

void hak_line_clipped(struct hak_line *line, const char *text, size_t most) {
  size_t n = 0;
  for (; n < most && text[n] != '\0'; n++) append_char(line, text[n] >= ' ' && text[n] <= '~' ? text[n] : '?');
  if (text[n] != '\0') hak_line_text(line, "...");
}

static void digits(struct hak_line *line, uint64_t value, unsigned radix) {
  char reversed[20];
  size_t n = 0;
  do {
    reversed[n++] = "0123456789abcdef"[value % radix];
    value /= radix;
  } while (value != 0);
  while (n > 0) append_char(line, reversed[--n]);
}

void hak_line_dec(struct hak_line *line, uint64_t value) { digits(line, value, 10); }

void hak_line_hex(struct hak_line *line, uint64_t value) {
  hak_line_text(line, "0x");
  digits(line, value, 16);
}

void hak_line_pad(struct hak_line *line, size_t column) {
  do {
    append_char(line, ' ');
  } while (line->used < column);
}

void hak_line_hex_bytes(struct hak_line *line, const uint8_t *bytes, size_t n) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    const char pair[] = {digits[bytes[i] >> 4], digits[bytes[i] & 15], '\0'};
    hak_line_text(line, pair);
  }
}
