/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* draft.h: a text file that is written whole or not at all.
 *
 * what      A draft beside the file, renamed to the file's name when complete.
 *
 *               "<path>.<pid>.<ns>.new"  --end--> renamed to "<path>"     a write failed: removed, the old file stays
 *
 * owner     The caller's record, from hak_draft_begin to hak_draft_end.
 * failure   hak_draft_end returns the first error, a negative errno; text put after an error is dropped. errno is not
 *           changed. EINVAL: the path names something other than a regular file, and nothing is replaced.
 */
#ifndef HAK_OS_DRAFT_H
#define HAK_OS_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAK_DRAFT_BYTES = 3072, HAK_DRAFT_PATH_BYTES = 400 };

struct hak_draft {
  long descriptor;
  long error; /* the first error, a negative errno; 0: none */
  size_t used;
  uint64_t bytes; /* length of the file so far */
  char text[HAK_DRAFT_BYTES];
  long folder; /* descriptor of the draft's folder, open until the end; AT_FDCWD: working folder */
  size_t base; /* offset of the file name in `path` */
  char path[HAK_DRAFT_PATH_BYTES]; /* path of the draft */
};

void hak_draft_begin(struct hak_draft *draft, const char *path);
void hak_draft_put(struct hak_draft *draft, const char *text, size_t bytes);

/* Returns 0 if a file can be written at `path` now, else a negative errno. Leaves no file. */
long hak_draft_try(struct hak_draft *draft, const char *path);

/* Ends the draft. Returns 0 with the new file in place, or the first error with the old file unchanged. */
long hak_draft_end(struct hak_draft *draft, const char *path);

#endif
