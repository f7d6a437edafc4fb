/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory that the program mapped itself. */
#include "wrong.h"

int main(void) {
  void *p = mmap(NULL, 4000000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  announce(p);
  free(hidden(p));
  return 0;
}
