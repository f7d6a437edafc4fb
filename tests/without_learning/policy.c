/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy.c: a program that asks a library without learning to learn.
 *
 * what      hak_policy_save, hak_policy_load, hak_set and hak_get; prints the results.
 */
#include <errno.h>
#include <hakmem/experimental.h>
#include <hakmem/hakmem.h>
#include <stdio.h>

int main(void) {
  char mode[32] = "", off[32] = "";
  const int saved = hak_policy_save("policy"), loaded = hak_policy_load("policy"), set = hak_set("mode", "evolving");
  hak_get("mode", mode, sizeof mode);
  hak_set("mode", "off");
  const int again = hak_set("mode", "shadow");
  hak_get("mode", off, sizeof off);
  printf("%d %d %d %s %d %s\n", saved == ENOTSUP, loaded == ENOTSUP, set == ENOTSUP, mode, again == ENOTSUP, off);
  return 0;
}
