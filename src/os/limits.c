/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* limits.c: limits on the process's use of the machine.
 *
 * what      A table of files with a parser each; then the choice of files and groups.
 * owner     g_limits. g_room belongs to the thread that claimed the room.
 * orders    Relaxed: values read are out of date anyway. The claim of the room: claim.h.
 * hot path  No. No malloc, no stdio, no locale.
 * not here  The folders of the groups: group.h.
 */
#define _GNU_SOURCE
#include "os/limits.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/fmt.h"
#include "base/str.h"
#include "os/claim.h"
#include "os/complain.h"
#include "os/group.h"
#include "os/os.h"
#include "os/text.h"

#define NONE HAK_LIMITS_NONE
#define UNLIMITED ((uint64_t)1 << 62) /* version 1 writes "no limit" as a number near 2^63 */

static HAK_RARE struct {
  struct hak_groups groups;
  uint32_t said;   /* a bit for each kind of file already complained of */
  size_t tightest; /* length of the part of groups.memory.folder that is the group with the smallest limit */
  bool by_folder;
} g_limits;

/* ---- text to number: returns NULL, or the complaint with *value unchanged ---- */

static const char *read_digits(const char **at, uint64_t *value) {
  uint64_t sum = 0;
  const char *begin = *at;
  for (; **at >= '0' && **at <= '9'; (*at)++) {
    if (__builtin_mul_overflow(sum, 10u, &sum) || __builtin_add_overflow(sum, (uint64_t)(**at - '0'), &sum)) {
      return "is too large a number";
    }
  }
  if (*at == begin) return *begin == '\0' ? "is empty" : "is not a number";
  *value = sum;
  return NULL;
}

/* Digits and a newline. */
static const char *parse_number(const char *text, uint64_t *value) {
  uint64_t number;
  const char *why = read_digits(&text, &number);
  if (why != NULL) return why;
  if (*text != '\n') return *text == '\0' ? "has no end of line" : "is not a number";
  *value = number;
  return NULL;
}

static const char *parse_limit(const char *text, uint64_t *value) {
  if (hak_strcmp(text, "max\n") == 0) return NULL;
  uint64_t number = 0;
  const char *why = parse_number(text, &number);
  if (why == NULL && number < UNLIMITED) *value = number;
  return why;
}

static const char *parse_quota(const char *text, uint64_t *value) {
  return hak_strcmp(text, "-1\n") == 0 ? NULL : parse_number(text, value);
}

static uint64_t processors(uint64_t quota, uint64_t period) { return quota / period + (quota % period != 0); }

/* "max 100000" or "250000 100000" (quota and period): processors, rounded up. */
static const char *parse_cpu_max(const char *text, uint64_t *value) {
  uint64_t quota = NONE, period = 0;
  bool none = hak_strncmp(text, "max", 3) == 0;
  const char *why = none ? NULL : read_digits(&text, &quota);
  if (none) text += hak_strlen("max");
  if (why == NULL) why = *text == ' ' ? parse_number(text + 1, &period) : "is not two numbers";
  if (why == NULL && period == 0) why = "has a period of zero";
  if (why == NULL && quota != NONE) *value = processors(quota, period);
  return why;
}

/* "some avg10=1.25 avg60=...": 125 [1/100 percent]. */
static const char *parse_pressure(const char *text, uint64_t *value) {
  static const char head[] = "some avg10=";
  if (text[0] == '\0') return "is empty";
  if (hak_strncmp(text, head, hak_strlen(head)) != 0) return "does not begin with some avg10=";
  uint64_t whole, hundredths;
  text += hak_strlen(head);
  const char *why = read_digits(&text, &whole);
  if (why != NULL || whole > 100 || *text != '.') return "is not a percentage";
  const char *point = text++;
  why = read_digits(&text, &hundredths);
  if (why != NULL || text - point != 3 || *text != ' ') return "is not a percentage";
  *value = whole * 100 + hundredths;
  return NULL;
}

/* The number behind `name` in a list of lines "name 123". */
static const char *parse_line(const char *text, const char *name, uint64_t *value) {
  size_t bytes = hak_strlen(name);
  if (text[0] == '\0') return "is empty";
  while (hak_strncmp(text, name, bytes) != 0 || text[bytes] != ' ') {
    text = hak_strchr(text, '\n');
    if (text == NULL) return "names no idle file cache";
    text++;
  }
  return parse_number(text + bytes + 1, value);
}

static const char *parse_stat(const char *text, uint64_t *value) { return parse_line(text, "inactive_file", value); }

static const char *parse_stat_v1(const char *text, uint64_t *value) {
  return parse_line(text, "total_inactive_file", value);
}

/* ---- files ---- */

