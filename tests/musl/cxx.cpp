/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cxx.cpp: a program of C++ on musl: containers and exceptions in threads, over-aligned and refused operator new; each of
 * these blocks is HAKMEM's.
 *
 * what      zig links libc++ into the program, so operator new is libc++'s and calls malloc, which is HAKMEM's: preloaded,
 *           or of the archive.
 */
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" int hak_owns(const void *) __attribute__((weak));

namespace {

struct alignas(256) Wide {
  char bytes[300];
};

int failures;

void check(bool good, const char *what) {
  if (good) return;
  std::printf("FAILED: %s\n", what);
  failures++;
}

bool owned(const void *block) { return hak_owns != nullptr && hak_owns(block) != 0; }

/* The sum of what a map of strings holds, and of an exception's text. */
long work(int rounds) {
  std::map<int, std::string> kept;
  for (int i = 0; i < rounds; i++) kept[i] = std::string(static_cast<size_t>(i % 300), 'x');
  long sum = 0;
  for (const auto &[key, text] : kept) sum += key + static_cast<long>(text.size());
  try {
    throw std::runtime_error(std::string(400, 'e'));
  } catch (const std::exception &thrown) {
    sum += static_cast<long>(std::string(thrown.what()).size());
  }
  return sum;
}

void check_threads() {
  long sums[4] = {};
  std::vector<std::thread> crew;
  for (long &sum : sums) crew.emplace_back([&sum] { sum = work(3000); });
  for (std::thread &each : crew) each.join();
  for (long sum : sums) check(sum == work(3000), "a thread's sum");
}

void check_operators() {
  auto *volatile plain = new int(3);
  auto *volatile wide = new Wide;
  auto *volatile many = new std::string[50];
  check(owned(plain), "operator new");
  check(owned(wide) && reinterpret_cast<uintptr_t>(wide) % alignof(Wide) == 0, "operator new with an alignment");
  check(owned(many), "operator new[]");
  delete plain;
  delete wide;
  delete[] many;
}

void check_refusal() {
  bool thrown = false;
  void *volatile block = nullptr;
  try {
    block = ::operator new(SIZE_MAX / 4);
  } catch (const std::bad_alloc &) {
    thrown = true;
  }
  check(thrown && block == nullptr, "bad_alloc");
}

}  // namespace

int main() {
  check_operators();
  check_refusal();
  check_threads();
  return failures != 0;
}
