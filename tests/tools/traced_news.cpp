/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// traced_news.cpp: every form of operator new that is a separate call, once, for the tests of `hakmem trace`. Prints
// the size of each, and the log2 of its alignment.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>

namespace {

void say(size_t n, int log) {
  char line[50];
  int used = snprintf(line, sizeof line, "%zu %d\n", n, log);
  if (write(1, line, static_cast<size_t>(used)) < 0) _exit(1);
}

}  // namespace

int main() {
  void *p = ::operator new(10);
  say(10, 0);
  ::operator delete(p);
  p = ::operator new[](20);
  say(20, 0);
  ::operator delete[](p, size_t{20});
  p = ::operator new(30, std::nothrow);
  say(30, 0);
  ::operator delete(p, std::nothrow);
  p = ::operator new(40, std::align_val_t{128});
  say(40, 7);
  ::operator delete(p, std::align_val_t{128});
  p = ::operator new[](50, std::align_val_t{4096}, std::nothrow);
  say(50, 12);
  ::operator delete[](p, std::align_val_t{4096});
}
