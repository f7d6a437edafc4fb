/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// fast_paths.cpp: makes the calls whose instructions are counted, one small callgrind dump for each. what For every
// size class up to 32 KiB, the classes of runs up to 256 KiB, and both ends of each, warms the caches, then makes
// `calls` calls of one function with collection switched on for exactly that call, and dumps under the name "<function>
// <class bytes> <asked bytes>". Runs under valgrind --tool=callgrind with the library preloaded. owner fast_paths.py
// starts the probe and reads the dumps. locks None; one thread. hot path The library's; the probe's instructions lie in
// a separate object and are not counted. failure Exit 1 with one line when a call fails; a realloc within the class
// that moves is a line on stdout. not here Counting, judging, the disassembly (fast_paths.py).
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#include "probe.h"

using probe::kept;

namespace {

constexpr int calls = 4;
constexpr int warm_blocks = 8;
constexpr int warm_pairs = 256;
constexpr std::size_t largest_slot = 32768, largest = 262144, unit = 65536;

// The class after `bytes`: 16-byte steps to 128, then eight per doubling, then runs of 64 KiB units.
std::size_t next_class(std::size_t bytes) {
  if (bytes >= largest_slot) return bytes / unit * unit + unit;
  std::size_t step = 16;
  while (bytes >= step * 16) step *= 2;
  return bytes + step;
}

// Leaves a few free blocks of the class on top of the magazine: neither none nor a full magazine. The thread's byte
// budget moves from idle classes to this class only after a number of misses, hence the many pairs.
void warm(std::size_t bytes) {
  void *blocks[warm_blocks];
  for (void *&p : blocks) p = kept(std::malloc(bytes), "malloc", bytes);
  for (void *p : blocks) std::free(p);
  for (int i = 0; i < warm_pairs; ++i) {
    void *p = kept(std::malloc(bytes), "malloc", bytes);
    std::free(p);
  }
}

void dump(const char *function, std::size_t class_bytes, std::size_t bytes) {
  char name[64];
  std::snprintf(name, sizeof name, "%s %zu %zu", function, class_bytes, bytes);
  CALLGRIND_DUMP_STATS_AT(name);
}

// One function under test: `before` prepares, `call` is counted, `after` frees.
template <typename Before, typename Call, typename After>
void measure(const char *function, std::size_t class_bytes, std::size_t bytes, Before before, Call call, After after) {
  warm(bytes);
  for (int i = 0; i < calls; ++i) {
    void *p = before();
    CALLGRIND_TOGGLE_COLLECT;
    p = call(p);
    CALLGRIND_TOGGLE_COLLECT;
    after(p);
  }
  dump(function, class_bytes, bytes);
}

void *nothing() { return nullptr; }

void measure_c(std::size_t size, std::size_t n) {
  auto make = [n] { return kept(std::malloc(n), "malloc", n); };
  auto make_whole = [size] { return kept(std::malloc(size), "malloc", size); };
  auto check = [n](void *p) { std::free(kept(p, "malloc or calloc", n)); };
  measure("malloc", size, n, nothing, [n](void *) { return std::malloc(n); }, check);
  measure("free", size, n, make, [](void *p) { std::free(p); return p; }, [](void *) {});
  measure("calloc", size, n, nothing, [n](void *) { return std::calloc(1, n); }, check);
  measure("realloc", size, n, make_whole, [n, size](void *p) {
    void *q = std::realloc(p, n);
    if (q != p) std::printf("moved realloc of %zu B (class %zu)\n", n, size);
    return q;
  }, check);
}

void measure_cxx(std::size_t size, std::size_t n) {
  auto make = [n] { return kept(::operator new(n), "new", n); };
  auto check = [n](void *p) { ::operator delete(kept(p, "new", n)); };
  measure("new", size, n, nothing, [n](void *) { return ::operator new(n); }, check);
  measure("new_array", size, n, nothing, [n](void *) { return ::operator new[](n); }, check);
  measure("new_nothrow", size, n, nothing, [n](void *) { return ::operator new(n, std::nothrow); }, check);
  measure("delete", size, n, make, [](void *p) { ::operator delete(p); return p; }, [](void *) {});
  measure("delete_sized", size, n, make, [n](void *p) { ::operator delete(p, n); return p; }, [](void *) {});
}

// With arguments only the classes of these sizes.
bool is_wanted(std::size_t size, int argc, char **argv) {
  bool wanted = argc < 2;
  for (int i = 1; i < argc; i++) wanted = wanted || std::strtoul(argv[i], nullptr, 10) == size;
  return wanted;
}

}  // namespace

int main(int argc, char **argv) {
  probe::name_library();
  std::size_t below = 0;
  for (std::size_t size = 16; size <= largest; size = next_class(size)) {
    if (!is_wanted(size, argc, argv)) {
      below = size;
      continue;
    }
    measure_c(size, size);
    measure_c(size, below + 1);
    measure_cxx(size, size);
    measure_cxx(size, below + 1);
    below = size;
  }
  // Blocks that no class serves, if their sizes are asked for.
  for (int i = 1; i < argc; i++) {
    const std::size_t size = std::strtoul(argv[i], nullptr, 10);
    if (size > largest) measure_c(size, size);
  }
  return 0;
}
