/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* open_host.c: opens the library named, within half a minute. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments) {
  alarm(30); /* ends a program that waits for ever */
  if (count != 2 || dlopen(arguments[1], RTLD_NOW) == NULL) return 1;
  puts("done");
  return 0;
}
