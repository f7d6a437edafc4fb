/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_chunks.h: the file of one process, in pieces of 64 KiB.
 *
 * what      Records lie in chunks, each at a multiple of 8 bytes; behind the last one a chunk is zero. A thread has one
 *           chunk at a time, and what one leaves over goes to the next that asks. The first begins with the process
 *           record, whose head stays mapped.
 *
 *               <stem>.<pid>.<image>:  | process | modules | events ..... | events ......... | events .. modules ... |
 *                                      0                                 64 KiB             128 KiB
 *
 *           All that is written is in the page cache at once: whatever ends the process, it is the file's.
 * owner     g_chunks (in trace_chunks.c); a chunk is its holder's.
 * locks     Its own, which is taken with no other held but trace.c's; only the kernel is called with it held.
 * orders    A record's head is complete before its magic is there, its bytes before its sizes say so: both release. No
 *           chunk is unmapped while anything says that it is there: a fork's child unmaps what it finds.
 * failure   No chunk. A full disk is asked again after a while.
 * not here  Events: trace_encode.h. Who writes: trace.h.
 */
#ifndef HAK_RECORD_TRACE_CHUNKS_H
#define HAK_RECORD_TRACE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAK_CHUNK_BYTES = 64 << 10 };

enum hak_trace_kind { HAK_TRACE_PROCESS = 1, HAK_TRACE_MODULES = 2, HAK_TRACE_EVENTS = 3 };

struct hak_trace_head {
  uint32_t magic; /* "HAKT" */
  uint16_t version, kind;
  uint64_t sizes; /* used bytes, events << 32: stored at once */
  uint32_t pid, image, thread, parent;
  uint64_t ns, lost, serial, reserved;
};

/* Bytes of records from the beginning of a chunk; base NULL: none. */
struct hak_chunk {
  char *base;
  size_t used;
};

/* Makes the file of this process and its process record. `parent` is the pid that forked it, or 0. False: there can be
 * none, which was said on stderr. */
bool hak_chunks_begin(const char *stem, uint32_t parent);

/* Could the file be made? What stands in its way is said on stderr. Before it is. */
void hak_chunks_try(const char *stem);

/* In a fork's child: the parent's are unmapped, those that nobody holds. */
void hak_chunks_forget(void);

uint32_t hak_chunks_pid(void);

/* A sandbox comes: some chunks are had at once, and no others after them. */
void hak_chunks_reserve(void);

/* A chunk with room for a head and `bytes` more. False: none is to be had. */
bool hak_chunks_take(struct hak_chunk *out, size_t bytes, uint64_t now);

/* The holder needs it no more. */
void hak_chunks_put(struct hak_chunk *chunk);

/* Unmaps it, in a fork's child that inherited it. */
void hak_chunks_drop(struct hak_chunk *chunk);

/* Begins a record in the chunk, which has room for it. Its payload lies behind the head. */
struct hak_trace_head *hak_chunks_record(struct hak_chunk *chunk, const struct hak_trace_head *with);

/* The record has so much now. What is mapped is not read: how much it had is known by who writes. */
void hak_chunks_grow(struct hak_trace_head *head, size_t used, uint32_t events);

/* One event more, of so many bytes, goes to the end of the record. Twice is the same as once: a fork's child that began
 * it before the fork, and goes on, changes nothing that the parent has written since. */
void hak_chunks_append(struct hak_trace_head *head, const uint8_t *event, size_t bytes, uint64_t sizes);

/* The record is done, and has so many bytes: the chunk has room behind it. */
void hak_chunks_close(struct hak_chunk *chunk, size_t used);

/* So many events are lost, or found a record after all; in the process record. */
void hak_chunks_lose(uint64_t events);
void hak_chunks_find(uint64_t events);

#endif
