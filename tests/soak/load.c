/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* load.c: a load of mixed sizes that is the same at any time; see load.h.
 *
 * locks     The exchange is an array of atomic pointers to blocks: a swap of one pointer, no lock.
 */
#include "load.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 256, MARK = 16 };

/* A block that changes its thread keeps its size in its first bytes. */
static _Atomic(unsigned char *) g_exchange[PLACES];

static uint64_t next(uint64_t *state) {
  uint64_t x = *state += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t load_chance(struct load *load, uint64_t below) { return next(&load->random) % below; }

/* Of each 1,000 slots 700 have a base up to 512 B, 250 up to 32 KiB, 45 up to 256 KiB, 5 of 1 or 2 MiB. */
static size_t base_of(size_t slot) {
  size_t kind = slot * 617 % 1000;
  if (kind < 700) return (size_t)16 << (kind % 6);
  if (kind < 950) return (size_t)1024 << (kind % 6);
  if (kind < 995) return (size_t)65536 << (kind % 3);
  return (size_t)1 << (20 + kind % 2);
}

static unsigned char mark_of(const unsigned char *p, size_t size) { return (unsigned char)((uintptr_t)p >> 4 ^ size ^ size >> 8); }

static size_t tail_bytes(size_t size) { return size < sizeof(size_t) + MARK ? size - sizeof(size_t) : MARK; }

static void mark(struct load_block block) {
  memcpy(block.bytes, &block.size, sizeof block.size);
  size_t tail = tail_bytes(block.size);
  memset(block.bytes + block.size - tail, mark_of(block.bytes, block.size), tail);
}

static void check(struct load_block block) {
  size_t size, tail = tail_bytes(block.size);
  memcpy(&size, block.bytes, sizeof size);
  int bad = size != block.size;
  for (size_t n = 0; n < tail; n++) bad |= block.bytes[block.size - 1 - n] != mark_of(block.bytes, block.size);
  if (!bad) return;
  fprintf(stderr, "soak: block %p of %zu bytes has another's bytes\n", (void *)block.bytes, block.size);
  abort();
}

static unsigned char *taken(struct load *load, size_t size) {
  switch (load_chance(load, 8)) {
    case 0: return calloc(1, size);
    case 1: return aligned_alloc(64, (size + 63) & ~(size_t)63);
    default: return malloc(size);
  }
}

/* Writes to all pages: memory that is never touched would be no part of the RSS. */
static void fill(struct load *load, struct load_block *block, size_t size) {
  block->bytes = taken(load, size);
  block->size = size;
  if (block->bytes == NULL) load->failed++;
  else {
    memset(block->bytes, 0x5a, size);
    mark(*block);
  }
}

static void change(struct load *load, struct load_block *block, size_t size) {
  unsigned char *p = realloc(block->bytes, size);
  if (p == NULL) {
    load->failed++;
    return;
  }
  if (size > block->size) memset(p + block->size, 0x5a, size - block->size);
  *block = (struct load_block){p, size};
  mark(*block);
}

static void empty(struct load_block *block) {
  free(block->bytes);
  *block = (struct load_block){0};
}

/* The block goes to the exchange, and what lay there comes in its place. Small blocks only: the mean of a thread's bytes
 * stays as it is. */
static void exchange(struct load *load, struct load_block *block) {
  unsigned char *other = atomic_exchange(&g_exchange[load_chance(load, PLACES)], block->bytes);
  *block = (struct load_block){other, 0};
  if (other == NULL) return;
  memcpy(&block->size, other, sizeof block->size);
  check(*block);
  empty(block);
}

void load_begin(struct load *load, uint64_t seed) {
  memset(load, 0, sizeof *load);
  load->random = seed;
}

void load_step(struct load *load) {
  size_t slot = load_chance(load, SLOTS), base = base_of(slot), size = base + load_chance(load, base);
  struct load_block *block = &load->blocks[slot];
  load->steps++;
  if (block->bytes == NULL) {
    fill(load, block, size);
    return;
  }
  check(*block);
  uint64_t what = load_chance(load, 8);
  if (what < 2) change(load, block, size);
  else if (what < 4 && base <= 16384) exchange(load, block);
  else empty(block);
}

void load_end(struct load *load) {
  for (size_t n = 0; n < SLOTS; n++) {
    if (load->blocks[n].bytes == NULL) continue;
    check(load->blocks[n]);
    empty(&load->blocks[n]);
  }
}

void load_check(const struct load *load) {
  for (size_t n = 0; n < SLOTS; n++) {
    if (load->blocks[n].bytes != NULL) check(load->blocks[n]);
  }
}
