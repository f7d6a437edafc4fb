/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* trace_chunks.c: the file of one process, in chunks of 64 KiB.
 *
 * what      See trace_chunks.h.
 * owner     g_chunks.
 */
#include "record/trace_chunks.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fmt.h"
#include "os/complain.h"
#include "os/file.h"
#include "os/lock.h"
#include "os/os.h"
#include "os/text.h"
#include "tables/settings.h"

enum {
  RESTS = 1024,             /* partly used chunks that wait for a taker, at most */
  LEAST_REST = 1 << 10,     /* least room of a waiting chunk [bytes] */
  STOCK = 256,              /* chunks for a sandbox */
  IMAGES = 100000,
  COMMAND_MOST = 32 << 10   /* most bytes of the command line */
};
static const uint64_t patience_ns = 50000000; /* without a new attempt after a refusal */
static const uint32_t magic = 0x544b4148;     /* HAKT */

_Static_assert(sizeof(struct hak_trace_head) == 64, "a record's head is 64 bytes");

static HAK_RARE struct {
  struct hak_lock lock;
  struct hak_os_file file;
  struct hak_line path;
  uint64_t end;                   /* file size taken so far [bytes] */
  uint64_t refused;               /* time of the last refusal [ns]; 0: none */
  uint32_t pid, image;
  struct hak_trace_head *process; /* the process record; NULL: no file */
  struct hak_chunk rest[RESTS];
  unsigned rests;
  bool reserved_all;                   /* in a sandbox: the file grows no further */
  char *reserve, *reserve_end;
} g_chunks;

uint32_t hak_chunks_pid(void) { return g_chunks.pid; }

/* ---- records ---- */

static size_t room(const struct hak_chunk *chunk) {
  size_t least = chunk->used + sizeof(struct hak_trace_head);
  return chunk->base == NULL || least > HAK_CHUNK_BYTES ? 0 : HAK_CHUNK_BYTES - least;
}

struct hak_trace_head *hak_chunks_record(struct hak_chunk *chunk, const struct hak_trace_head *with) {
  struct hak_trace_head *head = (struct hak_trace_head *)(void *)(chunk->base + chunk->used);
  *head = *with;
  head->version = 1;
  head->pid = g_chunks.pid;
  head->image = g_chunks.image;
  hak_store_release(&head->magic, magic);
  return head;
}

void hak_chunks_grow(struct hak_trace_head *head, size_t used, uint32_t events) {
  hak_store_release(&head->sizes, used | (uint64_t)events << 32);
}

void hak_chunks_append(struct hak_trace_head *head, const uint8_t *event, size_t bytes, uint64_t sizes) {
  memcpy((char *)(head + 1) + (uint32_t)sizes, event, bytes);
  uint64_t seen = sizes, grown = sizes + bytes + ((uint64_t)1 << 32);
  hak_cas_acq_rel(&head->sizes, &seen, grown);
}

void hak_chunks_close(struct hak_chunk *chunk, size_t used) {
  chunk->used += sizeof(struct hak_trace_head) + hak_round_up(used, sizeof(uint64_t));
}

void hak_chunks_lose(uint64_t events) {
  struct hak_trace_head *process = hak_load_acquire(&g_chunks.process);
  if (process != NULL) hak_add(&process->lost, events);
}

void hak_chunks_find(uint64_t events) {
  struct hak_trace_head *process = hak_load_acquire(&g_chunks.process);
  if (process != NULL) hak_sub(&process->lost, events);
}

/* ---- chunks ---- */

/* Takes the first waiting chunk with room for `bytes`. */
static bool take_rest(struct hak_chunk *out, size_t bytes) {
  for (unsigned n = 0; n < g_chunks.rests; n++) {
    if (room(&g_chunks.rest[n]) < bytes) continue;
    *out = g_chunks.rest[n];
    g_chunks.rest[n] = g_chunks.rest[g_chunks.rests - 1];
    hak_store_release(&g_chunks.rests, g_chunks.rests - 1);
    return true;
  }
  return false;
}