enum file {
  MEMORY_MAX,
  MEMORY_HIGH,
  MEMORY_CURRENT,
  MEMORY_STAT,
  MEMORY_LIMIT_V1,
  MEMORY_USAGE_V1,
  MEMORY_STAT_V1,
  CPU_MAX,
  CPU_QUOTA_V1,
  CPU_PERIOD_V1,
  GROUP_PRESSURE,
  SYSTEM_PRESSURE,
  FILES,
  LISTS = FILES,
  FOLDER
};

static const struct {
  const char *name;
  const char *(*parse)(const char *text, uint64_t *value);
} files[FILES] = {
    [MEMORY_MAX] = {"/memory.max", parse_limit},
    [MEMORY_HIGH] = {"/memory.high", parse_limit},
    [MEMORY_CURRENT] = {"/memory.current", parse_number},
    [MEMORY_STAT] = {"/memory.stat", parse_stat},
    [MEMORY_LIMIT_V1] = {"/memory.limit_in_bytes", parse_limit},
    [MEMORY_USAGE_V1] = {"/memory.usage_in_bytes", parse_number},
    [MEMORY_STAT_V1] = {"/memory.stat", parse_stat_v1},
    [CPU_MAX] = {"/cpu.max", parse_cpu_max},
    [CPU_QUOTA_V1] = {"/cpu.cfs_quota_us", parse_quota},
    [CPU_PERIOD_V1] = {"/cpu.cfs_period_us", parse_number},
    [GROUP_PRESSURE] = {"/memory.pressure", parse_pressure},
    [SYSTEM_PRESSURE] = {"/proc/pressure/memory", parse_pressure},
};

#define NAME_BYTES 32
#define TEXT_BYTES 2048 /* [bytes]; the lines wanted of memory.stat lie in the first half */
#define PATH_SHOWN ((size_t)300)

/* The path and the beginning of a file. Static, because the stack may be a page long. */
static HAK_RARE struct {
  struct hak_claim claim;
  char path[HAK_GROUP_BYTES + NAME_BYTES], text[TEXT_BYTES];
} g_room;

/* "hakmem: /sys/fs/cgroup/memory.max is not a number; ignored" */
static void say_once(unsigned kind, const char *path, const char *why) {
  uint32_t bit = (uint32_t)1 << kind;
  if (__atomic_fetch_or(&g_limits.said, bit, __ATOMIC_RELAXED) & bit) return;
  size_t bytes = hak_strlen(path);
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, bytes > PATH_SHOWN ? "hakmem: ..." : "hakmem: ");
  hak_line_foreign(&line, path + bytes - hak_min(bytes, PATH_SHOWN));
  hak_line_text(&line, " ");
  hak_line_text(&line, why);
  hak_line_text(&line, "; ignored\n");
  if (g_limits.by_folder) hak_os_complain(&line); /* only the user's own folder answers a setting */
  else hak_os_keep_complaint(&line);
}

static void say_list(const char *file, const char *why) { say_once(LISTS, file, why); }

/* Returns the complaint; NULL if the error says nothing about the file: a kernel without this file, or too many open
 * files. */
static const char *why_unreadable(long error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EMFILE:
    case ENFILE: return NULL;
    case EACCES:
    case EPERM: return "may not be read";
    default: return "cannot be read";
  }
}

/* Reads a file of the group whose folder is the first `length` bytes of `folder`. False: the file could not be read. */
static bool read_value(const char *folder, size_t length, enum file file, uint64_t *value) {
  char *path = g_room.path, *text = g_room.text;
  hak_strcpy(path, folder); /* not memcpy, whose code lies on a page of its own */
  hak_strcpy(path + length, files[file].name);
  long error = hak_text_of(path, text, sizeof g_room.text);
  const char *why = error != 0 ? why_unreadable(-error) : files[file].parse(text, value);
  if (why != NULL) say_once(file, path, why);
  return error == 0;
}

/* ---- memory ---- */

static uint64_t limit_of(const struct hak_group *group, size_t length) {
  uint64_t limit = NONE, high = NONE;
  read_value(group->folder, length, group->v1 ? MEMORY_LIMIT_V1 : MEMORY_MAX, &limit);
  if (!group->v1) read_value(group->folder, length, MEMORY_HIGH, &high);
  return hak_min(limit, high);
}

/* Use without idle file cache [bytes]: the kernel would drop that cache first, and the cache may fill any limit. */
static uint64_t use_of(const struct hak_group *group, size_t length) {
  uint64_t used = 0, idle = 0;
  read_value(group->folder, length, group->v1 ? MEMORY_USAGE_V1 : MEMORY_CURRENT, &used);
  read_value(group->folder, length, group->v1 ? MEMORY_STAT_V1 : MEMORY_STAT, &idle);
  return used - hak_min(idle, used);
}

