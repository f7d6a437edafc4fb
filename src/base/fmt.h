/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fmt.h: text without malloc, stdio or locale.
 *
 * what      A line of bounded length to which words, numbers and pointers are appended.
 *
 *               struct hak_line:  [ h a k m e m :   ... | used ........ free ....... ]
 *
 * owner     The caller, on the stack.
 * locks     None. Signal-safe.
 * failure   Text beyond the end is dropped.
 * not here  Writing the line out: os/die.h and os/os.h.
 */
#ifndef HAK_BASE_FMT_H
#define HAK_BASE_FMT_H

#include <stddef.h>
#include <stdint.h>

struct hak_line {
  size_t used;
  char text[400];
};

void hak_line_start(struct hak_line *line);
void hak_line_text(struct hak_line *line, const char *text);
/* Appends text from outside of HAKMEM: a name, a path, a setting's value. A byte that could steer a terminal or end the
 * line becomes `?`. */
void hak_line_foreign(struct hak_line *line, const char *text);
/* The same for at most `most` bytes, then "...". */
void hak_line_clipped(struct hak_line *line, const char *text, size_t most);
void hak_line_dec(struct hak_line *line, uint64_t value);
/* Appends 0x... */
void hak_line_hex(struct hak_line *line, uint64_t value);
/* Appends two hexadecimal digits for each byte. */
void hak_line_hex_bytes(struct hak_line *line, const uint8_t *bytes, size_t n);
/* Appends blanks up to the column `column`, at least one blank. */
void hak_line_pad(struct hak_line *line, size_t column);

#endif
