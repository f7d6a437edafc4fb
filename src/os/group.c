/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* group.c: folders of the control groups of this process.
 *
 * what      Reads the kernel's two lists line by line and joins the lists; see group.h.
 * owner     `scratch`, during a search.
 * locks     None; one thread at a time.
 * hot path  No. Once per process.
 * not here  The kernel calls: text.h.
 */
#include "os/group.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/str.h"
#include "os/text.h"

/* A file read line by line. A line longer than `text` is skipped. */
struct lines {
  long descriptor;
  size_t used, at;
  bool cut;
  char text[4096];
};

/* A hierarchy: the name of its controller, empty for version 2, and the facts found. */
struct hierarchy {
  const char *controller;
  struct hak_group *group;
  bool listed, fits; /* listed: the process is in a group here; fits: the mount shows that group */
  char path[HAK_GROUP_BYTES];
};

/* Static, because the stack may be small. */
static HAK_RARE struct {
  struct lines lines;
  struct hierarchy hierarchies[3];
} scratch;

#define HIERARCHIES (sizeof scratch.hierarchies / sizeof scratch.hierarchies[0])

/* ---- text ---- */

/* Moves the unread rest to the front and reads on. False at the end of the file. */
static bool read_on(struct lines *lines) {
  if (lines->at == 0 && lines->used == sizeof lines->text) {
    lines->cut = true;
    lines->at = lines->used;
  }
  lines->used -= lines->at;
  memmove(lines->text, lines->text + lines->at, lines->used);
  lines->at = 0;
  long n = hak_text_read(lines->descriptor, lines->text + lines->used, sizeof lines->text - lines->used);
  if (n > 0) lines->used += (size_t)n;
  return n > 0;
}

/* Returns the next line without the newline; NULL after the last line. */
static char *next_line(struct lines *lines) {
  for (;;) {
    char *begin = lines->text + lines->at, *end = hak_memchr(begin, '\n', lines->used - lines->at);
    if (end == NULL) {
      if (!read_on(lines)) return NULL;
      continue;
    }
    lines->at += (size_t)(end - begin) + 1;
    *end = '\0';
    if (!lines->cut) return begin;
    lines->cut = false;
  }
}

/* Returns the text before `separator` and moves *rest behind the separator; NULL at the end of the text. */
static char *next_field(char **rest, char separator) {
  char *field = *rest;
  if (field == NULL) return NULL;
  char *end = hak_strchr(field, separator);
  *rest = end != NULL ? end + 1 : NULL;
  if (end != NULL) *end = '\0';
  return field;
}

/* True if the list "a,b,c" contains `word`. */
static bool has_word(const char *list, const char *word) {
  size_t bytes = hak_strlen(word);
  for (const char *at = list;; at++) {
    if (hak_strncmp(at, word, bytes) == 0 && (at[bytes] == ',' || at[bytes] == '\0')) return true;
    at = hak_strchr(at, ',');
    if (at == NULL) return false;
  }
}

static bool is_octal(char digit) { return digit >= '0' && digit <= '7'; }

