/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// probe.h: shared parts of the probes.
//
// what      Giving up with one line, a block that the compiler cannot reason about, and the name of the library that
//           serves malloc.
// owner     Each probe includes this header once.
// hot path  Not counted: the code lies in the probe.
// failure   Exit 1 with one line on stderr.
// not here  The counted calls (fast_paths.cpp, patterns.cpp).
#ifndef HAKMEM_TESTS_INSTRUCTIONS_PROBE_H
#define HAKMEM_TESTS_INSTRUCTIONS_PROBE_H

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace probe {

[[noreturn]] inline void give_up(const char *what, std::size_t bytes) {
  std::fprintf(stderr, "probe: %s of %zu bytes failed\n", what, bytes);
  std::exit(1);
}

inline void *kept(void *p, const char *what, std::size_t bytes) {
  if (!p) give_up(what, bytes);
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

// The file of the library that serves malloc; only instructions of that file are counted.
inline void name_library() {
  Dl_info info;
  void *where = dlsym(RTLD_DEFAULT, "malloc");
  if (!where || !dladdr(where, &info)) give_up("finding malloc", 0);
  std::printf("library %s\n", info.dli_fname);
}

}  // namespace probe

#endif
