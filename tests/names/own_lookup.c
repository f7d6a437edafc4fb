/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* own_lookup.c: a program's own dlsym and dlvsym that find no symbol, as in a program that must load nothing.
 *
 * what      Linked into host.c and exported.
 */
#include <stddef.h>

void *dlsym(void *library, const char *name);
void *dlsym(void *library, const char *name) {
  (void)library, (void)name;
  return NULL;
}

void *dlvsym(void *library, const char *name, const char *version);
void *dlvsym(void *library, const char *name, const char *version) {
  (void)library, (void)name, (void)version;
  return NULL;
}
