/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* turns.c: allocates blocks of 2 MiB in two functions: the first keeps all blocks, the second frees each block before
 * the next allocation. Prints HAKMEM's figures of both sites, if HAKMEM serves the program: a line with the name,
 * blocks, hits and fetched pages of each. */
#include <dlfcn.h>
#include <hakmem/hakmem.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { bytes = 2 << 20, keeps = 4, turns = 10 };

#define SITE __attribute__((noinline, visibility("default")))

void *kept[keeps];

SITE void *ask_and_keep(void)
{
  void *volatile p = malloc(bytes);
  return memset(p, 1, bytes);
}

SITE void *ask_in_turn(void)
{
  void *volatile p = malloc(bytes);
  return memset(p, 1, bytes);
}

static void say_what_was_counted(void)
{
  bool (*site)(unsigned, struct hak_site_stats *);
  int (*name)(uint64_t, char *, size_t);
  *(void **)&site = dlsym(RTLD_DEFAULT, "hak_site");
  *(void **)&name = dlsym(RTLD_DEFAULT, "hak_site_name");
  struct hak_site_stats s = {.version = HAK_SITE_VERSION, .size = sizeof s};
  char text[HAK_SITE_NAME_BYTES];
  for (unsigned n = 0; site != NULL && site(n, &s); n++) {
    if (s.address == 0 || s.count < keeps) continue;
    name(s.address, text, sizeof text);
    printf("counted: %s: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", text, s.count, s.hits, s.fetched);
  }
}

int main(void)
{
  for (int n = 0; n < keeps; n++) kept[n] = ask_and_keep();
  for (int n = 0; n < turns; n++) free(ask_in_turn());
  say_what_was_counted();
  return 0;
}
