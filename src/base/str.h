/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* str.h: zero-terminated text.
 *
 * what      The functions of libc of these names without hak_. libc's are found by name, and a program may define the
 *           names with a different meaning.
 * owner     Pure functions of the caller's text.
 * not here  Copying, filling and comparing memory: bytes.h. Building lines: fmt.h.
 */
#ifndef HAK_BASE_STR_H
#define HAK_BASE_STR_H

#include <stddef.h>

size_t hak_strlen(const char *text);
int hak_strcmp(const char *one, const char *other);
int hak_strncmp(const char *one, const char *other, size_t bytes);
char *hak_strcpy(char *to, const char *text);
char *hak_strcat(char *to, const char *text);

/* Each of the four returns the place found, or NULL. */
char *hak_strchr(const char *text, char what);
char *hak_strrchr(const char *text, char what);
char *hak_strstr(const char *text, const char *what);
void *hak_memchr(const void *begin, char what, size_t bytes);

#endif
