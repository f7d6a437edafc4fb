/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bytes.c: memory copied, filled and compared.
 *
 * what      See bytes.h. Lines of 64 bytes, then pieces of 16; the last piece overlaps the piece before.
 * not here  Speed beyond some KiB: the library copies no such sizes, and libc copies the program's blocks.
 */
#include "base/bytes.h"

#include <stdint.h>

/* Words of any alignment and any contents. */
typedef uint8_t sixteen __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t eight __attribute__((aligned(1), may_alias));
typedef uint32_t four __attribute__((aligned(1), may_alias));
typedef uint16_t two __attribute__((aligned(1), may_alias));

enum { PIECE = 16, LINE = 4 * PIECE };

/* Moves fewer than 16 bytes. Reads all bytes before the first write: the areas may overlap. */
#define MOVE_ENDS(type, to, from, n)                                          \
  do {                                                                        \
    type first = *(const type *)(from);                                       \
    type last = *(const type *)((from) + (n) - sizeof(type));                 \
    *(type *)(to) = first;                                                    \
    *(type *)((to) + (n) - sizeof(type)) = last;                              \
  } while (0)

static void move_few(char *to, const char *from, size_t n) {
  if (n >= sizeof(eight)) MOVE_ENDS(eight, to, from, n);
  else if (n >= sizeof(four)) MOVE_ENDS(four, to, from, n);
  else if (n >= sizeof(two)) MOVE_ENDS(two, to, from, n);
  else if (n != 0) *to = *from;
}

static void fill_few(char *to, uint64_t byte, size_t n) {
  char *last = to + n;
  uint64_t all = byte * 0x0101010101010101u;
  if (n >= sizeof(eight)) *(eight *)to = *(eight *)(last - sizeof(eight)) = all;
  else if (n >= sizeof(four)) *(four *)to = *(four *)(last - sizeof(four)) = (uint32_t)all;
  else if (n >= sizeof(two)) *(two *)to = *(two *)(last - sizeof(two)) = (uint16_t)all;
  else if (n != 0) *to = (char)byte;
}

static inline sixteen piece(const char *at) { return *(const sixteen *)at; }

/* The barrier keeps the compiler from replacing a loop of these by a call of memcpy or memset, here a call of the
 * calling function. */
static inline void put_sixteen(char *at, sixteen value) {
  *(sixteen *)at = value;
  __asm__ volatile("" ::: "memory");
}

static inline void move_line(char *to, const char *from) {
  sixteen a = piece(from), b = piece(from + PIECE), c = piece(from + 2 * PIECE), d = piece(from + 3 * PIECE);
  put_sixteen(to, a);
  put_sixteen(to + PIECE, b);
  put_sixteen(to + 2 * PIECE, c);
  put_sixteen(to + 3 * PIECE, d);
}

/* Moves n >= 16 bytes from the front: areas without overlap, or the source above the target. */
static void move_up(char *to, const char *from, size_t n) {
  size_t at = 0;
  sixteen last = piece(from + n - PIECE);
  for (; at + LINE <= n; at += LINE) move_line(to + at, from + at);
  for (; at + PIECE <= n; at += PIECE) put_sixteen(to + at, piece(from + at));
  put_sixteen(to + n - PIECE, last);
}

/* Moves n >= 16 bytes from the end: the source below the target. */
static void move_down(char *to, const char *from, size_t n) {
  sixteen first = piece(from);
  for (; n >= LINE; n -= LINE) move_line(to + n - LINE, from + n - LINE);
  for (; n >= PIECE; n -= PIECE) put_sixteen(to + n - PIECE, piece(from + n - PIECE));
  put_sixteen(to, first);
}

/* Also memcpy, by the same symbol: a separate memcpy would save less time than the space is worth. */
void *memmove(void *to, const void *from, size_t n) {
  if (n < PIECE) move_few(to, from, n);
  else if ((uintptr_t)to - (uintptr_t)from >= n) move_up(to, from, n);
  else move_down(to, from, n);
  return to;
}

void *memset(void *to, int value, size_t n) {
  char *at = to, *end = at + n;
  sixteen all = (sixteen){0} + (uint8_t)value;
  if (n < PIECE) return fill_few(to, (uint8_t)value, n), to;
  for (; end - at >= LINE; at += LINE) {
    put_sixteen(at, all);
    put_sixteen(at + PIECE, all);
    put_sixteen(at + 2 * PIECE, all);
    put_sixteen(at + 3 * PIECE, all);
  }
  for (; end - at >= PIECE; at += PIECE) put_sixteen(at, all);
  put_sixteen(end - PIECE, all);
  return to;
}

int memcmp(const void *one, const void *other, size_t n) {
  const unsigned char *a = one, *b = other;
  size_t at = 0;
  while (n - at >= sizeof(eight) && *(const eight *)(a + at) == *(const eight *)(b + at)) at += sizeof(eight);
  while (at < n && a[at] == b[at]) at++;
  return at == n ? 0 : a[at] - b[at];
}
