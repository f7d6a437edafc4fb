/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mimalloc.h: the names that mimalloc's tests call, each made the standard function that does the same, so that the tests
 * judge whatever malloc the process has.
 *
 * what      A heap stands for all memory: to destroy one frees nothing. A block that is to be zero is cleared over its
 *           usable size, and so is what it grows by.
 * failure   As the standard functions. An aligned address inside a block has no standard function: NULL.
 */
#ifndef HAK_TEST_STANDARD_NAMES_H
#define HAK_TEST_STANDARD_NAMES_H

#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MI_ALIGNMENT_MAX ((size_t)1 << 20)
#define MI_MAX_ALIGN_SIZE 16
#define MI_SMALL_SIZE_MAX 1024
#define MI_DEBUG 0
#define MI_PADDING 0

typedef struct mi_heap_s mi_heap_t;

static inline void *zeroed(void *p) { return p == NULL ? NULL : memset(p, 0, malloc_usable_size(p)); }

/* Clears what a block has beyond `before` bytes. */
static inline void *zeroed_from(void *p, size_t before) {
  if (p != NULL && malloc_usable_size(p) > before) memset((char *)p + before, 0, malloc_usable_size(p) - before);
  return p;
}

static inline void *aligned(size_t bytes, size_t alignment) {
  return memalign(alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes);
}

static inline void *moved_aligned(void *p, size_t bytes, size_t alignment) {
  size_t before = malloc_usable_size(p);
  void *next = aligned(bytes, alignment);
  if (next == NULL) return NULL;
  memcpy(next, p, before < bytes ? before : bytes);
  free(p);
  return zeroed_from(next, before < bytes ? before : bytes);
}

static inline size_t usable(void *p) { return p == NULL ? 0 : malloc_usable_size(p); }
static inline void *grown_zeroed(void *p, size_t bytes) {
  size_t before = usable(p);
  return zeroed_from(realloc(p, bytes), before);
}

#define mi_malloc malloc
#define mi_malloc_small malloc
#define mi_mallocn(count, bytes) reallocarray(NULL, count, bytes)
#define mi_reallocn reallocarray
#define mi_calloc calloc
#define mi_zalloc(bytes) zeroed(malloc(bytes))
#define mi_zalloc_small mi_zalloc
#define mi_realloc realloc
#define mi_rezalloc grown_zeroed
#define mi_recalloc(p, count, bytes) grown_zeroed(p, (count) * (bytes))
#define mi_reallocarray reallocarray
#define mi_free free
#define mi_usable_size malloc_usable_size
#define mi_posix_memalign posix_memalign
#define mi_memalign memalign
#define mi_malloc_aligned aligned
#define mi_zalloc_aligned(bytes, alignment) zeroed(aligned(bytes, alignment))
#define mi_calloc_aligned(count, bytes, alignment) zeroed(aligned((count) * (bytes), alignment))
#define mi_realloc_aligned moved_aligned
#define mi_rezalloc_aligned moved_aligned
#define mi_recalloc_aligned(p, count, bytes, alignment) moved_aligned(p, (count) * (bytes), alignment)
#define mi_malloc_aligned_at(bytes, alignment, offset) ((offset) == 0 ? aligned(bytes, alignment) : NULL)
#define mi_realpath realpath
#define mi_strdup strdup

#define mi_heap_new() ((mi_heap_t *)malloc(1))
#define mi_heap_malloc(heap, bytes) malloc(bytes)
#define mi_heap_malloc_tp(heap, type) ((type *)malloc(sizeof(type)))
#define mi_heap_malloc_aligned(heap, bytes, alignment) aligned(bytes, alignment)
#define mi_heap_contains_block(heap, p) ((heap) != NULL && (p) != NULL)
#define mi_heap_destroy free
#define mi_heap_delete free

#define mi_option_disable(option) ((void)0)
#define mi_stats_print(out) ((void)(out))
#define mi_stats_reset() ((void)0)
#define mi_collect(force) ((void)(force))

#ifdef __cplusplus
#include <memory>
template <typename T> using mi_stl_allocator = std::allocator<T>;
template <typename T> using mi_heap_stl_allocator = std::allocator<T>;
template <typename T> using mi_heap_destroy_stl_allocator = std::allocator<T>;
#endif

#endif
