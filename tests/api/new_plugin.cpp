/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_plugin.cpp: C++ that is loaded late into a C process.
 *
 * what      Loaded by new_without_runtime.c and new_in_c.c with dlopen, and libstdc++ with the plugin, after
 *           libhakmem.so was linked.
 * failure   false.
 * not here  Everything else about operator new: new_test.cpp.
 */
#include <cstddef>
#include <cstdint>
#include <new>

namespace {
const volatile std::size_t too_much = SIZE_MAX / 2 - 4096;
const volatile std::size_t no_alignment = 3;
}

extern "C" bool plugin_new_works() {
  char *p = static_cast<char *>(::operator new(100));
  p[99] = 1;
  ::operator delete(p);
  return true;
}

extern "C" bool plugin_new_throws() {
  try {
    ::operator delete(::operator new(too_much));
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

extern "C" bool plugin_nothrow_gives_null() {
  return ::operator new(too_much, std::nothrow) == nullptr && ::operator new[](too_much, std::nothrow) == nullptr;
}

extern "C" bool plugin_handler_may_throw() {
  std::set_new_handler([] { throw std::bad_alloc(); });
  constexpr std::align_val_t align{64};
  try {
    const bool null = ::operator new(too_much, std::nothrow) == nullptr &&
                      ::operator new(too_much, align, std::nothrow) == nullptr &&
                      ::operator new(8, std::align_val_t{no_alignment}, std::nothrow) == nullptr;
    std::set_new_handler(nullptr);
    return null;
  } catch (...) {
    return false;
  }
}

extern "C" void plugin_throw() { throw 42; }
