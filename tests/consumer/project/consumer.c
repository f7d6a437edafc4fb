/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Uses the installed header and library; MALLOC_IS_HAKMEM says whether the program's malloc is HAKMEM's. */
#include <hakmem/hakmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int right, const char *what) {
  if (!right) {
    printf("wrong: %s\n", what);
    failures++;
  }
}

int main(void) {
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", HAK_VERSION_MAJOR, HAK_VERSION_MINOR, HAK_VERSION_PATCH);
  expect(strcmp(version, hak_version()) == 0, "the library's version is the header's");

  char *own = hak_malloc(100);
  char *plain = malloc(100);
  char *by_libc = strdup("made inside libc");
  expect(hak_owns(own), "hak_malloc gives a block of hakmem");
  expect(hak_owns(plain) == MALLOC_IS_HAKMEM, "malloc is whose it should be");
  expect(hak_owns(by_libc) == MALLOC_IS_HAKMEM, "malloc inside libc is whose it should be");
  hak_free(own);
  free(plain);
  free(by_libc);
  return failures != 0;
}
