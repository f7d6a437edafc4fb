/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy_internal.h: shared by reading and writing of a policy.
 *
 * what      The modules loaded now, the state of a reader, and the sum over the lines.
 * owner     g_policy, under g_policy.lock.
 */
#ifndef HAK_LEARN_POLICY_INTERNAL_H
#define HAK_LEARN_POLICY_INTERNAL_H

#include "learn/big_keep.h"
#include "learn/policy.h"
#include "learn/rows.h"
#include "os/draft.h"
#include "os/loaded.h"
#include "os/lock.h"

/* Visits the lines, without line ends, of the rows in a sound file that this process does not write from memory; a
 * module's line comes before the lines of the module's sites. */
typedef void hak_policy_visit(void *to, const char *line, size_t bytes);

enum { HAK_POLICY_LINE = 400 };

/* The file, read line by line. */
struct hak_policy_source {
  long descriptor;
  size_t have, at;
  char text[HAK_POLICY_LINE];
};

enum hak_policy_kind { HAK_POLICY_OTHER, HAK_POLICY_GENERAL, HAK_POLICY_SITE, HAK_POLICY_LEARNER };

/* The state of the lines so far. */
struct hak_policy_reader {
  struct hak_policy_read result;
  uint64_t sum;
  enum hak_row_use use;    /* of the rows */
  hak_policy_visit *visit; /* rows that this process lacks are visited; NULL: no */
  void *to;
  char name[HAK_POLICY_LINE]; /* the line of the current module, until visited */
  size_t name_bytes;
  enum hak_policy_kind kind; /* of the current line; OTHER: no row */
  struct hak_learnt learnt;  /* row of the current line, GENERAL or SITE */
  bool has;                  /* this process has the row of the current line, LEARNER */
  bool begun, ended, in_module;
  const struct hak_loaded *module; /* of the last module line; NULL: not loaded */
  bool stale;                      /* not loaded, but a module of the same name is: rebuilt */
};

struct hak_policy {
  struct hak_lock lock;
  uint64_t process; /* that began with the file, not a fork's child */
  uint64_t file;    /* sum of the path of the file that this process goes on from; 0: none yet */
  uint64_t sum;     /* hak_policy_sum of that file when last taken, joined or written: nothing new in the same */
  unsigned modules;
  struct hak_loaded module[HAK_POLICY_MODULES];
  union { /* a file is read, or rows are written */
    struct {
      struct hak_policy_source source;
      struct hak_policy_reader reader;
    };
    struct hak_learnt row[HAK_LEADER_BINS + 1];
  };
  struct hak_draft draft;
  char path[HAK_DRAFT_PATH_BYTES]; /* the program's file in the folder that the setting names; empty: it names a file */
};
extern HAK_HIDDEN struct hak_policy g_policy;

/* FNV-1a (Fowler, Noll and Vo, 1991). */
#define HAK_SUM_FIRST 0xcbf29ce484222325u
static inline uint64_t hak_sum(uint64_t sum, const char *text, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3u;
  return sum;
}

/* A file's sum, and the kinds of rows that count: of a kind that counts from here on the file has news. */
static inline uint64_t hak_policy_sum(uint64_t sum) { return sum ^ hak_rows_counting(); }

/* All functions below: the lock is held, and the modules are listed; rows of learners as from hak_rows_begin. */
struct hak_policy_read hak_policy_read_locked(const char *path);

/* True for the file that this process goes on from: of this path, if none yet. */
bool hak_policy_goes_on_from(const char *path);

/* Joins the rows of that file, if sound, with this process's, if another process wrote the file since this process read
 * or wrote the file. Returns the result of reading. */
struct hak_policy_read hak_policy_join_locked(const char *path);

void hak_policy_visit_others_locked(const char *path, hak_policy_visit *visit, void *to);

/* past: false, the row in the file stays. */
int hak_policy_write_locked(const char *path, bool past);

#endif
