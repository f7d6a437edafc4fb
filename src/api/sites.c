/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sites.c: call sites, for programs that ask.
 *
 * what      Rows of tables/site.h converted to struct hak_site_stats, and names of their addresses from the dynamic
 *           loader.
 * failure   As hakmem.h says for each name.
 * not here  Counting: tables/site.h. Sites of another process: `hakmem sites`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "api/exports.h"
#include "base/bits.h"
#include "base/fmt.h"
#include "base/str.h"
#include "hakmem/hakmem.h"
#include "retain/rent.h"
#include "tables/site.h"

static void fill_site_stats(const struct hak_site *site, struct hak_site_stats *s) {
  s->address = hak_load_acquire(&site->address);
  if (s->address == 0) return;
  s->depth = hak_load(&site->depth);
  s->count = hak_load(&site->count);
  s->bytes = hak_load(&site->bytes);
  s->live = hak_less(s->count, hak_load(&site->freed));
  s->live_bytes = hak_less(s->bytes, hak_load(&site->freed_bytes));
  s->lifetime_ms = hak_load(&site->life_ms);
  s->gaps = hak_load(&site->gaps);
  s->gap_ms = hak_load(&site->gap_ms);
  s->hits = hak_load(&site->hits);
  s->fetched = hak_load(&site->fetched);
  s->sizes = hak_load(&site->scales);
  unsigned keep = hak_load(&site->keep);
  s->keep_ms = keep == 0 ? 0 : hak_keep_ms(keep);
}

HAK_EXPORT int hak_keep_at(const void *site, size_t ms) {
  if (site == NULL) return EINVAL;
  return hak_site_set_keep(site, hak_keep_for(ms)) ? 0 : ENOMEM;
}

/* The caller's struct may be older and shorter than struct hak_site_stats: copies the first `size` bytes and stores
 * their number. */
HAK_EXPORT bool hak_site(unsigned n, struct hak_site_stats *s) {
  if (s == NULL || s->version == 0 || s->version > HAK_SITE_VERSION) return false;
  if (s->size < offsetof(struct hak_site_stats, address) || n >= hak_site_end()) return false;
  struct hak_site_stats full = {.version = s->version, .size = (uint32_t)hak_min(s->size, sizeof full)};
  fill_site_stats(&g_site[n], &full);
  memcpy(s, &full, full.size);
  return true;
}

static const char *last_part(const char *path) {
  const char *slash = hak_strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

/* A name, cut to `size` bytes; `used` is the uncut length. */
struct name {
  char *out;
  size_t size, used;
};

static void append_name(struct name *name, const char *text) {
  for (; *text != '\0'; text++, name->used++) {
    if (name->used + 1 < name->size) name->out[name->used] = *text;
  }
}

static void put_hex(struct name *name, uint64_t value) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_hex(&line, value);
  append_name(name, line.text);
}

static void put_offset(struct name *name, uint64_t offset) {
  append_name(name, "+");
  put_hex(name, offset);
}

static void put_name(struct name *name, uint64_t address) {
  Dl_info found;
  if (dladdr((const void *)(uintptr_t)address, &found) == 0 || found.dli_fname == NULL) {
    put_hex(name, address);
  } else if (found.dli_sname != NULL) {
    append_name(name, found.dli_sname);
    put_offset(name, address - (uint64_t)(uintptr_t)found.dli_saddr);
    append_name(name, " (");
    append_name(name, last_part(found.dli_fname));
    append_name(name, ")");
  } else {
    append_name(name, last_part(found.dli_fname));
    put_offset(name, address - (uint64_t)(uintptr_t)found.dli_fbase);
  }
}

HAK_EXPORT int hak_site_name(uint64_t address, char *out, size_t size) {
  struct name name = {.out = out, .size = out != NULL ? size : 0};
  put_name(&name, address);
  if (name.size == 0) return ERANGE;
  out[hak_min(name.used, size - 1)] = '\0';
  return name.used < size ? 0 : ERANGE;
}
