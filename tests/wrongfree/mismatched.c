/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that the program mapped and tagged itself, by another tag than the pointer's: where the processor checks tags
 * (AArch64's memory tagging extension), a load through the pointer would end the program. Elsewhere only the pointer is
 * tagged. */
#include "wrong.h"

enum { TAG_SHIFT = 56, MEMORYS = 5, POINTERS = 7 };

static void *tagged(char *p, unsigned tag) { return hidden((void *)((uintptr_t)p | (uintptr_t)tag << TAG_SHIFT)); }

#ifdef __aarch64__
#include <sys/prctl.h>

enum { CHECK_AT_ONCE = PR_TAGGED_ADDR_ENABLE | PR_MTE_TCF_SYNC | 0xfffeu << PR_MTE_TAG_SHIFT, GRANULE = 16 };

static int protection(void) { return prctl(PR_SET_TAGGED_ADDR_CTRL, CHECK_AT_ONCE, 0, 0, 0) == 0 ? 0x20 /* PROT_MTE */ : 0; }

static void tag(char *p, size_t bytes, unsigned tag) {
  for (size_t at = 0; at < bytes; at += GRANULE)
    __asm__ volatile(".arch armv8.5-a+memtag\n stg %0, [%0]" : : "r"(tagged(p + at, tag)) : "memory");
}
#else
static int protection(void) { return 0; }
static void tag(char *p, size_t bytes, unsigned tag) { memset(p, (int)tag, bytes); }
#endif

int main(int count, char **arguments) {
  enum { BYTES = 4000000, NEAR = 65536 };
  const int more = protection();
  char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE | more, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)arguments;
  if (more != 0) tag(p, NEAR, MEMORYS);
  if (count > 1) return *(volatile char *)tagged(p, POINTERS); /* by hand: shows that tags are checked */
  announce(tagged(p, POINTERS));
  free(tagged(p, POINTERS));
  return 0;
}
