/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* json.h: lines of JSON on standard output.
 *
 * failure   None here: the caller asks ferror(stdout) at the end.
 */
#ifndef HAK_TOOLS_JSON_H
#define HAK_TOOLS_JSON_H

#include <stddef.h>
#include <stdint.h>

/* {"kind":"...","process":N */
void hak_json_begin(const char *kind, size_t process);
void hak_json_end(void);

/* ,"name":value */
void hak_json_count(const char *name, uint64_t value);
void hak_json_number(const char *name, double value); /* null if not finite */
void hak_json_text(const char *name, const char *text, size_t size);
/* Arguments, each ended by a zero byte, as a list. */
void hak_json_command(const char *name, const char *text, size_t size);

#endif
