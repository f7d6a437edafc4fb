/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* system_fuzz.c: any bytes are the files of the system that the library reads; see tests/README.md.
 *
 * what      os/group.c, os/limits.c, os/maps.c and os/huge_modes.c themselves, with a file system of sixteen files in
 *           place of os/text.c. Files come in pieces, as the kernel writes some.
 *
 *               letter a..p, bytes of that file, 0xff, letter, bytes ...
 *
 *           Every limit is a number or none, at least one processor is counted, a folder of a group ends in its array,
 *           a mapping that is visited lies within its line, and a complaint is one line that steers no terminal.
 * owner     The groups found, which every input finds empty.
 */
#include <stdlib.h>

#include "os/group.c"
#include "os/limits.c"
#include "os/maps.c"

#include "os/huge_modes.c" /* last: its FOLDER is a macro */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct hak_fork g_fork = {.generation = 1};

static void must(bool holds) {
  if (!holds) abort();
}

/* ---- files ---- */

/* By the end of the path; a group's folder is whatever the lists say. */
static const char *const names[] = {
    "/cgroup", "/mountinfo", "/memory.max", "/memory.high", "/memory.current", "/memory.stat", "/memory.limit_in_bytes",
    "/memory.usage_in_bytes", "/cpu.max", "/cpu.cfs_quota_us", "/cpu.cfs_period_us", "/memory.pressure",
    "/proc/pressure/memory", "/maps", "/transparent_hugepage/enabled", "kB/enabled"};
enum { FILES_THERE = sizeof names / sizeof *names, DESCRIPTORS = 8 };

struct piece {
  const uint8_t *at, *end;
};
static struct piece g_file[FILES_THERE], g_open[DESCRIPTORS];
static unsigned g_piece; /* [bytes] read at a time, at most */

static bool ends_in(const char *path, const char *end) {
  size_t bytes = strlen(path), more = strlen(end);
  return bytes >= more && memcmp(path + bytes - more, end, more) == 0;
}

long hak_text_open(const char *path) {
  for (unsigned n = 0; n < FILES_THERE; n++) {
    if (!ends_in(path, names[n])) continue;
    if (g_file[n].at == NULL) return -ENOENT;
    for (unsigned d = 0; d < DESCRIPTORS; d++) {
      if (g_open[d].at != NULL) continue;
      g_open[d] = g_file[n];
      return d + 3;
    }
    must(!"descriptors are closed");
  }
  return -EACCES;
}

void hak_text_close(long descriptor) {
  if (descriptor >= 0) g_open[descriptor - 3].at = NULL;
}

long hak_text_read_at(long descriptor, void *out, size_t size, uint64_t offset) {
  struct piece from = g_open[descriptor - 3];
  size_t there = (size_t)(from.end - from.at);
  size_t n = offset >= there ? 0 : hak_min(hak_min(there - offset, size), g_piece);
  if (n != 0) memcpy(out, from.at + offset, n);
  return (long)n;
}

long hak_text_read(long descriptor, char *text, size_t size) {
  long n = hak_text_read_at(descriptor, text, size, 0);
  g_open[descriptor - 3].at += n;
  return n;
}

long hak_text_of(const char *path, char *text, size_t size) {
  long descriptor = hak_text_open(path), n;
  if (descriptor < 0) return descriptor;
  n = hak_text_read_at(descriptor, text, size - 1, 0);
  hak_text_close(descriptor);
  text[n] = '\0';
  return 0;
}

/* Most folders are there. */
long hak_text_find(const char *path) { return strlen(path) % 5 == 4 ? -ENOENT : 0; }
long hak_text_folder(const char *path) { return path[0] == '/' ? 0 : -ENOENT; }

/* ---- the rest of the library ---- */

static void check_line(const struct hak_line *line) {
  must(line->used > 0 && line->used < sizeof line->text && line->text[line->used - 1] == '\n');
  for (size_t n = 0; n + 1 < line->used; n++) must((unsigned char)line->text[n] >= ' ' && line->text[n] != 0x7f);
}
void hak_os_complain(const struct hak_line *line) { check_line(line); }
void hak_os_keep_complaint(const struct hak_line *line) { check_line(line); }
uint32_t hak_os_processors(void) { return 4; }
size_t hak_os_huge_bytes(void) { return (size_t)2 << 20; }
void hak_os_rest(void) {}
void hak_os_tally(enum hak_os_call call) { (void)call; }
long hak_kernel(long number, long a, long b, long c, long d, long e, long f) {
  (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
  must(!"a kernel call");
  return 0;
}

/* ---- one input ---- */

static void check_group(const struct hak_group *group) {
  if (!group->found) return;
  must(memchr(group->folder, '\0', sizeof group->folder) != NULL);
  must(group->root <= strlen(group->folder));
}

static void check_limits(void) {
  struct hak_limits limits;
  must(hak_limits_read(&limits));
  must(limits.cpus >= 1 && limits.cpus <= 4 && limits.pressure <= 10099);
  must(limits.memory_bytes != HAK_LIMITS_NONE || limits.used_bytes == 0);
  check_group(&g_limits.groups.memory);
  check_group(&g_limits.groups.cpu);
  check_group(&g_limits.groups.unified);
}

static uint64_t g_sum; /* every byte of a visited mapping is read */

static void visit(const struct hak_map *map, void *to) {
  must(to == &g_sum && map->line_bytes > 24 && map->line[map->line_bytes - 1] == '\n');
  must(map->path >= map->line && map->path + map->path_bytes <= map->line + map->line_bytes);
  for (size_t n = 0; n < map->line_bytes; n++) g_sum += (uint8_t)map->line[n];
}

static void take_files(const uint8_t *data, size_t size) {
  memset(g_file, 0, sizeof g_file);
  for (const uint8_t *at = data, *all = data + size; at < all;) {
    const uint8_t *end = memchr(at, 0xff, (size_t)(all - at));
    if (end == NULL) end = all;
    if (*at >= 'a' && *at < 'a' + FILES_THERE) g_file[*at - 'a'] = (struct piece){at + 1, end};
    at = end + 1;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  g_piece = data[0] % 2 == 0 ? UINT16_MAX : 1 + data[0];
  take_files(data + 1, size - 1);
  memset(&g_limits, 0, sizeof g_limits);
  hak_limits_start_from("/sys/fs/cgroup", "/proc/self/cgroup", "/proc/self/mountinfo");
  check_limits();
  memset(&g_limits, 0, sizeof g_limits);
  hak_limits_start("/folder");
  check_limits();
  char *text = malloc(HAK_MAPS_TEXT_BYTES);
  hak_maps_visit(text, visit, &g_sum);
  free(text);
  hak_os_look_at_huge(data[0] % 4 == 1);
  must((g_huge_modes.middle_bytes & (g_huge_modes.middle_bytes - 1)) == 0);
  for (unsigned d = 0; d < DESCRIPTORS; d++) must(g_open[d].at == NULL);
  return 0;
}
