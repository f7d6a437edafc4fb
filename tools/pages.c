/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages.c: see pages.h.
 *
 * what      Open addressing. A chunk stays in the table for good: the kernel hands the same addresses out again.
 */
#define _GNU_SOURCE
#include "pages.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { chunk_shift = 21, words = pages_huge / 64, places = 1 << 17, chunks_most = places / 2 };

struct chunk {
  uint64_t number; /* chunk number of the address, + 1; 0: empty */
  uint64_t there[words];
  uint32_t count;
  bool huge;
};

static struct {
  struct pages now;
  struct chunk *chunk;
  struct chunk *last; /* found last */
  size_t chunks;
} table;

static _Noreturn void give_up(const char *why)
{
  fprintf(stderr, "hak_model: %s\n", why);
  exit(1);
}

void pages_start(void)
{
  size_t bytes = places * sizeof *table.chunk;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
  if (table.chunk == NULL)
    table.chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (table.chunk == MAP_FAILED)
    give_up("no memory for the table of pages");
  memset(table.chunk, 0, bytes);
  table.now = (struct pages){0};
  table.last = table.chunk;
  table.chunks = 0;
}

const struct pages *pages_now(void)
{
  return &table.now;
}

static struct chunk *enter(struct chunk *place, uint64_t number)
{
  if (table.chunks++ == chunks_most)
    give_up("the program asks for more addresses than the model can hold");
  *place = (struct chunk){.number = number};
  return place;
}

/* The chunk of this address; NULL: unknown, and `make` is false. */
static struct chunk *chunk_at(uintptr_t address, bool make)
{
  uint64_t number = (address >> chunk_shift) + 1;
  if (table.last->number == number)
    return table.last;
  size_t place = (number * 0x9E3779B97F4A7C15u) >> 47;
  while (table.chunk[place].number != number && table.chunk[place].number != 0)
    place = (place + 1) % places;
  bool found = table.chunk[place].number == number;
  if (!found && !make)
    return NULL;
  return table.last = found ? &table.chunk[place] : enter(&table.chunk[place], number);
}

static unsigned page_in_chunk(uintptr_t address)
{
  return (address >> pages_shift) % pages_huge;
}

static uint64_t bit_of(unsigned page)
{
  return (uint64_t)1 << page % 64;
}

static void come(struct chunk *chunk, unsigned pages)
{
  chunk->count += pages;
  table.now.resident += pages;
  table.now.fetched += pages;
  table.now.faults++;
  if (table.now.resident > table.now.most)
    table.now.most = table.now.resident;
}

static void fault(struct chunk *chunk, unsigned page)
{
  bool whole = chunk->huge && chunk->count == 0;
  if (whole)
    memset(chunk->there, 0xff, sizeof chunk->there);
  else
    chunk->there[page / 64] |= bit_of(page);
  come(chunk, whole ? pages_huge : 1);
}

static void touch(struct chunk *chunk, unsigned page)
{
  if (!(chunk->there[page / 64] & bit_of(page)))
    fault(chunk, page);
}

void pages_touch(uintptr_t address, size_t bytes)
{
  uintptr_t end = address + bytes;
  for (uintptr_t at = address; at < end; at = (at | (pages_bytes - 1)) + 1)
    touch(chunk_at(at, true), page_in_chunk(at));
}

bool pages_has(uintptr_t address)
{
  const struct chunk *chunk = chunk_at(address, false);
  return chunk != NULL && chunk->there[page_in_chunk(address) / 64] & bit_of(page_in_chunk(address));
}

void pages_read(uintptr_t address, size_t bytes)
{
  uintptr_t end = address + bytes;
  for (uintptr_t at = address; at < end; at = (at | (pages_bytes - 1)) + 1)
    table.now.faults += !pages_has(at);
}

static bool go(struct chunk *chunk, unsigned page)
{
  if (!(chunk->there[page / 64] & bit_of(page)))
    return false;
  chunk->there[page / 64] &= ~bit_of(page);
  chunk->count--;
  table.now.resident--;
  return true;
}

static uintptr_t next_chunk(uintptr_t address)
{
  return ((address >> chunk_shift) + 1) << chunk_shift;
}

void pages_drop(uintptr_t address, size_t bytes)
{
  uintptr_t end = address + bytes;
  for (uintptr_t at = address, next; at < end; at = next) {
    struct chunk *chunk = chunk_at(at, false);
    bool none = chunk == NULL || chunk->count == 0;
    next = none ? next_chunk(at) : at + pages_bytes;
    if (!none)
      go(chunk, page_in_chunk(at));
  }
}

static void appear(uintptr_t address)
{
  struct chunk *chunk = chunk_at(address, true);
  unsigned page = page_in_chunk(address);
  chunk->there[page / 64] |= bit_of(page);
  chunk->count++;
  table.now.resident++;
}

void pages_move(uintptr_t from, size_t bytes, uintptr_t to)
{
  pages_drop(to, bytes);
  for (size_t at = 0; at < bytes; at += pages_bytes) {
    struct chunk *chunk = chunk_at(from + at, false);
    if (chunk != NULL && go(chunk, page_in_chunk(from + at)))
      appear(to + at);
  }
}

void pages_wish_huge(uintptr_t address, size_t bytes, bool on)
{
  uintptr_t huge_bytes = (uintptr_t)1 << chunk_shift, end = address + bytes;
  uintptr_t from = on ? (address + huge_bytes - 1) & -huge_bytes : address & -huge_bytes;
  for (uintptr_t at = from; on ? at + huge_bytes <= end : at < end; at += huge_bytes) {
    struct chunk *chunk = chunk_at(at, on);
    if (chunk != NULL)
      chunk->huge = on;
  }
}
