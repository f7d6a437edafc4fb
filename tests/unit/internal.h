/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* internal.h: internals of modules, to read and to damage in tests.
 *
 * what      Each <module>_internal.c includes the module's source and takes the module's place in the program, and adds
 *           a predicate of validity, the lock, and a way to damage everything that can be rebuilt.
 * owner     The tests.
 * locks     hak_inside_vanish leaves the lock with a holder that a fork lost.
 * failure   A predicate names the error; NULL: valid.
 * not here  Tests.
 */
#ifndef HAK_TEST_INSIDE_H
#define HAK_TEST_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/fork.h"
#include "os/lock.h"

/* As if a fork had lost the thread that holds this lock, and the calling thread had called fork. */
static inline void hak_inside_vanish(struct hak_lock *lock) {
  g_fork.survivor_number = hak_lock_mine();
  g_fork.numbers += 4;
  lock->word = g_fork.least = g_fork.numbers;
  g_fork.least++;
  g_fork.generation++;
  g_fork.survivor = hak_self_token();
}

struct hak_lock *hak_inside_meta_lock(void);
/* Moves the cursor a little behind a page's begin, and the chunk's end, which is returned, to so many bytes behind. */
uintptr_t hak_inside_meta_end_soon(size_t bytes);

/* Called at each full fence of a module that includes fences.h, unless NULL. */
extern void (*hak_inside_at_fence)(void);

const char *hak_inside_span_wrong(void);
const char *hak_inside_pages_wrong(void);
void hak_inside_pages_damage(void);
void hak_inside_span_damage(void);
/* Units as for a stretch of pages.c, under the lock. */
uint32_t hak_inside_span_cut(size_t need, size_t *units, bool *clean);
struct hak_lock *hak_inside_span_lock(void);
uint32_t *hak_inside_span_opening(void); /* regions being opened */
/* Bytes of dirty runs that may stay now. */
uint64_t hak_inside_runs_keep_limit(void);
/* Bytes of runs in use, by the watermark. */
uint64_t hak_inside_span_live(void);

/* True if the counts of the regions' advice borders are right. */
bool hak_inside_region_counts(void);
void hak_inside_region_damage(void);
struct hak_lock *hak_inside_region_lock(void);

const char *hak_inside_slab_wrong(unsigned c);
void hak_inside_slab_damage(unsigned c);
struct hak_lock *hak_inside_slab_lock(unsigned c);
/* Empty slabs that class c keeps. */
unsigned hak_inside_slab_empties(unsigned c);

const char *hak_inside_big_wrong(void);
void hak_inside_big_damage(void);
void hak_inside_big_claim(uint64_t bytes);
struct hak_lock *hak_inside_big_lock(void);
unsigned hak_inside_big_taken(void); /* number of times that the lock was taken */
size_t hak_inside_big_capacity(void);
uint64_t hak_inside_big_made(void); /* number of times that the table was rebuilt */
size_t hak_inside_big_kept(void);
size_t hak_inside_big_seams(void);

/* The word at the head of a class's stack, and the pack that the word names. */
uint64_t hak_inside_depot_head(unsigned c);
const void *hak_inside_depot_top(unsigned c);

/* Bytes that all threads and the depot have reserved. */
uint64_t hak_inside_budget(void);

#endif
