/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy_read.c: learnt rows, from text; see policy.h.
 *
 * what      The file is read twice: first to check the whole file, then to take the rows. A change in between is found
 *           by the sum, when some rows are in use already; each row is sound by itself. Before a file is rewritten, the
 *           rows of further programs are visited in the same way, and the rows of further processes joined.
 */
#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "learn/policy_internal.h"
#include "learn/tune_rows.h"
#include "os/text.h"
#include "os/trusted.h"
#include "tables/site.h"

/* ---- fields ---- */

/* A line without the line end, read field by field. */
struct fields {
  const char *at, *end;
  bool wrong;
};

static bool take_word(struct fields *f, const char *word) {
  size_t bytes = hak_strlen(word);
  if ((size_t)(f->end - f->at) < bytes || memcmp(f->at, word, bytes) != 0) return false;
  f->at += bytes;
  return true;
}

static void expect(struct fields *f, const char *word) { f->wrong |= !take_word(f, word); }

static unsigned digit_of(char c) {
  return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* At least a digit, and a value of at most `most`; 0 if wrong. */
static uint64_t take_digits(struct fields *f, unsigned base, uint64_t most) {
  const char *first = f->at;
  uint64_t value = 0;
  for (; f->at < f->end && digit_of(*f->at) < base; f->at++) {
    unsigned digit = digit_of(*f->at);
    if (value > (most - digit) / base || digit > most) return f->wrong = true, 0;
    value = value * base + digit;
  }
  f->wrong |= f->at == first;
  return value;
}

/* A blank and a number. */
static uint64_t take_number(struct fields *f, uint64_t most) {
  expect(f, " ");
  return take_digits(f, 10, most);
}

static void take_row(struct fields *f, struct hak_learnt *out) {
  out->arm = (unsigned)take_number(f, HAK_ARMS - 1);
  out->row.weight = (uint16_t)take_number(f, HAK_LEADER_WEIGHT_MOST);
  for (unsigned arm = 0; arm < HAK_ARMS; arm++) out->row.paid[arm] = (uint32_t)take_number(f, HAK_LEADER_PAID_MOST);
  f->wrong |= out->row.weight == 0 || f->at != f->end;
}

/* ---- lines ---- */

static bool has_id(const struct hak_loaded *module, const uint8_t *id, size_t bytes) {
  return bytes != 0 && module->id_bytes == bytes && memcmp(module->id, id, bytes) == 0;
}

static const struct hak_loaded *find_module(const uint8_t *id, size_t bytes) {
  for (unsigned i = 0; i < g_policy.modules; i++) {
    if (has_id(&g_policy.module[i], id, bytes)) return &g_policy.module[i];
  }
  return NULL;
}

static bool has_name(const struct hak_loaded *module, const char *name, size_t bytes) {
  return hak_strlen(module->name) == bytes && memcmp(module->name, name, bytes) == 0;
}

static bool is_loaded(const char *name, size_t bytes) {
  for (unsigned i = 0; i < g_policy.modules; i++) {
    if (has_name(&g_policy.module[i], name, bytes)) return true;
  }
  return false;
}

static size_t take_id(struct fields *f, uint8_t id[HAK_BUILD_ID_BYTES]) {
  size_t n = 0;
  if (take_word(f, "-")) return 0;
  for (; n < HAK_BUILD_ID_BYTES && f->end - f->at >= 2 && f->at[0] != ' '; n++, f->at += 2) {
    unsigned high = digit_of(f->at[0]), low = digit_of(f->at[1]);
    f->wrong |= high > 15 || low > 15;
    id[n] = (uint8_t)(high << 4 | (low & 15));
  }
  f->wrong |= n == 0;
  return n;
}

static void read_module(struct hak_policy_reader *r, struct fields *f) {
  uint8_t id[HAK_BUILD_ID_BYTES];
  size_t bytes = take_id(f, id);
  expect(f, " ");
  f->wrong |= f->at == f->end || f->end - f->at >= HAK_LOADED_NAME_BYTES;
  r->in_module = true;
  r->module = f->wrong ? NULL : find_module(id, bytes);
  r->stale = r->module == NULL && !f->wrong && is_loaded(f->at, (size_t)(f->end - f->at));
}

static bool is_asked(uint64_t address, uint32_t depth) {
  for (unsigned n = 1; n < hak_site_end(); n++) {
    if (hak_load(&g_site[n].address) == address && hak_load(&g_site[n].depth) == depth) return true;
  }
  return false;
}

/* True if this process writes the row of this line from memory. */
static bool is_own(const struct hak_policy_reader *r) {
  const struct hak_learnt *learnt = &r->learnt;
  if (r->kind == HAK_POLICY_LEARNER) return r->has;
  bool asked = learnt->address == 0 ? r->kind == HAK_POLICY_GENERAL : is_asked(learnt->address, learnt->depth);
  return asked && hak_big_has_learnt(learnt);
}

static void begin_row(struct hak_policy_reader *r, enum hak_policy_kind kind) {
  r->result.rows++;
  r->kind = kind;
}

static void take_line(struct hak_policy_reader *r, const struct fields *f, const struct hak_learnt *learnt) {
  r->learnt = *learnt;
  if (r->use == HAK_ROW_TAKE && !f->wrong) hak_big_restore(learnt);
  if (r->use == HAK_ROW_JOIN && !f->wrong && is_own(r)) hak_big_join(learnt);
}

/* Counts a row of a module that is not loaded or was rebuilt. */
static void count_strange(struct hak_policy_reader *r) {
  r->learnt = (struct hak_learnt){0};
  *(r->stale ? &r->result.stale : &r->result.foreign) += 1;
}

static void read_site(struct hak_policy_reader *r, struct fields *f) {
  struct hak_learnt learnt = {0};
  begin_row(r, HAK_POLICY_SITE);
  expect(f, " 0x");
  uint64_t offset = take_digits(f, 16, UINT64_MAX >> 16);
  learnt.depth = (uint32_t)take_number(f, UINT32_MAX);
  learnt.bin = (uint32_t)take_number(f, HAK_LEADER_BINS - 1);
  take_row(f, &learnt);
  f->wrong |= !r->in_module;
  r->result.sites++;
  if (r->module != NULL) learnt.address = r->module->base + offset;
  if (learnt.address != 0) take_line(r, f, &learnt);
  else count_strange(r);
}

static void read_process(struct hak_policy_reader *r, struct fields *f) {
  struct hak_learnt learnt = {.bin = HAK_ANY};
  begin_row(r, HAK_POLICY_GENERAL);
  take_row(f, &learnt);
  take_line(r, f, &learnt);
}

static void read_bin(struct hak_policy_reader *r, struct fields *f) {
  struct hak_learnt learnt = {.bin = (uint32_t)take_number(f, HAK_LEADER_BINS - 1)};
  begin_row(r, HAK_POLICY_GENERAL);
  take_row(f, &learnt);
  take_line(r, f, &learnt);
}

static void read_past(struct hak_policy_reader *r, struct fields *f) {
  struct hak_past *past = &r->result.past;
  uint32_t *field[] = {&past->runs, &past->life_ms, &past->peak_kib, &past->paid_us, &past->kept_mib_ms};
  f->wrong |= past->runs != 0; /* one such row */
  for (unsigned i = 0; i < sizeof field / sizeof field[0]; i++) *field[i] = (uint32_t)take_number(f, UINT32_MAX);
  f->wrong |= past->runs == 0 || f->at != f->end;
}

static void read_end(struct hak_policy_reader *r, struct fields *f) {
  f->wrong |= take_number(f, HAK_POLICY_LINES) != r->result.line - 1;
  expect(f, " ");
  f->wrong |= f->end - f->at != 16 || take_digits(f, 16, UINT64_MAX) != r->sum || f->at != f->end;
  r->ended = true;
}

static void read_learner_row(struct hak_policy_reader *r, struct fields *f, const struct hak_row_kind *kind) {
  uint64_t number[HAK_ROW_NUMBERS];
  begin_row(r, HAK_POLICY_LEARNER);
  for (unsigned i = 0; i < kind->numbers; i++) {
    number[i] = take_number(f, kind->bound[i].most);
    f->wrong |= number[i] < kind->bound[i].least;
  }
  f->wrong |= f->at != f->end;
  if (!f->wrong) r->has = hak_row_in(kind, number, r->use);
}

static void read_learner(struct hak_policy_reader *r, struct fields *f) {
  const struct hak_row_kind *kind = NULL;
  for (unsigned n = 0; (kind = hak_row_kind(n)) != NULL && !take_word(f, kind->word); n++) {
  }
  if (kind != NULL) read_learner_row(r, f, kind);
  else f->wrong = true;
}

/* Of format 1, without `past`, to 3. */
static void read_first(struct hak_policy_reader *r, struct fields *f) {
  expect(f, "hakmem-policy ");
  f->wrong |= take_word(f, "0");
  uint64_t format = take_digits(f, 10, UINT32_MAX);
  f->wrong |= f->at != f->end;
  if (!f->wrong && format > HAK_POLICY_FORMAT) r->result.why = "it was written by a newer HAKMEM";
  f->wrong |= format > HAK_POLICY_FORMAT;
  r->begun = true;
}

static const struct {
  char word[8];
  void (*read)(struct hak_policy_reader *r, struct fields *f);
} policy_lines[] = {{"site", read_site}, {"bin", read_bin}, {"process", read_process}, {"past", read_past},
                    {"module ", read_module}, {"end", read_end}, {"", read_learner}};

static void read_row(struct hak_policy_reader *r, struct fields *f) {
  unsigned n = 0;
  while (!take_word(f, policy_lines[n].word)) n++;
  policy_lines[n].read(r, f);
}

static void read_fields(struct hak_policy_reader *r, struct fields *f) {
  if (r->ended) f->wrong = true;
  else if (r->begun) read_row(r, f);
  else read_first(r, f);
}

static void tell_other(struct hak_policy_reader *r, const char *line, size_t bytes) {
  if (r->name_bytes != 0) r->visit(r->to, r->name, r->name_bytes);
  r->name_bytes = 0;
  r->visit(r->to, line, bytes);
}

/* Visits the row of this line, unless written from memory; a row of a rebuilt module is of no use any more. */
static void tell_line(struct hak_policy_reader *r, const char *line, size_t bytes) {
  static const char module[] = "module ";
  bool names = bytes > sizeof module && memcmp(line, module, sizeof module - 1) == 0;
  if (names) memcpy(r->name, line, bytes);
  if (names) r->name_bytes = bytes;
  bool dropped = r->kind == HAK_POLICY_SITE && r->stale;
  if (r->kind != HAK_POLICY_OTHER && !dropped && !is_own(r)) tell_other(r, line, bytes);
}

/* False: the line is wrong. */
static bool read_line(struct hak_policy_reader *r, const char *line, size_t bytes) {
  struct fields f = {.at = line, .end = line + bytes};
  r->result.line++;
  r->kind = HAK_POLICY_OTHER;
  read_fields(r, &f);
  if (r->visit != NULL && !f.wrong) tell_line(r, line, bytes);
  r->sum = hak_sum(r->sum, line, bytes + 1);
  return !f.wrong && r->result.line <= HAK_POLICY_LINES + 1;
}

/* ---- the file ---- */

/* Makes room at the end, and fills the room. False: end of file, an error, or a line longer than any valid line. */
static bool refill(struct hak_policy_source *s, int *error) {
  memmove(s->text, s->text + s->at, s->have - s->at);
  s->have -= s->at;
  s->at = 0;
  long n = hak_text_read(s->descriptor, s->text + s->have, sizeof s->text - s->have);
  if (n < 0) *error = (int)-n;
  if (n > 0) s->have += (size_t)n;
  return n > 0;
}

static void read_lines(struct hak_policy_reader *r, struct hak_policy_source *s) {
  for (;;) {
    const char *line = s->text + s->at, *end = hak_memchr(line, '\n', s->have - s->at);
    if (end == NULL) {
      if (refill(s, &r->result.error)) continue;
      bool whole = r->ended && s->have == 0;
      if (r->result.error == 0 && !whole) r->result.error = EINVAL, r->result.line++;
      return;
    }
    s->at += (size_t)(end + 1 - line);
    if (read_line(r, line, (size_t)(end - line))) continue;
    r->result.error = r->result.why != NULL ? EPROTONOSUPPORT : EINVAL;
    return;
  }
}

/* Into g_policy.reader, which is begun. */
static void read_whole(const char *path) {
  struct hak_policy_source *s = &g_policy.source;
  struct hak_policy_reader *r = &g_policy.reader;
  r->sum = HAK_SUM_FIRST;
  s->have = s->at = 0;
  s->descriptor = hak_trusted_open(path, &r->result.why);
  if (s->descriptor < 0) {
    r->result.error = (int)-s->descriptor;
    return;
  }
  read_lines(r, s);
  if (r->result.error != 0) r->result.past = (struct hak_past){0};
  hak_text_close(s->descriptor);
}

static const struct hak_policy_read *read_file(const char *path, enum hak_row_use use) {
  memset(&g_policy.reader, 0, sizeof g_policy.reader);
  g_policy.reader.use = use;
  read_whole(path);
  return &g_policy.reader.result;
}

void hak_policy_visit_others_locked(const char *path, hak_policy_visit *visit, void *to) {
  if (read_file(path, HAK_ROW_HAS)->error != 0) return;
  memset(&g_policy.reader, 0, sizeof g_policy.reader);
  g_policy.reader.visit = visit;
  g_policy.reader.to = to;
  read_whole(path);
}

static uint64_t sum_of_path(const char *path) { return hak_sum(HAK_SUM_FIRST, path, hak_strlen(path)); }

bool hak_policy_goes_on_from(const char *path) {
  if (g_policy.file == 0) g_policy.file = sum_of_path(path);
  return g_policy.file == sum_of_path(path);
}

struct hak_policy_read hak_policy_join_locked(const char *path) {
  struct hak_policy_read before = *read_file(path, HAK_ROW_HAS);
  bool joins = before.error == 0 && hak_policy_goes_on_from(path);
  bool changed = joins && hak_policy_sum(g_policy.reader.sum) != g_policy.sum;
  if (changed && read_file(path, HAK_ROW_JOIN)->error == 0) g_policy.sum = hak_policy_sum(g_policy.reader.sum);
  return before;
}

static void begin_file(const char *path) {
  if (!hak_policy_goes_on_from(path)) hak_tune_forget_file();
  g_policy.file = sum_of_path(path);
}

struct hak_policy_read hak_policy_read_locked(const char *path) {
  bool sound = read_file(path, HAK_ROW_HAS)->error == 0;
  if (sound) begin_file(path);
  if (sound && read_file(path, HAK_ROW_TAKE)->error == 0) g_policy.sum = hak_policy_sum(g_policy.reader.sum);
  return g_policy.reader.result;
}
