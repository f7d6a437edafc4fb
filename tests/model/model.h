/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* model.h: shared parts of the model tests: seeded choices, contents that reveal any mix-up, and the naive oracle.
 *
 * what      Random (splitmix64), the content pattern, Oracle: every live block in a std::map of intervals.
 * owner     The oracle lives in libc's malloc; the checked blocks come from the hak_ names. The two heaps share
 *           nothing.
 * locks     none: one oracle per thread.
 * failure   Every finding is a gtest failure that names the seed's step, the block and the error.
 * not here  The sequence of operations (model_test.cpp, model_threads_test.cpp).
 */
#ifndef HAK_TESTS_MODEL_MODEL_H
#define HAK_TESTS_MODEL_MODEL_H

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "hakmem/hakmem.h"

namespace model {

/* Rounds of a test: `rounds` * HAK_TEST_SCALE; fewer where every access is instrumented. */
inline unsigned scaled(unsigned rounds) {
  const char *text = std::getenv("HAK_TEST_SCALE");
  const unsigned scale = text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 1;
  const unsigned slowdown = HAK_TSAN != 0 ? 8 : HAK_ASAN != 0 ? 4 : HAK_DEBUG_CHECKS != 0 ? 2 : 1;
  return rounds / slowdown * (scale > 0 ? scale : 1);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  size_t below(size_t n) { return static_cast<size_t>(next() % n); }
  bool one_in(size_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

/* Sizes over all block layers: each power of two up to `limit` with the same probability, and its neighbours. */
inline size_t random_size(Random &random, unsigned limit_log2) {
  const size_t power = size_t{1} << random.below(limit_log2 + 1);
  switch (random.below(8)) {
    case 0: return power - 1;
    case 1: return power;
    case 2: return power + 1;
    default: return power + random.below(power);
  }
}

/* ---- contents: dense at both ends, one line per 4 KiB between, so that the cost of a big block does not grow with its
 * size ---- */

constexpr size_t kDense = 2048;
constexpr size_t kStride = 4096;
constexpr size_t kLine = 16;

inline unsigned char pattern(uint64_t tag, size_t at) {
  return static_cast<unsigned char>((at * 131) ^ (at >> 8) ^ (tag * 57) ^ (tag >> 8));
}

/* Calls visit(from, to) for the filled parts of a block of n bytes. */
template <class Visit>
bool watched_parts(size_t n, Visit visit) {
  if (n <= 3 * kDense) return visit(size_t{0}, n);
  bool good = visit(size_t{0}, kDense) && visit(n - kDense, n);
  for (size_t at = kStride; good && at + kLine + kDense <= n; at += kStride) good = visit(at, at + kLine);
  return good;
}

inline void fill(void *p, size_t n, uint64_t tag) {
  auto *bytes = static_cast<unsigned char *>(p);
  watched_parts(n, [&](size_t from, size_t to) {
    for (size_t i = from; i < to; i++) bytes[i] = pattern(tag, i);
    return true;
  });
}

/* True if the first `kept` bytes of a block filled as n bytes are unchanged. */
inline bool intact(const void *p, size_t n, size_t kept, uint64_t tag) {
  const auto *bytes = static_cast<const unsigned char *>(p);
  return watched_parts(n, [&](size_t from, size_t to) {
    for (size_t i = from; i < to && i < kept; i++)
      if (bytes[i] != pattern(tag, i)) return false;
    return true;
  });
}

inline bool all_zero(const void *p, size_t n) {
  const auto *bytes = static_cast<const unsigned char *>(p);
  return n == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, n - 1) == 0);
}

struct Block {
  void *p = nullptr;
  size_t asked = 0;
  size_t alignment = 16;
  uint64_t tag = 0;
};

/* Address, size and owner of a block as the caller sees the block. */
inline ::testing::AssertionResult block_ok(const Block &block) {
  const auto start = reinterpret_cast<uintptr_t>(block.p);
  if (block.p == nullptr) return ::testing::AssertionFailure() << "no memory for " << block.asked;
  if (start % 16 != 0 || start % block.alignment != 0)
    return ::testing::AssertionFailure() << block.p << " is not aligned to " << block.alignment;
  if (hak_usable_size(block.p) < block.asked)
    return ::testing::AssertionFailure() << block.p << " has " << hak_usable_size(block.p) << " B of " << block.asked;
  if (!hak_owns(block.p)) return ::testing::AssertionFailure() << block.p << " is not owned";
  return ::testing::AssertionSuccess();
}

/* Every live block by address; blocks never overlap, and the sum of the usable sizes is the bytes in use. */
class Oracle {
 public:
  ::testing::AssertionResult took(const Block &block) {
    ::testing::AssertionResult good = block_ok(block);
    if (!good) return good;
    const auto start = reinterpret_cast<uintptr_t>(block.p);
    const uintptr_t end = start + hak_usable_size(block.p);
    const auto next = live_.lower_bound(start);
    if (next != live_.end() && next->first < end) return overlap(block, next->second);
    if (next != live_.begin() && std::prev(next)->second.end > start) return overlap(block, std::prev(next)->second);
    live_.emplace(start, Held{block, end});
    usable_ += end - start;
    return ::testing::AssertionSuccess();
  }

  /* The block is about to be freed or moved: its content must be unchanged. */
  ::testing::AssertionResult gives(const Block &block) {
    const auto found = live_.find(reinterpret_cast<uintptr_t>(block.p));
    if (found == live_.end()) return ::testing::AssertionFailure() << block.p << " is not live";
    usable_ -= found->second.end - found->first;
    live_.erase(found);
    if (!intact(block.p, block.asked, block.asked, block.tag))
      return ::testing::AssertionFailure() << block.p << " of " << block.asked << " B was written by somebody else";
    return ::testing::AssertionSuccess();
  }

  ::testing::AssertionResult all_intact() const {
    for (const auto &[start, held] : live_)
      if (!intact(held.block.p, held.block.asked, held.block.asked, held.block.tag))
        return ::testing::AssertionFailure() << held.block.p << " of " << held.block.asked << " B is damaged";
    return ::testing::AssertionSuccess();
  }

  size_t usable() const { return usable_; }
  size_t count() const { return live_.size(); }

 private:
  struct Held {
    Block block;
    uintptr_t end;
  };

  static ::testing::AssertionResult overlap(const Block &a, const Held &b) {
    return ::testing::AssertionFailure() << a.p << " of " << a.asked << " B overlaps " << b.block.p << " of "
                                         << b.block.asked << " B";
  }

  std::map<uintptr_t, Held> live_;
  size_t usable_ = 0;
};

}  // namespace model

#endif
