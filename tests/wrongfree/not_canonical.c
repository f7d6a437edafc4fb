/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A bit pattern that is no address at all. */
#include "wrong.h"

int main(void) {
  announce((void *)0xdeadbeefdeadbeefu);
  free(hidden((void *)0xdeadbeefdeadbeefu));
  return 0;
}
