/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_proto.h: messages of protocol buffers, encoded.
 *
 * what      The two kinds of the wire format that profiles use, appended to the caller's buffer:
 *
 *               number   [ field << 3 | 0 ][ base 128, low bits first ]           08 96 01          field 1 = 150
 *               bytes    [ field << 3 | 2 ][ length ][ text, or a message ]       12 02 68 69       field 2 = "hi"
 *
 * owner     The caller's buffer.
 * locks     None. Signal-safe.
 * failure   A field that does not fit is left out, and `full` is set.
 * not here  Which fields: profile_write.c.
 */
#ifndef HAK_RECORD_PROFILE_PROTO_H
#define HAK_RECORD_PROFILE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAK_PROTO_BYTES = 2048 };

struct hak_proto {
  size_t used;
  bool full; /* some field did not fit */
  uint8_t bytes[HAK_PROTO_BYTES];
};

static inline void hak_proto_start(struct hak_proto *message) {
  message->used = 0;
  message->full = false;
}

/* Appends a number without its field, as repeated numbers are packed. */
void hak_proto_varint(struct hak_proto *message, uint64_t value);

void hak_proto_number(struct hak_proto *message, unsigned field, uint64_t value);
void hak_proto_bytes(struct hak_proto *message, unsigned field, const void *bytes, size_t n);
void hak_proto_message(struct hak_proto *message, unsigned field, const struct hak_proto *inner);

#endif
