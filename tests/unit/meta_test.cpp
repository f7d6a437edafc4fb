/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* meta_test.cpp: memory for HAKMEM's own tables.
 *
 * what      tables/meta.c over a kernel layer that fails on demand.
 * owner     Each case runs in a separate process.
 * failure   An overlap, a wrong alignment or a lost piece fails the test.
 * not here  Tables that grow in place: range_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

extern "C" {
#include "fake_os.h"
#include "internal.h"
#include "tables/meta.h"
}

namespace {

size_t rounded(size_t bytes) {
  size_t power = 16;
  while (power < bytes) power *= 2;
  return power;
}

/* Pieces by address; fails when two share a byte. */
class Pieces {
 public:
  void add(void *p, size_t bytes) {
    const auto at = reinterpret_cast<uintptr_t>(p);
    auto next = piece_.lower_bound(at);
    if (next != piece_.end()) {
      ASSERT_GE(next->first, at + bytes);
    }
    if (next != piece_.begin()) {
      --next;
      ASSERT_LE(next->first + next->second, at);
    }
    piece_[at] = bytes;
  }
  void remove(void *p) { piece_.erase(reinterpret_cast<uintptr_t>(p)); }

 private:
  std::map<uintptr_t, size_t> piece_;
};

/* The first chunk is the program's zero data: no mapping. */
const size_t kFirst = size_t{32} << 10;

TEST(Meta, TheFirstPiecesNeedNoMapping) {
  fake_os_refuse(FAKE_MAP);
  for (size_t bytes = 0; bytes < kFirst / 2; bytes += 4096) EXPECT_NE(hak_meta_get(4096), nullptr);
  EXPECT_EQ(fake_os.calls[FAKE_MAP], 0u);
}

/* Also where an alignment moves a piece to the end, which is not aligned. */
TEST(Meta, NoPieceReachesBeyondTheFirstChunk) {
  const uintptr_t end = reinterpret_cast<uintptr_t>(g_meta_first) + sizeof g_meta_first;
  fake_os_refuse(FAKE_MAP);
  for (void *p; (p = hak_meta_get(4096)) != nullptr;) {
    EXPECT_LE(reinterpret_cast<uintptr_t>(p) + 4096, end);
    void *between = hak_meta_get_for_good(128);
    EXPECT_LE(reinterpret_cast<uintptr_t>(between) + 128, end);
  }
}

TEST(Meta, WhatIsSkippedForAnAlignmentCountsAtTheEnd) {
  hak_meta_get(16);
  const uintptr_t end = hak_inside_meta_end_soon(2048 + 512);
  const auto p = reinterpret_cast<uintptr_t>(hak_meta_get(2048));
  EXPECT_TRUE(p >= end || p + 2048 <= end);
  EXPECT_EQ(p % 2048, 0u);
}

TEST(Meta, PiecesForGoodTakeNoMoreThanTheyNeed) {
  const auto begin = reinterpret_cast<uintptr_t>(hak_meta_get_for_good(3776));
  EXPECT_EQ(begin % 128, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(hak_meta_get_for_good(1)), begin + 3840);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(hak_meta_get(128)), begin + 3968);
}

TEST(Meta, PiecesAreAlignedToThemselves) {
  for (size_t bytes = 1; bytes <= HAK_META_MAX; bytes++) {
    void *p = hak_meta_get(bytes);
    ASSERT_NE(p, nullptr);
    ASSERT_EQ(reinterpret_cast<uintptr_t>(p) % std::min<size_t>(rounded(bytes), 4096), 0u) << bytes;
    hak_meta_put(p, bytes);
  }
}

