/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_encode.c: events as bytes.
 *
 * what      See trace_encode.h.
 */
#include "record/trace_encode.h"

#include <stdbool.h>

#include "base/bits.h"

enum { NEW_SITE = HAK_TRACE_SLOTS, SLOT_SHIFT = 3, BLOCK_SHIFT = 4 };

void hak_encode_start(struct hak_trace_encoder *encoder, uint64_t ns) {
  encoder->ns = ns;
  encoder->site = encoder->went = encoder->came = 0;
  encoder->used = 0;
}

/* LEB128. */
static uint8_t *encode_number(uint8_t *at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = (uint8_t)(value | 0x80);
  *at++ = (uint8_t)value;
  return at;
}

/* Zigzag code: small differences of either sign become small numbers. */
static uint8_t *put_delta(uint8_t *at, uint64_t value, uint64_t previous) {
  uint64_t x = value - previous;
  return encode_number(at, x << 1 ^ (0 - (x >> 63)));
}

static unsigned slot_of(const struct hak_trace_event *event) {
  return (unsigned)((event->site * 0x9E3779B97F4A7C15u + event->depth) >> 32) % HAK_TRACE_SLOTS;
}

static bool is_remembered(const struct hak_trace_encoder *encoder, unsigned slot, const struct hak_trace_event *event) {
  return (encoder->used >> slot & 1) != 0 && encoder->address[slot] == event->site &&
         encoder->depth[slot] == event->depth;
}

static uint8_t *put_new_site(struct hak_trace_encoder *encoder, uint8_t *at, unsigned slot,
                             const struct hak_trace_event *event) {
  *at++ = (uint8_t)(event->op | NEW_SITE << SLOT_SHIFT);
  at = encode_number(put_delta(at, event->site, encoder->site), event->depth);
  encoder->site = encoder->address[slot] = event->site;
  encoder->depth[slot] = event->depth;
  encoder->used |= (uint32_t)1 << slot;
  return at;
}

/* Writes the first byte, and the site unless a slot remembers the site. */
static uint8_t *encode_site(struct hak_trace_encoder *encoder, uint8_t *at, const struct hak_trace_event *event) {
  unsigned slot = slot_of(event);
  if (!is_remembered(encoder, slot, event)) return put_new_site(encoder, at, slot, event);
  *at = (uint8_t)((unsigned)event->op | slot << SLOT_SHIFT);
  return at + 1;
}

static uint8_t *put_time(struct hak_trace_encoder *encoder, uint8_t *at, uint64_t ns) {
  at = encode_number(at, ns - encoder->ns);
  encoder->ns = ns;
  return at;
}

static uint8_t *put_went(struct hak_trace_encoder *encoder, uint8_t *at, uint64_t block) {
  at = put_delta(at, block >> BLOCK_SHIFT, encoder->went);
  encoder->went = block >> BLOCK_SHIFT;
  return at;
}

/* A failed call's 0 does not become the previous address. */
static uint8_t *put_came(struct hak_trace_encoder *encoder, uint8_t *at, uint64_t block) {
  at = put_delta(at, block >> BLOCK_SHIFT, encoder->came);
  if (block != 0) encoder->came = block >> BLOCK_SHIFT;
  return at;
}

size_t hak_encode(struct hak_trace_encoder *encoder, const struct hak_trace_event *event, uint8_t *out) {
  uint8_t *at = put_time(encoder, encode_site(encoder, out, event), event->ns);
  if (event->op == HAK_TRACE_FREE || event->op == HAK_TRACE_RESIZE) at = put_went(encoder, at, event->went);
  if (event->op != HAK_TRACE_FREE) at = encode_number(put_came(encoder, at, event->came), event->size);
  if (event->op == HAK_TRACE_ALIGNED) at = encode_number(at, event->align == 0 ? 0 : hak_highest_bit(event->align));
  if (event->op == HAK_TRACE_RESIZE) at = encode_number(at, event->took);
  return (size_t)(at - out);
}
