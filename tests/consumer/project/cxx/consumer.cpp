/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// operator new and everything built on operator new are HAKMEM's, and running out of memory is std::bad_alloc.
#include <hakmem/hakmem.h>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <string>

static bool runs_out_by_exception() {
  volatile std::size_t absurd = PTRDIFF_MAX;
  try {
    ::operator delete(::operator new(absurd));
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

int main() {
  auto number = std::make_unique<std::uint64_t>(7);
  std::map<int, std::string> words;
  for (int i = 0; i < 1000; i++) words[i] = std::string(static_cast<std::size_t>(i), 'x');
  bool right = hak_owns(number.get()) && hak_owns(words[999].data()) && runs_out_by_exception();
  if (!right) std::puts("wrong: operator new is not hakmem's");
  return right ? 0 : 1;
}
