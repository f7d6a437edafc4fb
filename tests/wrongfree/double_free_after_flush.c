/* The block is back in its slab when it is freed again: its bit is set already. */
#include "wrong.h"

int main(void) {
  void *other = new_block(100);
  void *p = new_block(100);
  announce(p);
  free(p);
  free(other);
  provoke_flush(100);
  other = new_block(100);
  free(hidden(p));
  free(other);
  provoke_flush(100);
  return 0;
}
