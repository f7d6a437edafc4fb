/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_static.cpp: failing operator new in a program without shared libraries.
 *
 * what      Linked -static with libhakmem-override.a: bad_alloc, nothrow and a throwing new-handler work, though the
 *           program refers to no name of the C++ runtime but std::bad_alloc.
 * failure   A line, and exit status 1.
 * not here  Shared libraries: new_test.cpp, new_without_runtime.c.
 */
#include <cstdint>
#include <cstdio>
#include <new>

static const volatile std::size_t too_much = SIZE_MAX / 2 - 4096;

static bool throws_bad_alloc() {
  try {
    ::operator delete(::operator new(too_much));
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

static bool nothrow_gives_null() { return ::operator new(too_much, std::nothrow) == nullptr; }

static bool handler_may_throw() {
  std::set_new_handler([] { throw std::bad_alloc(); });
  return nothrow_gives_null() && throws_bad_alloc();
}

int main() {
  if (throws_bad_alloc() && nothrow_gives_null() && handler_may_throw()) return 0;
  std::puts("new_static: a failing operator new did not do as the standard says");
  return 1;
}
