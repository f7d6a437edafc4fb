/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* python_fuzz.c: any bytes are the memory of an interpreter of Python; see tests/README.md.
 *
 * what      record/python_frames.c itself, on a few pages at a fixed address, so that the input's words can point at
 *           each other. The last pages are gone. The stack is the first page, with the return addresses at its begin.
 *
 *               byte 0: version     byte 1: return addresses     the rest: pages from 0x10000000 on
 *               [ frames, stack | objects ...... | gone, gone ]
 *
 *           Only pages that can be read are read (the others fault), no frame is written beyond the array, and every
 *           text that becomes a place can be read to its end.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "record/python_frames.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *count, char ***words);

enum { PAGE = 4096, PAGES_THERE = 4, PAGES_GONE = 2, FRAMES = 16 };
#define MEMORY ((uintptr_t)0x10000000)

bool g_allowed = true;
static uint64_t g_state;

static void must(bool holds) {
  if (!holds) abort();
}

static bool is_there(uint64_t address) { return address >= MEMORY && address - MEMORY < PAGES_THERE * PAGE; }

bool hak_os_is_readable(const void *p) { return is_there((uintptr_t)p); }

hak_lookup_function *hak_lookup(void) { return NULL; }

static void read_text(struct hak_place_text text) {
  size_t bytes = (size_t)text.length * (text.width == HAK_PLACE_ASCII ? 1 : text.width);
  volatile const uint8_t *at = text.data;
  must(text.width == HAK_PLACE_ASCII || text.width == 1 || text.width == 2 || text.width == 4);
  for (size_t n = 0; n < bytes; n++) (void)at[n];
}

uint64_t hak_place_find(struct hak_place_text name, struct hak_place_text file, uint32_t line) {
  read_text(name);
  read_text(file);
  return HAK_PLACE_FRAME | line;
}

/* No place is known: each is read. */
uint64_t hak_place_hash(uint64_t hash, const struct hak_place_text *text) {
  read_text(*text);
  return hash;
}

uint64_t hak_place_known(uint64_t key) { return (void)key, 0; }

void hak_place_learn(uint64_t key, uint64_t frame) { (void)key, (void)frame; }

static uint64_t thread_state(void) { return g_state; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  enum { HEAD = 2 };
  if (size < HEAD) return 0;
  size_t bytes = hak_min(size - HEAD, PAGES_THERE * PAGE);
  uint8_t *memory = (uint8_t *)MEMORY;
  memset(memory, 0, PAGES_THERE * PAGE);
  memcpy(memory, data + HEAD, bytes);
  uint64_t *words = (uint64_t *)MEMORY, *frames = words + 1, guard = words[1 + FRAMES];
  unsigned depth = data[1] % (FRAMES + 1);
  struct hak_python found = {.state = (uintptr_t)thread_state, .code_type = MEMORY + 8, .text_type = MEMORY + 16};
  found.version = (uint64_t)(0x030a + data[0] % 6) << 16;
  found.loop = MEMORY;
  found.loop_end = data[0] >= 128 ? MEMORY + PAGES_THERE * PAGE : 0;
  g_state = MEMORY + PAGE;
  hak_python_take(&found);
  uintptr_t sp = data[1] >= 128 ? (uintptr_t)frames : 0;
  unsigned mixed = hak_python_mix(frames, depth, FRAMES, sp);
  must(mixed <= FRAMES && mixed + 1 >= depth);
  must(words[1 + FRAMES] == guard);
  hak_python_forget(frames, mixed);
  return 0;
}

int LLVMFuzzerInitialize(int *count, char ***words) {
  (void)count, (void)words;
  void *there = mmap((void *)MEMORY, PAGES_THERE * PAGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  void *gone = mmap((void *)(MEMORY + PAGES_THERE * PAGE), PAGES_GONE * PAGE, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  must(there == (void *)MEMORY && gone != MAP_FAILED);
  return 0;
}
