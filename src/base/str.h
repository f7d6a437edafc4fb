/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* str.h: text that ends with a zero.
 *
 * what      What libc's functions of these names do (without hak_). Those are reached by name, and a program may have
 *           functions of these names of its own, of another meaning.
 * owner     Pure functions of the caller's text.
 * not here  Memory that is copied, filled and compared: bytes.h. Lines that are put together: fmt.h.
 */
#ifndef HAK_BASE_STR_H
#define HAK_BASE_STR_H

#include <stddef.h>

size_t hak_strlen(const char *text);
int hak_strcmp(const char *one, const char *other);
int hak_strncmp(const char *one, const char *other, size_t bytes);
char *hak_strcpy(char *to, const char *text);
char *hak_strcat(char *to, const char *text);

/* Where it is, or NULL. */
char *hak_strchr(const char *text, char what);
char *hak_strrchr(const char *text, char what);
char *hak_strstr(const char *text, const char *what);
void *hak_memchr(const void *begin, char what, size_t bytes);

#endif
