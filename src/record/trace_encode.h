/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_encode.h: events as bytes.
 *
 * what      The rows of docs/guide/trace-format.md, of one thread and one record: every number as its difference from
 *           the one before, in as few bytes as it needs.
 *
 *               [operation, slot][site][time][went][came, size][alignment][took]   7 bytes or so
 *
 * owner     The caller owns the encoder and the bytes.
 * hot path  No; but every call of a traced program comes here.
 * not here  The records' heads, and where they lie: trace_chunks.h.
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
  uint32_t depth;      /* of the stack, in units of 16 bytes; 0: not known */
  uint64_t site;       /* the address that the call returns to */
  uint64_t ns, took;   /* not before the previous event */
  uint64_t went, came; /* addresses of blocks, as the operation has them; 0: it failed */
  uint64_t size, align;
};

enum { HAK_TRACE_SLOTS = 31, HAK_TRACE_EVENT_MOST = 80 };

struct hak_trace_encoder {
  uint64_t ns, site;       /* the previous ones */
  uint64_t went, came;     /* in units of 16 bytes */
  uint32_t used, depth[HAK_TRACE_SLOTS]; /* used: a bit per slot */
  uint64_t address[HAK_TRACE_SLOTS];
};

/* A record begins, at `ns`. */
void hak_encode_start(struct hak_trace_encoder *encoder, uint64_t ns);

/* Puts one event at `out`, which has room for HAK_TRACE_EVENT_MOST bytes. How many it took. */
size_t hak_encode(struct hak_trace_encoder *encoder, const struct hak_trace_event *event, uint8_t *out);

#endif
