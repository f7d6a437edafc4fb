/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* draft.h: a text file that is written whole or not at all.
 *
 * what      A draft beside the file, which takes its place when all is written.
 *
 *               "<path>.<pid>.<ns>.new"  --end--> renamed to "<path>"     a write failed: removed, the old file stays
 *
 * owner     The caller's record, from begin to end.
 * failure   An errno, negative, from the end; what is put after a failure is dropped. errno is left as it was.
 *           EINVAL: what is at the path is no file, and stays.
 */
#ifndef HAK_OS_DRAFT_H
#define HAK_OS_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAK_DRAFT_BYTES = 4096, HAK_DRAFT_PATH_BYTES = 400 };

struct hak_draft {
  long descriptor;
  long error; /* the first; 0: none */
  size_t used;
  uint64_t bytes; /* of the file, so far */
  char text[HAK_DRAFT_BYTES];
  long folder; /* that it lies in, open until the end; or where the process is */
  size_t base; /* where the name in it begins */
  char path[HAK_DRAFT_PATH_BYTES]; /* of the draft */
};

void hak_draft_begin(struct hak_draft *draft, const char *path);
void hak_draft_put(struct hak_draft *draft, const char *text, size_t bytes);

/* Could a file be written there now? 0, or what stands in the way. */
long hak_draft_try(struct hak_draft *draft, const char *path);

/* Nothing is begun any more. 0, or what went wrong; the file is then as it was. */
long hak_draft_end(struct hak_draft *draft, const char *path);

#endif