/* Returns the smallest limit of the group and all its parents [bytes]. *tightest: length of the folder of the group
 * with that limit. */
static uint64_t smallest_limit(const struct hak_group *group, size_t *tightest) {
  uint64_t smallest = NONE;
  *tightest = group->found ? hak_strlen(group->folder) : 0;
  for (size_t length = *tightest; length != 0; length = hak_group_parent(group, length)) {
    uint64_t limit = limit_of(group, length);
    if (limit < smallest) *tightest = length;
    smallest = hak_min(limit, smallest);
  }
  return smallest;
}

static uint64_t find_tightest(void) {
  size_t tightest;
  uint64_t limit = smallest_limit(&g_limits.groups.memory, &tightest);
  hak_store(&g_limits.tightest, tightest);
  return limit;
}

static uint64_t use_of_tightest(void) { return use_of(&g_limits.groups.memory, hak_load(&g_limits.tightest)); }

static uint64_t pressure(void) {
  const struct hak_group *group = &g_limits.groups.unified;
  uint64_t hundredths = 0;
  bool there = group->found && read_value(group->folder, hak_strlen(group->folder), GROUP_PRESSURE, &hundredths);
  if (!there && !g_limits.by_folder) read_value("", 0, SYSTEM_PRESSURE, &hundredths);
  return hundredths;
}

/* ---- processors ---- */

static uint64_t quota_of(const struct hak_group *group, size_t length) {
  uint64_t quota = NONE, period = 0;
  if (!group->v1) {
    read_value(group->folder, length, CPU_MAX, &quota);
    return quota;
  }
  read_value(group->folder, length, CPU_QUOTA_V1, &quota);
  if (quota != NONE) read_value(group->folder, length, CPU_PERIOD_V1, &period);
  return quota != NONE && period != 0 ? processors(quota, period) : NONE;
}

static uint32_t usable_processors(void) {
  const struct hak_group *group = &g_limits.groups.cpu;
  uint64_t count = hak_os_processors();
  for (size_t length = group->found ? hak_strlen(group->folder) : 0; length != 0;
       length = hak_group_parent(group, length)) {
    count = hak_min(count, quota_of(group, length));
  }
  return (uint32_t)hak_max(count, 1);
}

/* ---- for the caller ---- */

/* Uses the folder in place of all groups. */
static void take_folder(const char *folder) {
  struct hak_group *group = &g_limits.groups.unified;
  group->found = hak_text_folder(folder) == 0 && hak_strlen(folder) < sizeof group->folder;
  group->v1 = false;
  if (!group->found) say_once(FOLDER, folder, "(cgroup_dir) cannot be opened as a folder of limits");
  if (group->found) hak_strcpy(group->folder, folder);
  group->root = hak_strlen(group->folder);
  g_limits.groups.memory = g_limits.groups.cpu = *group;
}

/* The mount nearly everywhere: the long list of mounts then need not be read. */
static const char usual_mount[] = "/sys/fs/cgroup";

static bool has_usual_group_without_limit(const char *usual, const char *cgroup) {
  struct hak_group *group = &g_limits.groups.memory;
  size_t tightest;
  return hak_group_find_usual(group, cgroup, usual, g_room.text) && smallest_limit(group, &tightest) == NONE;
}

static bool find_limit_in_room(const char *usual, const char *cgroup, const char *mountinfo) {
  if (has_usual_group_without_limit(usual, cgroup)) return false;
  hak_groups_find(&g_limits.groups, cgroup, mountinfo, say_list);
  return find_tightest() != NONE;
}

static bool find_limit(const char *usual, const char *cgroup, const char *mountinfo) {
  if (!hak_claim_take(&g_room.claim)) return false;
  bool limited = find_limit_in_room(usual, cgroup, mountinfo);
  hak_claim_drop(&g_room.claim);
  return limited;
}

/* /proc/thread-self: after the end of the first thread /proc/self names no groups. */
bool hak_limits_start(const char *folder) {
  if (folder[0] == '\0') return find_limit(usual_mount, "/proc/thread-self/cgroup", "/proc/thread-self/mountinfo");
  g_limits.by_folder = true;
  take_folder(folder);
  return g_limits.groups.memory.found;
}

bool hak_limits_start_from(const char *usual, const char *cgroup, const char *mountinfo) {
  return find_limit(usual, cgroup, mountinfo);
}

bool hak_limits_read(struct hak_limits *out) {
  if (!hak_claim_take(&g_room.claim)) return false;
  out->memory_bytes = find_tightest();
  out->used_bytes = out->memory_bytes != NONE ? use_of_tightest() : 0;
  out->pressure = (uint32_t)pressure();
  out->cpus = usable_processors();
  hak_claim_drop(&g_room.claim);
  return true;
}
