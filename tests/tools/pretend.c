/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pretend.c: forward.c with a hak_owns that returns true: passes for HAKMEM until its calls are counted. */
#include "forward.c"
#include <stdbool.h>

bool hak_owns(const void *p)
{
  return p != NULL;
}
