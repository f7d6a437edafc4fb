/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// delete of a pointer that is not the allocator's: the message names the program, not operator delete, as caller.
#include "wrong.h"

int main() {
  static char data[64];
  announce(data);
  operator delete(hidden(data));
  return 0;
}
