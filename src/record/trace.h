/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace.h: a trace of every call of the program.
 *
 * what      The setting `trace_file`: each process has a file <stem>.<pid>.<image>, each thread a mapped chunk of the
 *           file, to which the thread appends its events. docs/guide/trace-format.md describes the events.
 *
 *               call -> entry/traced.c -> event -> the thread's tracer -> trace_encode.c -> chunk -> page cache, file
 *                                                      \--site unknown--> trace_modules.c
 *
 *           A fork's child begins a file of its own with its first event; so does an executed program.
 * owner     A tracer is its thread's. All threads whose exit hook ran share a further tracer.
 * locks     g_trace.lock and g_late.lock (in trace.c), each taken before the locks of trace_modules.h and
 *           trace_chunks.h, while the thread holds no further lock of HAKMEM.
 * orders    A tracer's: compiler barriers only, as a signal handler of the same thread may interrupt.
 * failure   An event without a chunk, or from a handler that interrupts the recorder, is lost, and counted. errno is
 *           unchanged. Truncating the file while the program writes ends the program (SIGBUS).
 * not here  Which call is an event: entry/traced.h. The file: trace_chunks.h.
 */
#ifndef HAK_RECORD_TRACE_H
#define HAK_RECORD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/trace_encode.h"

/* site: return address of the program's call; frame: the program's frame at the call. */
struct hak_trace_place {
  const void *site, *frame;
};

/* Call at start: allows events from now on, in files whose names begin with `stem`, which must stay valid. False, after
 * one line on stderr: the path does not begin at the root. */
bool hak_trace_allow(const char *stem);

/* Call when the library is loaded, before events and before there is a file: reports on stderr if no file can be
 * made. */
void hak_trace_try(void);

/* Call before the program enters a sandbox, which may forbid opening files: takes further chunks now. */
void hak_trace_enter_sandbox(void);

/* Records a new block; p NULL: the call failed. `align` is used by HAK_TRACE_ALIGNED only. */
void hak_trace_came(enum hak_trace_op op, const void *p, size_t n, size_t align, struct hak_trace_place place);

/* Records a free of p; call before the block is given up. */
void hak_trace_went(const void *p, struct hak_trace_place place);

/* Records a realloc from p to q, which may be equal; q NULL: the call failed. `began`: hak_trace_now at its start. */
void hak_trace_resized(const void *p, const void *q, size_t n, uint64_t began, struct hak_trace_place place);
uint64_t hak_trace_now(void);

/* Closes the calling thread's record; called by its exit hook. */
void hak_trace_thread_ends(void);

#endif
