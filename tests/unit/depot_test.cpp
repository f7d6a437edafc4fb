/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* depot_test.cpp: full magazines on their way between threads.
 *
 * what      blocks/depot.c with metadata from a fake kernel door. The blocks are mere numbers: the depot never accesses
 *           a block.
 * owner     Each case runs in a separate process.
 * locks     none: the stacks are lock-free. orders: as tested under ThreadSanitizer.
 * failure   A block that is lost, or comes twice, or early, fails the test.
 * not here  The capacity of a depot: magazine_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

extern "C" {
#include "blocks/depot.h"
#include "fake_os.h"
#include "internal.h"
#include "tables/classes.h"
#include "tables/meta.h"
}

namespace {

using Blocks = std::vector<uintptr_t>;

constexpr size_t kPack = 126;

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

Blocks numbers(uintptr_t first, size_t n) {
  Blocks blocks(n);
  std::iota(blocks.begin(), blocks.end(), first);
  return blocks;
}

size_t put(unsigned c, const Blocks &blocks) {
  return hak_depot_put(c, reinterpret_cast<void *const *>(blocks.data()), blocks.size());
}

Blocks take(unsigned c, size_t want) {
  Blocks out(want);
  out.resize(hak_depot_take(c, reinterpret_cast<void **>(out.data()), want));
  return out;
}

TEST(Depot, IsEmptyAtFirst) {
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 0u);
  EXPECT_EQ(take(HAK_CLASS_48, 100), Blocks());
}

TEST(Depot, GivesAPackBackAsItCame) {
  const Blocks pack = numbers(1, 100);
  EXPECT_EQ(put(HAK_CLASS_48, pack), 100u);
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 100u);
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_64), 0u);
  EXPECT_EQ(take(HAK_CLASS_64, 1), Blocks());
  EXPECT_EQ(take(HAK_CLASS_48, 100), pack);
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 0u);
}

/* The metadata of a pack was another table's before. */
TEST(Depot, ANewPackIsEmptyWhateverItsMemoryHeld) {
  void *piece = hak_meta_get(size_t{1} << HAK_DEPOT_PACK_SHIFT);
  std::memset(piece, 0x11, size_t{1} << HAK_DEPOT_PACK_SHIFT);
  hak_meta_put(piece, size_t{1} << HAK_DEPOT_PACK_SHIFT);
  const Blocks pack = numbers(1, 100);
  EXPECT_EQ(put(HAK_CLASS_48, pack), 100u);
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 100u);
  EXPECT_EQ(take(HAK_CLASS_48, 200), pack);
}

TEST(Depot, TheLastPackComesFirst) {
  for (uintptr_t i = 0; i < 5; i++) put(HAK_CLASS_48, numbers(i * 1000, 50));
  for (uintptr_t i = 5; i-- > 0;) EXPECT_EQ(take(HAK_CLASS_48, 50), numbers(i * 1000, 50));
}

TEST(Depot, PartOfAPackLeavesTheRest) {
  put(HAK_CLASS_48, numbers(0, 100));
  EXPECT_EQ(take(HAK_CLASS_48, 30), numbers(70, 30));
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 70u);
  put(HAK_CLASS_48, numbers(500, 10));
  EXPECT_EQ(take(HAK_CLASS_48, 10), numbers(500, 10));
  EXPECT_EQ(take(HAK_CLASS_48, 1000), numbers(0, 70)) << "no more than there is";
  EXPECT_EQ(take(HAK_CLASS_48, 1), Blocks());
}

TEST(Depot, MoreThanAPackIsSpreadAndGathered) {
  const Blocks many = numbers(0, 5 * kPack + 17);
  EXPECT_EQ(put(HAK_CLASS_48, many), many.size());
  Blocks back = take(HAK_CLASS_48, many.size());
  std::sort(back.begin(), back.end());
  EXPECT_EQ(back, many);
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 0u);
}

