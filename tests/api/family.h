/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* family.h: the malloc family as the dynamic linker resolved it, called so that no compiler can fold the calls.
 *
 * what      One pointer per function, looked up by name: a compiler that knows malloc must not fold the calls away,
 *           and glibc 2.36 has no free_sized. The tests of this folder run with libhakmem.so preloaded.
 * owner     Blocks belong to the test that allocated; Blocks frees the blocks that a test left.
 * locks     none; the pointers are set once, before main.
 * failure   A name that is missing ends the program with one line (see Resolved).
 * not here  operator new and delete (new_test.cpp), the hak_ names (tests/model).
 */
#ifndef HAK_TESTS_API_FAMILY_H
#define HAK_TESTS_API_FAMILY_H

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace family {

template <class Function>
Function *resolved(const char *name) {
  void *address = dlsym(RTLD_DEFAULT, name);
  if (address == nullptr) {
    std::fprintf(stderr, "family.h: nothing in this process exports %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function *>(address);
}

using Allocate = void *(size_t);
using Allocate2 = void *(size_t, size_t);
using Release = void(void *);

inline Allocate *const malloc = resolved<Allocate>("malloc");
inline Allocate2 *const calloc = resolved<Allocate2>("calloc");
inline auto *const realloc = resolved<void *(void *, size_t)>("realloc");
inline auto *const reallocarray = resolved<void *(void *, size_t, size_t)>("reallocarray");
inline Allocate2 *const memalign = resolved<Allocate2>("memalign");
inline Allocate2 *const aligned_alloc = resolved<Allocate2>("aligned_alloc");
inline auto *const posix_memalign = resolved<int(void **, size_t, size_t)>("posix_memalign");
inline Allocate *const valloc = resolved<Allocate>("valloc");
inline Allocate *const pvalloc = resolved<Allocate>("pvalloc");
inline Release *const free = resolved<Release>("free");
inline auto *const usable_size = resolved<size_t(void *)>("malloc_usable_size");

inline bool aligned(const void *p, size_t alignment) {
  return (reinterpret_cast<uintptr_t>(p) & (alignment - 1)) == 0;
}

inline size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

/* A test's blocks; freed at the end of the test, also when an assertion ended the test early. */
class Blocks {
 public:
  Blocks() = default;
  Blocks(const Blocks &) = delete;
  Blocks &operator=(const Blocks &) = delete;
  ~Blocks() { clear(); }

  void *keep(void *p) {
    held_.push_back(p);
    return p;
  }
  void clear() {
    for (void *p : held_) free(p);
    held_.clear();
  }
  const std::vector<void *> &all() const { return held_; }

 private:
  std::vector<void *> held_;
};

/* The n bytes at p hold only `byte`. */
inline bool filled_with(const void *p, unsigned char byte, size_t n) {
  const auto *bytes = static_cast<const unsigned char *>(p);
  return n == 0 || (bytes[0] == byte && std::memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* A pattern of the seed and each byte's offset: detects a moved or torn copy. */
inline void stamp(void *p, size_t n, unsigned seed) {
  auto *bytes = static_cast<unsigned char *>(p);
  for (size_t i = 0; i < n; i++) bytes[i] = static_cast<unsigned char>((i * 131) ^ (i >> 8) ^ seed);
}

inline bool stamped(const void *p, size_t n, unsigned seed) {
  const auto *bytes = static_cast<const unsigned char *>(p);
  for (size_t i = 0; i < n; i++)
    if (bytes[i] != static_cast<unsigned char>((i * 131) ^ (i >> 8) ^ seed)) return false;
  return true;
}

}  // namespace family

#endif