TEST(Meta, PiecesDoNotOverlap) {
  std::mt19937 random(3);
  Pieces pieces;
  std::vector<std::pair<void *, size_t>> live;
  for (int i = 0; i < 20000; i++) {
    if (live.empty() || random() % 5 < 3) {
      const size_t bytes = 1 + random() % (random() % 4 ? 300 : HAK_META_MAX);
      void *p = hak_meta_get(bytes);
      pieces.add(p, rounded(bytes));
      live.emplace_back(p, bytes);
    } else {
      std::swap(live[random() % live.size()], live.back());
      pieces.remove(live.back().first);
      hak_meta_put(live.back().first, live.back().second);
      live.pop_back();
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GE(hak_meta_bytes(), size_t{64} << 10);
}

TEST(Meta, ReturnedPiecesAreUsedAgain) {
  std::set<void *> first;
  for (int i = 0; i < 1000; i++) first.insert(hak_meta_get(100));
  const size_t bytes = hak_meta_bytes();
  for (void *p : first) hak_meta_put(p, 100);
  for (int i = 0; i < 1000; i++) EXPECT_EQ(first.count(hak_meta_get(i % 2 ? 128 : 65)), 1u) << "of the same power";
  EXPECT_EQ(hak_meta_bytes(), bytes);
}

/* The arrays of a process's magazines grew in many classes: outgrown pieces serve the next arrays. */
TEST(Meta, APieceIsCutFromALongerFreeOne) {
  fake_os_refuse(FAKE_MAP);
  void *longer = hak_meta_get(2048);
  const auto at = reinterpret_cast<uintptr_t>(longer);
  while (hak_meta_get(16) != nullptr) continue;
  hak_meta_put(longer, 2048);
  for (const size_t bytes : {64u, 1024u, 512u, 256u, 128u, 64u}) {
    const auto p = reinterpret_cast<uintptr_t>(hak_meta_get(bytes));
    EXPECT_EQ((p - at) / 2048, 0u) << bytes;
    EXPECT_EQ(p % bytes, 0u);
  }
  EXPECT_EQ(hak_meta_get(16), nullptr);
}

TEST(Meta, NoneIsCutFromTwoPages) {
  void *longest = hak_meta_get(HAK_META_MAX);
  hak_meta_put(longest, HAK_META_MAX);
  for (int i = 0; i < 100; i++) EXPECT_NE(hak_meta_get(4096), longest) << "its second page may never have been touched";
  EXPECT_EQ(hak_meta_get(HAK_META_MAX), longest);
}

TEST(Meta, WhatIsSkippedForAnAlignmentIsUsed) {
  const auto small = reinterpret_cast<uintptr_t>(hak_meta_get(16));
  const auto page = reinterpret_cast<uintptr_t>(hak_meta_get(4096));
  for (size_t left = (page - small - 16) / 16; left != 0; left--) {
    const auto p = reinterpret_cast<uintptr_t>(hak_meta_get(16));
    EXPECT_TRUE(p > small && p < page);
  }
  EXPECT_GT(reinterpret_cast<uintptr_t>(hak_meta_get(16)), page);
}

TEST(Meta, MappedBytesAreCounted) {
  for (int i = 0; i < 1000; i++) hak_meta_get(HAK_META_MAX);
  EXPECT_EQ(hak_meta_bytes(), kFirst + fake_os.mapped_bytes);
  EXPECT_GE(hak_meta_bytes(), size_t{1000} * HAK_META_MAX);
  EXPECT_LE(fake_os.calls[FAKE_MAP], 20u) << "chunks grow";
}

TEST(Meta, WithoutMemoryNothingChanges) {
  fake_os_refuse(FAKE_MAP);
  while (hak_meta_get(16) != nullptr) continue;
  EXPECT_EQ(hak_meta_get(HAK_META_MAX), nullptr);
  EXPECT_EQ(hak_meta_bytes(), kFirst);
  fake_os_permit(FAKE_MAP);
  void *p = hak_meta_get(4096);
  EXPECT_NE(p, nullptr);
  fake_os_refuse(FAKE_MAP);
  std::set<void *> pieces = {p};
  while ((p = hak_meta_get(4096)) != nullptr) EXPECT_TRUE(pieces.insert(p).second);
  EXPECT_GE(pieces.size(), 14u) << "the rest of the chunk is used up";
  hak_meta_put(*pieces.rbegin(), 4096);
  EXPECT_EQ(hak_meta_get(4096), *pieces.rbegin());
}

TEST(Meta, ASmallerChunkIsTriedWhenALargeOneIsRefused) {
  for (int i = 0; i < 200; i++) hak_meta_get(HAK_META_MAX);
  const size_t before = hak_meta_bytes();
  while (hak_meta_bytes() == before) {
    fake_os_refuse_once(FAKE_MAP, 1);
    ASSERT_NE(hak_meta_get(HAK_META_MAX), nullptr);
  }
  EXPECT_EQ(hak_meta_bytes() - before, size_t{64} << 10);
}

TEST(Meta, AVanishedHolderCostsTheListsOnly) {
  std::set<void *> held;
  for (int i = 0; i < 100; i++) held.insert(hak_meta_get(64));
  void *returned = hak_meta_get(64);
  hak_meta_put(returned, 64);
  *static_cast<uintptr_t *>(returned) = 0xdead; /* a list cut in the middle of an update */
  hak_inside_vanish(hak_inside_meta_lock());
  for (int i = 0; i < 100; i++) EXPECT_TRUE(held.insert(hak_meta_get(64)).second);
  EXPECT_EQ(hak_inside_meta_lock()->word, 0u);
}

}  // namespace