TEST(Depot, EmptyPacksAreUsedAgain) {
  put(HAK_CLASS_48, numbers(0, kPack));
  take(HAK_CLASS_48, kPack);
  const size_t bytes = hak_meta_bytes();
  for (unsigned i = 0; i < 5000; i++) {
    const unsigned c = 1 + i % 70;
    ASSERT_EQ(put(c, numbers(i, kPack)), kPack);
    ASSERT_EQ(take(c, kPack).size(), kPack);
  }
  EXPECT_EQ(hak_meta_bytes(), bytes);
}

/* A thread that read the head before must see that the top pack, though the same, was gone in between. */
TEST(Depot, AHeadNeverComesBack) {
  put(HAK_CLASS_48, numbers(0, 10));
  const void *top = hak_inside_depot_top(3);
  std::vector<uint64_t> heads;
  for (uintptr_t i = 0; i < 1000; i++) {
    heads.push_back(hak_inside_depot_head(3));
    ASSERT_EQ(take(HAK_CLASS_48, 10).size(), 10u);
    put(HAK_CLASS_48, numbers(0, 10));
    ASSERT_EQ(hak_inside_depot_top(3), top);
  }
  std::sort(heads.begin(), heads.end());
  EXPECT_EQ(std::unique(heads.begin(), heads.end()), heads.end());
}

TEST(Depot, WithoutMemoryFewerAreTaken) {
  fake_os_refuse(FAKE_MAP);
  while (hak_meta_get(sizeof(hak_depot_pack)) != nullptr) continue; /* the first chunk needs no mapping */
  EXPECT_EQ(put(HAK_CLASS_48, numbers(0, 10)), 0u);
  EXPECT_EQ(hak_depot_blocks(HAK_CLASS_48), 0u);
  fake_os_permit(FAKE_MAP);
  put(HAK_CLASS_48, numbers(0, 1));
  fake_os_refuse(FAKE_MAP);
  const Blocks many = numbers(1, 100000);
  const size_t taken = put(HAK_CLASS_48, many);
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken, many.size());
  EXPECT_EQ(taken % kPack, 0u) << "whole packs, from the front";
  Blocks back = take(HAK_CLASS_48, many.size());
  std::sort(back.begin(), back.end());
  EXPECT_EQ(back, numbers(0, taken + 1));
}

/* Every block is in exactly one place, whatever the threads do. */
TEST(Depot, ThreadsMoveBlocksWithoutLossOrDuplicates) {
  constexpr unsigned kThreads = 6, kClasses = 3, kEach = 1000;
  const unsigned rounds = (HAK_TSAN ? 2000 : 20000) * scale();
  static std::atomic<unsigned char> held[kThreads * kEach];
  std::atomic<int> twice{0};
  std::vector<Blocks> left(kThreads);
  auto work = [&](unsigned me) {
    std::mt19937 random(me);
    Blocks mine = numbers(me * kEach, kEach);
    for (const uintptr_t b : mine) held[b] = 1;
    for (unsigned i = 0; i < rounds; i++) {
      const unsigned c = 1 + random() % kClasses;
      const size_t n = 1 + random() % (2 * kPack);
      if (random() % 2 && mine.size() >= n) {
        const Blocks some(mine.end() - static_cast<long>(n), mine.end());
        for (const uintptr_t b : some) twice += held[b].exchange(0) != 1;
        mine.resize(mine.size() - n);
        twice += put(c, some) != n;
      } else {
        for (const uintptr_t b : take(c, n)) {
          twice += held[b].exchange(1) != 0;
          mine.push_back(b);
        }
      }
    }
    left[me] = mine;
  };
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < kThreads; me++) threads.emplace_back(work, me);
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(twice, 0);
  Blocks all;
  for (const Blocks &blocks : left) all.insert(all.end(), blocks.begin(), blocks.end());
  for (unsigned c = 1; c <= kClasses; c++) {
    const size_t there = hak_depot_blocks(c);
    const Blocks rest = take(c, kThreads * kEach);
    EXPECT_EQ(rest.size(), there);
    all.insert(all.end(), rest.begin(), rest.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, numbers(0, kThreads * kEach));
}

}  // namespace
