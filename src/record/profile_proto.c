/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_proto.c: messages of protocol buffers, encoded.
 *
 * what      See profile_proto.h.
 */
#include "record/profile_proto.h"

#include <string.h>

#include "base/bytes.h"

enum { NUMBER = 0, BYTES = 2, VARINT_MOST = 10 };

void hak_proto_varint(struct hak_proto *message, uint64_t value) {
  if (message->used + VARINT_MOST > HAK_PROTO_BYTES) {
    message->full = true;
    return;
  }
  for (; value >= 0x80; value >>= 7) message->bytes[message->used++] = (uint8_t)(value | 0x80);
  message->bytes[message->used++] = (uint8_t)value;
}

void hak_proto_number(struct hak_proto *message, unsigned field, uint64_t value) {
  hak_proto_varint(message, (uint64_t)field << 3 | NUMBER);
  hak_proto_varint(message, value);
}

void hak_proto_bytes(struct hak_proto *message, unsigned field, const void *bytes, size_t n) {
  size_t before = message->used;
  hak_proto_varint(message, (uint64_t)field << 3 | BYTES);
  hak_proto_varint(message, n);
  if (message->full || n > HAK_PROTO_BYTES - message->used) {
    message->full = true;
    message->used = before;
    return;
  }
  memcpy(message->bytes + message->used, bytes, n);
  message->used += n;
}

void hak_proto_message(struct hak_proto *message, unsigned field, const struct hak_proto *inner) {
  hak_proto_bytes(message, field, inner->bytes, inner->used);
}
