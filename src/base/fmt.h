/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* fmt.h: text without malloc, stdio or locale.
 *
 * what      A line of bounded length that words, numbers and pointers are appended to; what does not fit is cut.
 *
 *               struct hak_line:  [ h a k m e m :   ... | used ........ free ....... ]
 *
 * owner     The caller, on its stack.
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
/* What is not HAKMEM's own: a name, a path, a setting's value. Bytes that could steer a terminal or end the line are
 * shown as `?`. */
void hak_line_foreign(struct hak_line *line, const char *text);
/* Of it so many bytes at most, then "...". */
void hak_line_clipped(struct hak_line *line, const char *text, size_t most);
void hak_line_dec(struct hak_line *line, uint64_t value);
/* As 0x... */
void hak_line_hex(struct hak_line *line, uint64_t value);
/* Blanks up to the given column, at least one. */
void hak_line_pad(struct hak_line *line, size_t column);

#endif