static void complain_of_trace(const char *before, const char *after) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: trace_file: ");
  hak_line_text(&line, before);
  hak_line_foreign(&line, g_chunks.path.text);
  hak_line_text(&line, after);
  hak_os_complain(&line);
}

static char *grow_file(size_t bytes) {
  char *p = hak_os_file_grow(&g_chunks.file, g_chunks.path.text, g_chunks.end, bytes);
  if (p != NULL) g_chunks.end += bytes;
  return p;
}

static bool take_reserved_chunk(struct hak_chunk *out) {
  if (g_chunks.reserve == g_chunks.reserve_end) return false;
  *out = (struct hak_chunk){g_chunks.reserve, 0};
  g_chunks.reserve += HAK_CHUNK_BYTES;
  return true;
}

static bool take_new(struct hak_chunk *out, uint64_t now) {
  if (g_chunks.reserved_all) return take_reserved_chunk(out);
  if (g_chunks.refused != 0 && now - g_chunks.refused < patience_ns) return false;
  *out = (struct hak_chunk){grow_file(HAK_CHUNK_BYTES), 0};
  bool news = out->base == NULL && hak_load(&g_chunks.refused) == 0;
  hak_store(&g_chunks.refused, out->base == NULL ? now : 0);
  if (news) complain_of_trace("cannot grow ", "; the trace misses calls\n");
  return out->base != NULL;
}

/* True if a chunk is refused for certain. Without the lock: a thread that loses events calls this per event. */
static bool is_room_refused(uint64_t now) {
  uint64_t refused = hak_load(&g_chunks.refused);
  return refused != 0 && now - refused < patience_ns && hak_load(&g_chunks.rests) == 0;
}

bool hak_chunks_take(struct hak_chunk *out, size_t bytes, uint64_t now) {
  if (is_room_refused(now)) return false;
  hak_lock_take(&g_chunks.lock);
  bool had = take_rest(out, bytes) || take_new(out, now);
  hak_lock_drop(&g_chunks.lock);
  return had;
}

static bool waits(struct hak_chunk *chunk) {
  bool worth = room(chunk) >= LEAST_REST && g_chunks.rests < RESTS;
  if (!worth) return false;
  g_chunks.rest[g_chunks.rests] = *chunk;
  hak_store_release(&g_chunks.rests, g_chunks.rests + 1);
  return true;
}

/* True if the chunk may be unmapped. The first chunk holds the process record; a sandbox may forbid munmap. */
static bool chunk_may_go(const struct hak_chunk *chunk) {
  return chunk->base != NULL && chunk->base != (char *)g_chunks.process && !g_chunks.reserved_all;
}

void hak_chunks_put(struct hak_chunk *chunk) {
  hak_lock_take(&g_chunks.lock);
  bool waiting = waits(chunk);
  hak_lock_drop(&g_chunks.lock);
  if (!waiting && chunk_may_go(chunk)) hak_chunks_drop(chunk);
  hak_store_release(&chunk->base, NULL);
}

void hak_chunks_drop(struct hak_chunk *chunk) {
  char *base = chunk->base;
  hak_store_release(&chunk->base, NULL);
  if (base != NULL) hak_os_unmap(base, HAK_CHUNK_BYTES);
}

/* ---- the file ---- */

static void name_trace_file(const char *stem, uint32_t image) {
  hak_line_start(&g_chunks.path);
  hak_line_text(&g_chunks.path, stem);
  hak_line_text(&g_chunks.path, ".");
  hak_line_dec(&g_chunks.path, g_chunks.pid);
  hak_line_text(&g_chunks.path, ".");
  hak_line_dec(&g_chunks.path, image);
}