/* Decodes in place: mountinfo writes a blank as \040. */
static void decode(char *text) {
  char *out = text;
  for (const char *at = text; *at != '\0'; out++) {
    bool octal = at[0] == '\\' && is_octal(at[1]) && is_octal(at[2]) && is_octal(at[3]);
    *out = (char)(octal ? (at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0') : at[0]);
    at += octal ? 4 : 1;
  }
  *out = '\0';
}

/* ---- the two lists ---- */

/* "4:cpu,memory:/path". False: malformed. */
static bool note_membership(char *line) {
  char *number = next_field(&line, ':'), *controllers = next_field(&line, ':'), *path = line;
  if (number == NULL || controllers == NULL || path == NULL) return false;
  for (unsigned n = 0; n < HIERARCHIES; n++) {
    struct hierarchy *h = &scratch.hierarchies[n];
    if (h->listed || !has_word(controllers, h->controller) || hak_strlen(path) >= sizeof h->path) continue;
    hak_strcpy(h->path, path);
    h->listed = true;
  }
  return true;
}

/* Returns the part of `path` below `root`, "/x" or ""; NULL if `path` lies elsewhere. */
static const char *path_below(const char *path, const char *root) {
  size_t bytes = hak_strcmp(root, "/") == 0 ? 0 : hak_strlen(root);
  if (hak_strncmp(path, root, bytes) != 0 || hak_strncmp(path + bytes, "/..", 3) == 0) return NULL;
  if (hak_strcmp(path + bytes, "/") == 0) return "";
  return path[bytes] == '/' || path[bytes] == '\0' ? path + bytes : NULL;
}

/* Takes the first mount that shows the process's own group. Until then takes any mount of the hierarchy, which shows at
 * least a group above. */
static void place_hierarchy(struct hierarchy *h, const char *root, const char *mount) {
  const char *beyond = path_below(h->path, root);
  if (!h->listed || h->fits || (h->group->found && beyond == NULL)) return;
  size_t bytes = hak_strlen(mount), more = beyond != NULL ? hak_strlen(beyond) : 0;
  if (bytes + more >= sizeof h->group->folder) return;
  memcpy(h->group->folder, mount, bytes);
  memcpy(h->group->folder + bytes, beyond != NULL ? beyond : "", more);
  h->group->folder[bytes + more] = '\0';
  h->group->root = bytes;
  h->group->found = true;
  h->fits = beyond != NULL;
}

/* "35 31 0:32 /root /mount rw,relatime shared:1 - cgroup source rw,memory". False: malformed. */
static bool note_mount(char *line) {
  char *tail = hak_strstr(line, " - ");
  if (tail == NULL) return false;
  *tail = '\0';
  tail += hak_strlen(" - ");
  for (int n = 0; n < 3; n++) next_field(&line, ' ');
  char *root = next_field(&line, ' '), *mount = next_field(&line, ' ');
  char *type = next_field(&tail, ' '), *options = (next_field(&tail, ' '), tail);
  if (mount == NULL || options == NULL) return false;
  if (hak_strncmp(type, "cgroup", hak_strlen("cgroup")) != 0) return true;
  decode(root);
  decode(mount);
  for (unsigned n = 0; n < HIERARCHIES; n++) {
    struct hierarchy *h = &scratch.hierarchies[n];
    bool matches = h->group->v1 ? hak_strcmp(type, "cgroup") == 0 && has_word(options, h->controller)
                                : hak_strcmp(type, "cgroup2") == 0;
    if (matches) place_hierarchy(h, root, mount);
  }
  return true;
}

/* Calls `note` for each line. Returns NULL or the complaint. No complaint of a missing list: the kernel may have
 * none. */
static const char *each_line(const char *file, bool (*note)(char *line)) {
  struct lines *lines = &scratch.lines;
  lines->descriptor = hak_text_open(file);
  if (lines->descriptor < 0) return lines->descriptor == -ENOENT ? NULL : "cannot be opened";
  lines->used = lines->at = 0;
  lines->cut = false;
  bool good = true;
  for (char *line; (line = next_line(lines)) != NULL;) good = note(line) && good;
  hak_text_close(lines->descriptor);
  return good ? NULL : "is malformed";
}

/* ---- together ---- */

static void start_hierarchy(struct hierarchy *h, const char *controller, struct hak_group *group) {
  h->controller = controller;
  h->group = group;
  h->listed = h->fits = false;
  h->group->found = false;
  h->group->v1 = controller[0] != '\0';
}

size_t hak_group_parent(const struct hak_group *group, size_t length) {
  if (length <= group->root) return 0;
  while (length > group->root && group->folder[length - 1] != '/') length--;
  return length > group->root ? length - 1 : length;
}

/* In a container the group's own folder may be missing although a folder above exists. */
static void climb_to_existing(struct hak_group *group) {
  while (group->found && hak_text_find(group->folder) != 0) {
    size_t length = hak_group_parent(group, hak_strlen(group->folder));
    group->found = length != 0;
    group->folder[length] = '\0';
  }
}

void hak_groups_find(struct hak_groups *out, const char *cgroup, const char *mountinfo,
                     void (*say)(const char *file, const char *why)) {
  start_hierarchy(&scratch.hierarchies[0], "memory", &out->memory);
  start_hierarchy(&scratch.hierarchies[1], "cpu", &out->cpu);
  start_hierarchy(&scratch.hierarchies[2], "", &out->unified);
  const char *why = each_line(cgroup, note_membership);
  if (why != NULL) say(cgroup, why);
  why = each_line(mountinfo, note_mount);
  if (why != NULL) say(mountinfo, why);
  climb_to_existing(&out->memory);
  climb_to_existing(&out->cpu);
  climb_to_existing(&out->unified);
  if (!out->memory.found) out->memory = out->unified;
  if (!out->cpu.found) out->cpu = out->unified;
}

/* ---- the usual place ---- */

/* Stores the folder "usual/name/path". True if the folder exists. */
static bool is_usual(struct hak_group *out, const char *usual, const char *name, const char *path) {
  size_t bytes = hak_strlen(usual), more = hak_strlen(name);
  if (bytes + more + hak_strlen(path) >= sizeof out->folder) return false;
  hak_strcpy(out->folder, usual); /* not memcpy, whose code lies on a page of its own */
  hak_strcpy(out->folder + bytes, name);
  hak_strcat(out->folder, hak_strcmp(path, "/") == 0 ? "" : path);
  out->root = bytes + more;
  return hak_text_find(out->folder) == 0;
}

/* True if `usual` is a mount of version 2: only version 2 has this file. `out` lends room for the path. */
static bool has_version_2(struct hak_group *out, const char *usual) {
  if (hak_strlen(usual) + sizeof "/cgroup.controllers" > sizeof out->folder) return false;
  hak_strcat(hak_strcpy(out->folder, usual), "/cgroup.controllers");
  return hak_text_find(out->folder) == 0;
}

/* Returns the path in the line with this controller; NULL: no such line, or possibly cut off. Modifies the text. */
static char *controller_path(char *text, const char *controller) {
  for (char *line = text, *end; (end = hak_strchr(line, '\n')) != NULL; line = end + 1) {
    char *controllers = hak_strchr(line, ':'), *path = controllers != NULL ? hak_strchr(controllers + 1, ':') : NULL;
    if (path == NULL || path > end) return NULL;
    *end = *path = '\0';
    bool matches = controller[0] == '\0' ? controllers[1] == '\0' : has_word(controllers + 1, controller);
    if (matches) return path + 1;
    *end = '\n';
    *path = ':';
  }
  return NULL;
}

bool hak_group_find_usual(struct hak_group *out, const char *cgroup, const char *usual, char *text) {
  out->found = false;
  if (hak_text_of(cgroup, text, HAK_GROUP_BYTES) != 0) return false;
  char *path = controller_path(text, "memory");
  out->v1 = path != NULL;
  if (path != NULL) return out->found = is_usual(out, usual, "/memory", path);
  bool all = hak_strlen(text) + 1 < HAK_GROUP_BYTES; /* else the part cut off may name the controller */
  path = all ? controller_path(text, "") : NULL;
  return out->found = path != NULL && has_version_2(out, usual) && is_usual(out, usual, "", path);
}
