/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* asks_library.c: a library that allocates. */
#include <stdlib.h>

void *ask_from_library(size_t bytes)
{
  void *volatile p = malloc(bytes);
  return p;
}
