/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_encode.h: events as bytes.
 *
 * what      The rows of docs/guide/trace-format.md, for a single thread and record: each number as its difference from
 *           the previous number, in as few bytes as needed.
 *
 *               [operation, slot][site][time][went][came, size][alignment][took]   7 bytes or so
 *
 * owner     The caller owns the encoder and the bytes.
 * hot path  No; but every call of a traced program is encoded.
 * not here  Heads and places of records: trace_chunks.h.
 */
#ifndef HAK_RECORD_TRACE_ENCODE_H
#define HAK_RECORD_TRACE_ENCODE_H

#include <stddef.h>
#include <stdint.h>

enum hak_trace_op {
  HAK_TRACE_ALLOC = 1,
  HAK_TRACE_ZEROED = 2,
  HAK_TRACE_ALIGNED = 3,
  HAK_TRACE_FREE = 4,
  HAK_TRACE_RESIZE = 5
};

struct hak_trace_event {
  enum hak_trace_op op;
  uint32_t depth;      /* stack depth [16 bytes]; 0: unknown */
  uint64_t site;       /* return address of the call */
  uint64_t ns, took;   /* ns: not before the previous event */
  uint64_t went, came; /* addresses of the freed and the new block, as the operation has; 0: the call failed */
  uint64_t size, align;
};

enum { HAK_TRACE_SLOTS = 31, HAK_TRACE_EVENT_MOST = 80 };

struct hak_trace_encoder {
  uint64_t ns, site;       /* of the previous event */
  uint64_t went, came;     /* previous addresses [16 bytes] */
  uint32_t used, depth[HAK_TRACE_SLOTS]; /* used: a bit per slot */
  uint64_t address[HAK_TRACE_SLOTS];
};

/* Begins a record at time `ns`. */
void hak_encode_start(struct hak_trace_encoder *encoder, uint64_t ns);

/* Writes one event to `out`, which has room for HAK_TRACE_EVENT_MOST bytes, and returns the bytes written. */
size_t hak_encode(struct hak_trace_encoder *encoder, const struct hak_trace_event *event, uint8_t *out);

#endif
