/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_chunks.h: the file of one process, in chunks of 64 KiB.
 *
 * what      Records lie in chunks, each at a multiple of 8 bytes; the rest of a chunk is zero. A thread has a single
 *           chunk at a time; a partly used chunk goes to the next taker. The first chunk begins with the process
 *           record, whose head stays mapped.
 *
 *               <stem>.<pid>.<image>:  | process | modules | events ..... | events ......... | events .. modules ... |
 *                                      0                                 64 KiB             128 KiB
 *
 *           All written bytes are in the page cache at once, so the file has the bytes however the process ends.
 * owner     g_chunks (in trace_chunks.c); a chunk is its holder's.
 * locks     g_chunks.lock, taken while at most locks of trace.c and trace_modules.c are held; with the lock held only
 *           the kernel is called.
 * orders    A record's head is complete before its magic is stored, its bytes before its sizes: both release. The last
 *           reference to a chunk is cleared before the chunk is unmapped, as a fork's child unmaps all referenced
 *           chunks.
 * failure   No chunk. After a full disk, later calls try again.
 * not here  Events: trace_encode.h. The writer: trace.h.
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
  uint64_t sizes; /* used bytes | events << 32, in a single store */
  uint32_t pid, image, thread, parent;
  uint64_t ns, lost, serial, reserved;
};

/* `used` bytes of records lie at the beginning of the chunk; base NULL: no chunk. */
struct hak_chunk {
  char *base;
  size_t used;
};

/* Makes the file of this process and its process record. `parent`: the pid of the process that forked this process, or
 * 0. False, after one line on stderr: no file can be made. */
bool hak_chunks_begin(const char *stem, uint32_t parent);

/* Reports on stderr if the file cannot be made; leaves no file. Call before hak_chunks_begin. */
void hak_chunks_try(const char *stem);

/* In a fork's child: unmaps the parent's chunks that have no holder. */
void hak_chunks_forget(void);

uint32_t hak_chunks_pid(void);

/* Call before the program enters a sandbox: takes some chunks now, and none afterwards. */
void hak_chunks_reserve(void);

/* Takes a chunk with room for a head and `bytes` more. False: no chunk. */
bool hak_chunks_take(struct hak_chunk *out, size_t bytes, uint64_t now);

/* Puts a chunk back for the next taker, or unmaps the chunk if little room is left. */
void hak_chunks_put(struct hak_chunk *chunk);

/* Unmaps a chunk that a fork's child inherited. */
void hak_chunks_drop(struct hak_chunk *chunk);

/* Begins a record in a chunk with enough room, and returns the record's head. The payload lies behind the head. */
struct hak_trace_head *hak_chunks_record(struct hak_chunk *chunk, const struct hak_trace_head *with);

/* Stores the record's new sizes. The writer keeps the old sizes in its own memory: mapped memory is never read. */
void hak_chunks_grow(struct hak_trace_head *head, size_t used, uint32_t events);

/* Appends an event of `bytes` bytes to a record of the given sizes. Idempotent: a fork's child that repeats an append
 * begun before the fork changes nothing that the parent has written since. */
void hak_chunks_append(struct hak_trace_head *head, const uint8_t *event, size_t bytes, uint64_t sizes);

/* Ends a record of `used` bytes: the next record begins behind this record. */
void hak_chunks_close(struct hak_chunk *chunk, size_t used);

/* lose: counts lost events in the process record. find: takes back lost events that a record of events counts from now
 * on. */
void hak_chunks_lose(uint64_t events);
void hak_chunks_find(uint64_t events);

#endif
