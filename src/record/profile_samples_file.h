/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_samples_file.h: a copy of the table of samples in a file that outlives the process.
 *
 * what      "<path>.<pid>", mapped shared: the file keeps all stores, however the process ends. Chunks of 64 KiB,
 *           each of a single kind, which the first 8 bytes give:
 *
 *               "HAKPRO03" | sizes, pid, mean, counts ...      512 | image | image | ... |
 *               "HAKPRROW" |                                    64 | row | row | ... |
 *               "HAKPRSTK" |                                    64 | stack | stack | ... |
 *               "HAKPRIMG" |                                    64 | image | image | ... |
 *               "HAKPRPLC" |                                    64 | place | place | ... |
 *
 *               row    address | bytes | asked | weight | number of its stack
 *               stack  depth u32 | number u32 | taken: blocks, bytes, asked | at the peak: blocks, bytes, samples,
 *                      their bytes, variance, number of the peak | brief: blocks, bytes | depth addresses,
 *                      innermost first
 *               head   after the counts: ended | chunks | program 64 | bytes in use at exit, counted; 0: unknown |
 *                      the last peak: number, bytes in use, counted, ns after the first sample | ns from the first
 *                      sample to the last | 1: sampled from the first block on | sampled blocks live at exit, when
 *                      bytes in use were counted
 *               place  frame | line u32 | sizes u16 of name, file | name | file
 *               image  end | first | offset | number of the first stack after it | sizes u32 of id, path | id 32 | path
 *
 *           Numbers without a size have 8 bytes; sums, variance and weight are floating-point. A chunk's records end
 *           where a stack's depth, an image's end or a place's frame is 0; a row with address 0 is free. A stack whose
 *           peak has another number than the head's has not changed since the last peak: its rows are what was live.
 * owner     g_table_file (in profile_samples_file.c). A fork's child makes a file of its own from its table when the
 *           child first uses the table. A program that the process executes replaces the file.
 * locks     Lock: g_samples.lock held in all calls but start and finish.
 * orders    An address, a depth and an end are stored last, an address is cleared first: the file is readable at each
 *           instant. A stack's sums at the peak are stored before a row changes, their number last. A signal handler
 *           may fork in the middle of a store: the child then completes the same store once more. All state that later
 *           stores need lies outside the file.
 * failure   One line on stderr. A file that cannot grow keeps its records; records without room count as lost.
 * not here  Reading: the Python package in cli/.
 */
#ifndef HAK_RECORD_PROFILE_SAMPLES_FILE_H
#define HAK_RECORD_PROFILE_SAMPLES_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct hak_place;
struct hak_sample;
struct hak_samples_peak;
struct hak_backtrace;

/* Makes the file. Call at start, before there are samples. `path` must stay valid. */
void hak_samples_file_start(const char *path);

/* Call before the program enters a sandbox: takes some chunks now, and none afterwards. */
void hak_samples_file_finish(void);

/* Call at exit: marks the file as ended, with the bytes in use; 0: unknown. */
void hak_samples_file_end(uint64_t in_use);

/* True in a fork's child without a file yet: then call begin, and add all stacks and rows again. */
bool hak_samples_file_is_due(void);
void hak_samples_file_begin(void);

/* Adds a new place, before the stacks that have it as a frame. */
void hak_samples_file_place(const struct hak_place *place);

/* Adds a new stack; stores a stack's changed sums, now_ns: by the monotonic clock; stores its brief blocks; stores its
 * sums at the peak. */
void hak_samples_file_add(struct hak_backtrace *stack);
void hak_samples_file_count(const struct hak_backtrace *stack, uint64_t now_ns);
void hak_samples_file_brief(const struct hak_backtrace *stack);
void hak_samples_file_settle(const struct hak_backtrace *stack);

/* Stores a new peak. */
void hak_samples_file_peak(const struct hak_samples_peak *peak);

/* Adds a new row; removes a row. */
void hak_samples_file_enter(struct hak_sample *row);
void hak_samples_file_drop(const struct hak_sample *row);

/* Stores that blocks are missing in the table. Needs no lock. */
void hak_samples_file_miss(void);

/* Counts a sample that found no room in the table. */
void hak_samples_file_lose(void);

#endif
