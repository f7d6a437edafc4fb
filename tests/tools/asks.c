/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asks.c [LIBRARY]: allocates in two functions, and in a library that is closed afterwards. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define SITE __attribute__((noinline, visibility("default")))

SITE void *ask_for_large(void)
{
  void *volatile p = malloc(100000);
  return memset(p, 1, 100000);
}

SITE void *ask_for_small(void)
{
  void *volatile p = malloc(100);
  return p;
}

static void ask_from(const char *library)
{
  void *opened = dlopen(library, RTLD_NOW);
  if (opened == NULL) exit(2);
  void *(*ask)(size_t);
  *(void **)&ask = dlsym(opened, "ask_from_library");
  free(ask(200000));
  if (dlclose(opened) != 0) exit(3);
}

int main(int count, char **arguments)
{
  void *kept = NULL;
  for (int n = 0; n < 10; n++) free(ask_for_large());
  for (int n = 0; n < 1000; n++) free(ask_for_small());
  if (count > 1) ask_from(arguments[1]);
  kept = ask_for_large();
  return kept == NULL;
}
