/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* huge_modes.c: which pages the system gives, and whether by advice.
 *
 * what      Reads the system's files once. See os.h.
 * owner     g_huge_modes.
 * failure   Without the files: huge pages as if by advice, none of the middle sizes.
 */
#include "base/atomic.h"
#include "base/bits.h"
#include "base/config.h"
#include "base/fmt.h"
#include "base/str.h"
#include "os/call.h"
#include "os/os.h"
#include "os/text.h"

#include <errno.h>
#include <sys/mman.h>

#define FOLDER "/sys/kernel/mm/transparent_hugepage/"

enum mode { NEVER, BY_ADVICE, GIVEN };

struct hak_huge_modes g_huge_modes;

/* "always inherit [madvise] never". Without the file: `missing`. */
static enum mode mode_in(const char *path, enum mode inherited, enum mode missing) {
  char text[64];
  if (hak_text_of(path, text, sizeof text) != 0) return missing;
  if (hak_strstr(text, "[inherit]") != NULL) return inherited;
  return hak_strstr(text, "[always]") != NULL ? GIVEN : hak_strstr(text, "[madvise]") != NULL ? BY_ADVICE : NEVER;
}

static size_t largest_given(enum mode inherited) {
  static const char sizes[][72] = {FOLDER "hugepages-1024kB/enabled", FOLDER "hugepages-512kB/enabled",
                                   FOLDER "hugepages-256kB/enabled", FOLDER "hugepages-128kB/enabled",
                                   FOLDER "hugepages-64kB/enabled"};
  size_t bytes = 1 << 20;
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++, bytes /= 2) {
    if (mode_in(sizes[i], inherited, NEVER) == GIVEN) return bytes;
  }
  return 0;
}

/* hugepages-2048kB where a page has 4 KiB. */
static enum mode mode_of_huge(enum mode all) {
  struct hak_line path;
  hak_line_start(&path);
  hak_line_text(&path, FOLDER "hugepages-");
  hak_line_dec(&path, hak_os_huge_bytes() >> 10);
  hak_line_text(&path, "kB/enabled");
  return mode_in(path.text, all, all);
}

void hak_os_look_at_huge(bool none) {
  enum mode all = mode_in(FOLDER "enabled", BY_ADVICE, BY_ADVICE);
  enum mode huge = mode_of_huge(all);
  hak_store(&g_huge_modes.huge_by_advice, huge == BY_ADVICE || (none && huge == GIVEN));
  hak_store(&g_huge_modes.middle_bytes, huge == GIVEN ? 0 : largest_given(all));
}

bool hak_os_huge_is_by_advice(void) { return hak_load(&g_huge_modes.huge_by_advice); }

/* A kernel without huge pages does not know the advice, and is asked once. */
void hak_os_unadvise_huge(void *p, size_t bytes) {
  if (!hak_os_huge_is_by_advice()) return;
  hak_os_tally(HAK_OS_ADVISE);
  if (HAK_KERNEL(SYS_madvise, p, bytes, MADV_NOHUGEPAGE) == -EINVAL) hak_store(&g_huge_modes.huge_by_advice, false);
}