/* Takes the first unused image number: a program that executes another program leaves a file with a lower number. */
static bool make_trace_file(const char *stem) {
  int error = -1;
  for (uint32_t image = 0; error == -1 && image < IMAGES; image++) {
    name_trace_file(stem, image);
    g_chunks.image = image;
    error = hak_os_file_make(&g_chunks.file, g_chunks.path.text);
  }
  return error == 0;
}

/* Copies the arguments, each closed by a zero byte; a clipped last argument, too. */
static size_t put_command(char *at) {
  long descriptor = hak_text_open("/proc/self/cmdline"), n = 1;
  size_t used = 0;
  if (descriptor < 0) return 0;
  while (n > 0 && used < COMMAND_MOST) {
    n = hak_text_read(descriptor, at + used, COMMAND_MOST - used);
    used += n > 0 ? (size_t)n : 0;
  }
  hak_text_close(descriptor);
  if (used != 0) at[used - 1] = '\0';
  return used;
}

static void put_process_record(struct hak_chunk *chunk, uint32_t parent) {
  struct hak_trace_head with = {.kind = HAK_TRACE_PROCESS, .parent = parent, .ns = hak_os_now_ns()};
  struct hak_trace_head *head = hak_chunks_record(chunk, &with);
  size_t used = put_command(chunk->base + sizeof *head);
  hak_chunks_grow(head, used, 0);
  hak_chunks_close(chunk, used);
  hak_store_release(&g_chunks.process, head);
}

/* Makes the file with its first chunk, or no file at all. */
static bool make_with_room(const char *stem, struct hak_chunk *first) {
  bool made = make_trace_file(stem);
  *first = (struct hak_chunk){made ? grow_file(HAK_CHUNK_BYTES) : NULL, 0};
  if (first->base != NULL) return true;
  if (made) hak_os_file_remove(g_chunks.path.text);
  hak_os_file_close(&g_chunks.file);
  complain_of_trace("cannot make ", "; this process is not traced\n");
  return false;
}

bool hak_chunks_begin(const char *stem, uint32_t parent) {
  struct hak_chunk first;
  g_chunks.pid = (uint32_t)hak_os_process_id();
  if (!make_with_room(stem, &first)) return false;
  put_process_record(&first, parent);
  waits(&first);
  return true;
}

void hak_chunks_try(const char *stem) {
  g_chunks.pid = (uint32_t)hak_os_process_id();
  struct hak_chunk first;
  if (!make_with_room(stem, &first)) return;
  hak_os_file_remove(g_chunks.path.text);
  hak_os_file_close(&g_chunks.file);
  hak_chunks_drop(&first);
  g_chunks.end = 0;
}

void hak_chunks_forget(void) {
  hak_lock_take(&g_chunks.lock);
  struct hak_chunk first = {(char *)g_chunks.process, 0};
  hak_store_release(&g_chunks.process, NULL);
  hak_chunks_drop(&first);
  for (unsigned n = 0; n < g_chunks.rests; n++) hak_chunks_drop(&g_chunks.rest[n]);
  if (g_chunks.reserve != NULL) hak_os_unmap(g_chunks.reserve, (size_t)(g_chunks.reserve_end - g_chunks.reserve));
  hak_os_file_close(&g_chunks.file);
  g_chunks.end = g_chunks.refused = 0;
  g_chunks.rests = 0;
  g_chunks.reserve = g_chunks.reserve_end = NULL;
  hak_lock_drop(&g_chunks.lock);
}

void hak_chunks_reserve(void) {
  hak_lock_take(&g_chunks.lock);
  size_t bytes = (size_t)STOCK * HAK_CHUNK_BYTES;
  if (!g_chunks.reserved_all && g_chunks.process != NULL) {
    g_chunks.reserve = grow_file(bytes);
    g_chunks.reserve_end = g_chunks.reserve != NULL ? g_chunks.reserve + bytes : NULL;
  }
  g_chunks.reserved_all = true;
  hak_lock_drop(&g_chunks.lock);
}
