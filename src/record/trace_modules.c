/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_modules.c: what lies where in the process, for those who read call sites.
 *
 * what      See trace_modules.h. The text is read by bare calls into a buffer of our own, and parsed a line at a time.
 * owner     g_modules.
 */
#include "record/trace_modules.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/str.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/text.h"
#include "record/trace_chunks.h"

enum { RANGES = 1024, LOOKS = 64, LINE_MOST = 4200, TEXT_BYTES = 8192 };

struct range {
  uint64_t first, end;
};

static HAK_RARE struct {
  struct hak_lock lock;
  unsigned looks; /* that are left */
  unsigned ranges;
  struct range range[RANGES];
  char text[TEXT_BYTES];
  struct hak_chunk chunk;      /* while records are written */
  struct hak_trace_head *head; /* the open record; NULL: none */
  size_t used;                 /* bytes of it */
} g_modules;

static bool is_known(uint64_t site) {
  unsigned n = hak_load_acquire(&g_modules.ranges);
  for (unsigned i = 0; i < n; i++) {
    if (site >= g_modules.range[i].first && site < g_modules.range[i].end) return true;
  }
  return false;
}

/* ---- records ---- */

static void close_record(void) {
  if (g_modules.head != NULL) hak_chunks_close(&g_modules.chunk, g_modules.used);
  if (g_modules.chunk.base != NULL) hak_chunks_put(&g_modules.chunk);
  g_modules.head = NULL;
}

static bool open_record(size_t bytes, uint64_t now) {
  struct hak_trace_head with = {.kind = HAK_TRACE_MODULES, .ns = now};
  close_record();
  if (!hak_chunks_take(&g_modules.chunk, bytes, now)) return false;
  g_modules.head = hak_chunks_record(&g_modules.chunk, &with);
  g_modules.used = 0;
  return true;
}

static bool fits(size_t bytes) {
  if (g_modules.head == NULL) return false;
  size_t used = g_modules.chunk.used + sizeof *g_modules.head + g_modules.used;
  return used + bytes <= HAK_CHUNK_BYTES;
}

static bool write_line(const char *line, size_t bytes, uint64_t now) {
  if (!fits(bytes) && !open_record(bytes, now)) return false;
  memcpy((char *)(g_modules.head + 1) + g_modules.used, line, bytes);
  g_modules.used += bytes;
  hak_chunks_grow(g_modules.head, g_modules.used, 0);
  return true;
}

/* ---- /proc/self/maps ---- */

static const char *hex(const char *at, uint64_t *value) {
  for (*value = 0;; at++) {
    unsigned digit = *at >= 'a' ? (unsigned)(*at - 'a') + 10 : (unsigned)(*at - '0');
    if (digit > 15) return at;
    *value = *value << 4 | digit;
  }
}

static bool is_noted(struct range range) {
  for (unsigned i = 0; i < g_modules.ranges; i++) {
    if (g_modules.range[i].first == range.first && g_modules.range[i].end == range.end) return true;
  }
  return false;
}

/* "7f0c1a000000-7f0c1a022000 r-xp 00000000 08:01 1234   /path", of `bytes` with the end of the line. */
static void note_line(const char *line, size_t bytes, uint64_t now) {
  enum { SHORTEST = 20, EXECUTABLE = 3 };
  struct range range;
  if (bytes < SHORTEST) return;
  const char *at = hex(line, &range.first);
  at = hex(at + 1, &range.end);
  if (at + EXECUTABLE >= line + bytes || at[EXECUTABLE] != 'x' || is_noted(range)) return;
  if (g_modules.ranges == RANGES || !write_line(line, bytes, now)) return;
  g_modules.range[g_modules.ranges] = range;
  hak_store_release(&g_modules.ranges, g_modules.ranges + 1);
}

/* The whole lines among the first `have` bytes. How many bytes they are. */
static size_t note_lines(size_t have, uint64_t now) {
  size_t done = 0;
  for (const char *end; (end = hak_memchr(g_modules.text + done, '\n', have - done)) != NULL;) {
    size_t bytes = (size_t)(end + 1 - (g_modules.text + done));
    note_line(g_modules.text + done, bytes, now);
    done += bytes;
  }
  return done;
}

static void read_maps(long descriptor, uint64_t now) {
  size_t have = 0;
  long n;
  while ((n = hak_text_read(descriptor, g_modules.text + have, TEXT_BYTES - have)) > 0) {
    have += (size_t)n;
    size_t done = note_lines(have, now);
    if (done == 0 && have > LINE_MOST) return; /* no line of that file is so long */
    have -= done;
    memmove(g_modules.text, g_modules.text + done, have);
  }
}

static void look(uint64_t now) {
  long descriptor = hak_text_open("/proc/self/maps");
  g_modules.looks--;
  if (descriptor < 0) return;
  read_maps(descriptor, now);
  hak_text_close(descriptor);
  close_record();
}

/* ---- when ---- */

void hak_modules_begin(void) {
  hak_lock_take(&g_modules.lock);
  hak_store(&g_modules.ranges, 0);
  g_modules.looks = LOOKS;
  g_modules.head = NULL;
  g_modules.chunk = (struct hak_chunk){NULL, 0};
  look(hak_os_now_ns());
  hak_lock_drop(&g_modules.lock);
}

void hak_modules_end(void) {
  hak_lock_take(&g_modules.lock);
  hak_store(&g_modules.looks, 0);
  hak_lock_drop(&g_modules.lock);
}

bool hak_modules_are_known(uint64_t site) { return is_known(site) || hak_load(&g_modules.looks) == 0; }

void hak_modules_learn(uint64_t site, uint64_t now) {
  hak_lock_take(&g_modules.lock);
  if (!hak_modules_are_known(site)) look(now);
  hak_lock_drop(&g_modules.lock);
}
