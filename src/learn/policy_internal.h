/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy_internal.h: shared by reading and writing of a policy.
 *
 * what      The modules loaded now, and the sum over the lines.
 * owner     g_policy, under g_policy.lock.
 */
#ifndef HAK_LEARN_POLICY_INTERNAL_H
#define HAK_LEARN_POLICY_INTERNAL_H

#include "learn/big_keep.h"
#include "learn/policy.h"
#include "os/draft.h"
#include "os/loaded.h"
#include "os/lock.h"

struct hak_policy {
  struct hak_lock lock;
  uint64_t process; /* that began with the file, not a fork's child */
  unsigned modules;
  struct hak_loaded module[HAK_POLICY_MODULES];
  struct hak_learnt row[HAK_LEADER_BINS + 1];
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

/* All functions below: the lock is held, and the modules are listed. */
struct hak_policy_read hak_policy_read_locked(const char *path);

/* The row `past` of a sound file; runs 0: it has none. */
struct hak_past hak_policy_past_locked(const char *path);

/* Visits the lines, without line ends, of the rows in a sound file that this process does not write from memory; a
 * module's line comes before the lines of the module's sites. */
typedef void hak_policy_visit(void *to, const char *line, size_t bytes);
void hak_policy_visit_others_locked(const char *path, hak_policy_visit *visit, void *to);

/* past: false, the row in the file stays. */
int hak_policy_write_locked(const char *path, bool past);

#endif
