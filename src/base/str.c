/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* str.c: zero-terminated text.
 *
 * what      See str.h.
 */
#include "base/str.h"

#include <string.h>

#include "base/bytes.h"

/* The empty asm keeps the compiler from replacing the loop by a call of strlen. */
static const char *next(const char *at) {
  __asm__("" : "+r"(at));
  return at + 1;
}

size_t hak_strlen(const char *text) {
  const char *at = text;
  while (*at != '\0') at = next(at);
  return (size_t)(at - text);
}

int hak_strncmp(const char *one, const char *other, size_t bytes) {
  for (size_t n = 0; n < bytes; n++) {
    int difference = (unsigned char)one[n] - (unsigned char)other[n];
    if (difference != 0 || one[n] == '\0') return difference;
  }
  return 0;
}

int hak_strcmp(const char *one, const char *other) { return hak_strncmp(one, other, (size_t)-1); }

char *hak_strcpy(char *to, const char *text) { return memcpy(to, text, hak_strlen(text) + 1); }

char *hak_strcat(char *to, const char *text) {
  hak_strcpy(to + hak_strlen(to), text);
  return to;
}

char *hak_strchr(const char *text, char what) {
  while (*text != what && *text != '\0') text = next(text);
  return *text == what ? (char *)text : NULL;
}

char *hak_strrchr(const char *text, char what) {
  const char *last = NULL;
  for (; *text != '\0'; text = next(text)) last = *text == what ? text : last;
  return (char *)last;
}

char *hak_strstr(const char *text, const char *what) {
  size_t bytes = hak_strlen(what);
  if (bytes == 0) return (char *)text;
  while (*text != '\0' && (*text != *what || hak_strncmp(text, what, bytes) != 0)) text = next(text);
  return *text != '\0' ? (char *)text : NULL;
}

void *hak_memchr(const void *begin, char what, size_t bytes) {
  const char *at = begin, *end = at + bytes;
  while (at != end && *at != what) at = next(at);
  return at != end ? (char *)at : NULL;
}
