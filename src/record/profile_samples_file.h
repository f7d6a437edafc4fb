/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profile_samples_file.h: the table of samples once more, in a file that outlives the process.
 *
 * what      "<path>.<pid>", mapped shared: what was stored there is there, whatever ends the process. In chunks of
 *           64 KiB, each of one kind, told by its first 8 bytes:
 *
 *               "HAKPRO01" | sizes, pid, mean, counts ...      512 | image | image | ... |
 *               "HAKPRROW" |                                    64 | row | row | ... |
 *               "HAKPRSTK" |                                    64 | stack | stack | ... |
 *               "HAKPRIMG" |                                    64 | image | image | ... |
 *
 *               row    address | bytes | asked | weight | number of its stack
 *               stack  depth u32 | number u32 | taken: blocks, bytes, asked | depth addresses, innermost first
 *               head   after the counts: ended | chunks | program 64 | bytes in use at exit, counted; 0: not known
 *               image  end | first | offset | number of the first stack after it | sizes u32 of id, path | id 32 | path
 *
 *           Numbers have 8 bytes where nothing is said; taken and weight are floating. A chunk ends where a stack's
 *           depth or an image's end is 0; a row whose address is 0 is none.
 * owner     g_table_file (in profile_samples_file.c). The file of a fork's child is its own, made from its table when
 *           that is first used; a program that the process executes replaces what is there.
 * locks     The table's, at all calls but start and finish.
 * orders    An address, a depth and an end are stored last, an address is taken away first: at each instant the file
 *           can be read. A child that a signal handler forks amidst a store does it once more: what is needed for going
 *           on lies elsewhere.
 * failure   One line on stderr. A file that cannot grow keeps what it has; what finds no room is counted as lost.
 * not here  Reading: the Python package, kept.py.
 */
#ifndef HAK_RECORD_PROFILE_SAMPLES_FILE_H
#define HAK_RECORD_PROFILE_SAMPLES_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct hak_sample;
struct hak_backtrace;

/* At start, before there are samples. The path stays. */
void hak_samples_file_start(const char *path);

/* A sandbox comes: some room is had at once, and none after it. */
void hak_samples_file_finish(void);

/* The program called exit, and has so many bytes in use; 0: not known. */
void hak_samples_file_end(uint64_t in_use);

/* A fork's child has no file yet: it is to be begun, and all be entered anew. */
bool hak_samples_file_is_due(void);
void hak_samples_file_begin(void);

/* A stack is new; its sums have changed. */
void hak_samples_file_add(struct hak_backtrace *stack);
void hak_samples_file_count(const struct hak_backtrace *stack);

/* A row is new, and goes. */
void hak_samples_file_enter(struct hak_sample *row);
void hak_samples_file_drop(const struct hak_sample *row);

/* The table had no room for a sample. */
void hak_samples_file_lose(void);

#endif
