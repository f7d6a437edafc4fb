/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_places.h: lines of an interpreted program, as frames of stacks.
 *
 * what      A frame of a stack is a return address, or a place: function, file and line of a program that an
 *           interpreter runs. The texts are copied, as the interpreter may free its own at any time. Equal places are
 *           one record.
 *
 *               frame, bit 63 clear   a return address
 *               frame, bit 63 set     the rest is the address of a struct hak_place
 *
 * owner     g_places. A place is never removed: 65,536 at most, in 8 MiB at most.
 * locks     g_samples.lock to add one; none to find one. Texts of the program are read without a lock.
 * orders    A place is complete before it can be found.
 * failure   0: no room, and the frame is left out.
 * not here  Which places: python_frames.h.
 */
#ifndef HAK_RECORD_PROFILE_PLACES_H
#define HAK_RECORD_PROFILE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"

#define HAK_PLACE_FRAME ((uint64_t)1 << 63)

struct hak_place {
  struct hak_place *next; /* next place with the same hash slot */
  uint64_t hash;
  uint32_t line; /* 0: unknown */
  uint16_t name_bytes, file_bytes;
  char text[]; /* the function's name, 0, the file, 0; UTF-8 */
};

enum { HAK_PLACE_ASCII = 0 };

/* A text of the program: `length` characters of `width` bytes each (1, 2 or 4; HAK_PLACE_ASCII: 1), readable. */
struct hak_place_text {
  const void *data;
  uint32_t length, width;
};

HAK_INLINE bool hak_frame_is_place(uint64_t frame) { return (frame & HAK_PLACE_FRAME) != 0; }

HAK_INLINE const struct hak_place *hak_place_at(uint64_t frame) {
  return (const struct hak_place *)(uintptr_t)(frame & ~HAK_PLACE_FRAME);
}

HAK_INLINE uint64_t hak_place_frame(const struct hak_place *place) { return (uintptr_t)place | HAK_PLACE_FRAME; }

/* The frame of this place, new or old. Of a long name the end is left out, of a long file the begin. Lock: none
 * held. */
uint64_t hak_place_find(struct hak_place_text name, struct hak_place_text file, uint32_t line);

/* A hash of the text's bytes, which goes on from `hash`. */
uint64_t hak_place_hash(uint64_t hash, const struct hak_place_text *text);

/* The frame that was learnt last for this key, a hash of all that its place is made of; 0: none. Neither takes a
 * lock. */
uint64_t hak_place_known(uint64_t key);
void hak_place_learn(uint64_t key, uint64_t frame);

/* Calls `visit` for each place. Lock: g_samples.lock held. */
void hak_places_visit(void (*visit)(const struct hak_place *place));

#endif
