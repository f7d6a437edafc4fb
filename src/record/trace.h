/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace.h: every call of the program, written down.
 *
 * what      The setting `trace_file`: each process has a file <stem>.<pid>.<image>, each thread a chunk of it that is
 *           mapped, into which its events go one by one. docs/guide/trace-format.md says what they are.
 *
 *               call -> entry/traced.c -> event -> the thread's tracer -> trace_encode.c -> chunk -> page cache, file
 *                                                      \--site unknown--> trace_modules.c
 *
 *           A fork's child begins a file of its own with its first event; so does a program that is executed.
 * owner     A tracer is its thread's. What a thread does after its exit hook goes to a tracer that all such share.
 * locks     Its own, above those of trace_chunks.h and trace_modules.h, with none of HAKMEM's other locks held.
 * orders    A tracer's: none but a compiler barrier, as a signal handler of the same thread may come in.
 * failure   An event that finds no chunk, or comes from a handler that interrupts the recorder, is lost, and counted.
 *           errno is always left as it was. Who makes a file shorter that is being written ends the program (SIGBUS).
 * not here  Which call is an event: entry/traced.h. The file: trace_chunks.h.
 */
#ifndef HAK_RECORD_TRACE_H
#define HAK_RECORD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/trace_encode.h"

/* Where the program called from, and where its stack ended. */
struct hak_trace_place {
  const void *site, *frame;
};

/* At start: from now on there may be events, whose files begin with this path, which stays where it is. False: it does
 * not begin at the root, which was said on stderr. */
bool hak_trace_allow(const char *stem);

/* The library is loaded, and there may be no event yet, nor a file: what stands in its way is told now. */
void hak_trace_try(void);

/* A sandbox comes, in which no file can be opened: what is needed is had at once. */
void hak_trace_enter_sandbox(void);

/* A block came, NULL where the call failed. `align` is of HAK_TRACE_ALIGNED only. */
void hak_trace_came(enum hak_trace_op op, const void *p, size_t n, size_t align, struct hak_trace_place place);

/* A block goes, and is not given up yet. */
void hak_trace_went(const void *p, struct hak_trace_place place);

/* A block became another one, or the same; NULL where that failed. `began` is when, by hak_trace_now. */
void hak_trace_resized(const void *p, const void *q, size_t n, uint64_t began, struct hak_trace_place place);
uint64_t hak_trace_now(void);

/* The calling thread's exit hook runs. */
void hak_trace_thread_ends(void);

#endif
