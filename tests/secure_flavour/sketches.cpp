/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* sketches.cpp: the first steps of attacks on a heap, one a process: sketches NAME. What each reaches is printed.
 *
 *   behind     of 200 blocks, each asked for after a free heap's first: how many lie directly behind the one before
 *   overflow   a write from a block into the block directly behind it: "reached"; then both are freed
 *   reuse      of 200 freed blocks: how many are the next block of their size; how many are among the next 16
 *   stale      bytes of a secret that a freed block shows
 *   fresh      bytes of a secret that a block shows whose place had it before
 *   big        a write from a big block on, page by page, up to the next one: "reached"
 *   distance   [bytes] from the first block to the mapping below, where tables of an allocator may lie
 *   free_map   a free of an address there
 *   write_map  0xff over the first 4 KiB there that can be written; then 20,000 calls: "went on"
 */
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr size_t kSize = 56, kSlot = 64, kBig = 3 << 20, kTimes = 200, kSpray = 16;
constexpr char kSecret = 0x5e;

/* For the compiler each block may be any other. */
__attribute__((noinline)) char *take(size_t n) {
  void *p = malloc(n);
  __asm__ volatile("" : "+r"(p));
  return static_cast<char *>(p);
}
__attribute__((noinline)) char *hidden(char *p) {
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}
__attribute__((noinline)) void drop(char *p) { free(hidden(p)); }

int secrets_in(const char *p, size_t n) {
  int found = 0;
  for (size_t i = 0; i < n; i++) found += p[i] == kSecret;
  return found;
}

void say(const char *word) {
  printf("%s\n", word);
  fflush(stdout);
}

void behind() {
  char *before = take(kSize);
  int found = 0;
  for (size_t i = 0; i < kTimes; i++) {
    char *p = take(kSize);
    found += p == before + kSlot;
    before = p;
  }
  printf("%d of %zu\n", found, kTimes);
}

void overflow() {
  static char *many[4000];
  for (char *&each : many) memset(each = take(kSize), 1, kSize);
  for (char *p : many) {
    for (char *q : many) {
      if (q != p + kSlot) continue;
      memset(hidden(p) + kSize, kSecret, kSlot - kSize + 16);
      if (hidden(q)[8] == kSecret) say("reached");
      drop(q), drop(p);
      return say("went on");
    }
  }
}

void reuse() {
  int next = 0, soon = 0;
  for (size_t i = 0; i < kTimes; i++) {
    char *p = take(kSize), *q[kSpray];
    drop(p);
    bool met = false;
    for (char *&each : q) met |= (each = take(kSize)) == p;
    next += q[0] == p, soon += met;
    for (char *each : q) drop(each);
  }
  printf("%d, %d of %zu\n", next, soon, kTimes);
}

void stale() {
  char *p = take(kSize);
  memset(p, kSecret, kSize);
  drop(p);
  printf("%d of %zu\n", secrets_in(hidden(p), kSize), kSize);
}

void fresh() {
  static char *many[4000];
  for (char *&each : many) memset(each = take(kSize), kSecret, kSize);
  for (char *each : many) drop(each);
  int found = 0;
  for (char *&each : many) found += secrets_in(each = take(kSize), kSize);
  printf("%d of %zu\n", found, kSize * sizeof many / sizeof *many);
}

void big() {
  char *p = take(kBig), *q = take(kBig), *low = p < q ? p : q, *high = p < q ? q : p;
  memset(low, 1, kBig), memset(high, 1, kBig);
  if (high - low > (64 << 20)) return say("far apart");
  for (char *at = low + kBig; at <= high; at += 4096) *hidden(at) = kSecret;
  say("reached");
}

/* The mapping below that of p which can be written and is no file's; NULL: none. */
char *mapping_below(const char *p) {
  static char text[1 << 16];
  const int file = open("/proc/self/maps", O_RDONLY);
  size_t length = 0;
  for (ssize_t n; (n = read(file, text + length, sizeof text - 1 - length)) > 0;) length += static_cast<size_t>(n);
  close(file);
  char *below = nullptr, *line = text;
  for (char *end; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
    char *rest = nullptr;
    const uintptr_t first = strtoull(line, &rest, 16), last = strtoull(rest + 1, &rest, 16);
    if (reinterpret_cast<uintptr_t>(p) >= first && reinterpret_cast<uintptr_t>(p) < last) return below;
    const bool plain = strncmp(rest, " rw-p 00000000 00:00 0", 22) == 0;
    if (plain && memchr(rest, '[', static_cast<size_t>(end - rest)) == nullptr) below = reinterpret_cast<char *>(first);
  }
  return nullptr;
}

void distance() {
  char *p = take(kSize), *below = mapping_below(p);
  printf("%zd\n", below != nullptr ? p - below : ssize_t{0});
}

void free_map() {
  char *below = mapping_below(take(kSize));
  if (below == nullptr) return say("none");
  drop(below + 4096);
  say("went on");
}

void write_map() {
  char *p = take(kSize), *below = mapping_below(p);
  if (below == nullptr) return say("none");
  memset(hidden(below), 0xff, 4096);
  drop(p);
  for (size_t i = 0; i < 10000; i++) drop(take(i % 5000));
  say("went on");
}

const struct {
  const char *name;
  void (*run)();
} sketch[] = {
#define SKETCH(name) {#name, name}
    SKETCH(behind), SKETCH(overflow), SKETCH(reuse), SKETCH(stale), SKETCH(fresh), SKETCH(big), SKETCH(distance),
    SKETCH(free_map), SKETCH(write_map),
};

}  // namespace

int main(int argc, char **argv) {
  for (const auto &[name, run] : sketch) {
    if (argc == 1) say(name);
    if (argc == 2 && strcmp(argv[1], name) == 0) run();
  }
}
