/* big_test.cpp: blocks mapped one by one, and the cache of freed ones.
 *
 * what      box/big.c over the fake kernel door, whose clock stands still until a test turns it.
 * owner     Each case runs in a process of its own.
 * locks     none, but for the case with threads. orders: none. hot path: none.
 * failure   A bound that does not hold, a block that is lost, or a table that does not agree with itself.
 * not here  How much the caretaker allows to keep: front_test.cpp.
 */
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#define _Noreturn [[noreturn]]
extern "C" {
#include "box/big.h"
#include "core/counters.h"
#include "core/footprint.h"
#include "core/knobs.h"
#include "core/rent.h"
#include "fake_os.h"
#include "inside.h"
#include "os/os.h"
}

namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t page() { return hak_os_page_bytes(); }

char *alloc(size_t n, size_t align = 1, bool *zero = nullptr) {
  bool ignored = false;
  return static_cast<char *>(hak_big_alloc(n, align, zero != nullptr ? zero : &ignored));
}

uint64_t live() {
  uint64_t live_bytes, kept;
  hak_big_bytes_now(&live_bytes, &kept);
  return live_bytes;
}

uint64_t kept() {
  uint64_t live_bytes, kept_bytes;
  hak_big_bytes_now(&live_bytes, &kept_bytes);
  return kept_bytes;
}

class Big : public testing::Test {
 protected:
  void SetUp() override { fake_os_reset(); }
  void TearDown() override { EXPECT_STREQ(hak_inside_big_wrong(), nullptr); }

  static std::vector<char *> blocks(size_t n, size_t bytes) {
    std::vector<char *> result;
    for (size_t i = 0; i < n; i++) result.push_back(alloc(bytes));
    return result;
  }
};

/* ---- blocks ---- */

TEST_F(Big, IsWholePagesAndZero) {
  bool zero = false;
  char *p = alloc(kMiB + 1, 1, &zero);
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(zero);
  EXPECT_EQ(hak_big_bytes(p), kMiB + page());
  EXPECT_EQ(live(), kMiB + page());
  std::memset(p, 1, kMiB + page());
  EXPECT_TRUE(hak_big_free(p));
  EXPECT_EQ(live(), 0u);
  EXPECT_EQ(hak_big_bytes(p), 0u);
}

TEST_F(Big, IsAlignedAndWhatIsTooMuchGoesBack) {
  alloc(kMiB); /* makes the table */
  for (size_t align = 4096; align <= 64 * kMiB; align *= 4) {
    const uint64_t before = fake_os.mapped_bytes;
    char *p = alloc(kMiB, align);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % align, 0u);
    EXPECT_EQ(fake_os.mapped_bytes - before, kMiB) << align;
    std::memset(p, 1, kMiB);
  }
}

TEST_F(Big, TooMuchIsNull) {
  EXPECT_EQ(alloc(PTRDIFF_MAX), nullptr);
  EXPECT_EQ(alloc(PTRDIFF_MAX, size_t{1} << 62), nullptr);
  EXPECT_EQ(alloc(1, size_t{1} << 63), nullptr);
  EXPECT_EQ(live(), 0u);
}

TEST_F(Big, QuestionsAboutAnyPointer) {
  int local;
  EXPECT_EQ(hak_big_bytes(&local), 0u);
  EXPECT_EQ(hak_big_block_of(&local), nullptr);
  char *p = alloc(2 * kMiB), *q = alloc(3 * kMiB);
  EXPECT_EQ(hak_big_block_of(p), p);
  EXPECT_EQ(hak_big_block_of(p + 2 * kMiB - 1), p);
  EXPECT_EQ(hak_big_block_of(q + kMiB), q);
  EXPECT_EQ(hak_big_bytes(p + page()), 0u) << "only a block's start";
  for (const uintptr_t odd : {uintptr_t{0}, uintptr_t{1}, uintptr_t{4096}, UINTPTR_MAX}) {
    EXPECT_EQ(hak_big_bytes(reinterpret_cast<void *>(odd)), 0u);
    EXPECT_EQ(hak_big_block_of(reinterpret_cast<void *>(odd)), nullptr);
    EXPECT_FALSE(hak_big_free(reinterpret_cast<void *>(odd)));
    EXPECT_EQ(hak_big_judge(reinterpret_cast<void *>(odd)), HAK_ERROR_foreign);
  }
}

TEST_F(Big, WrongFreesAreJudged) {
  char *p = alloc(2 * kMiB), *gone = alloc(3 * kMiB);
  EXPECT_FALSE(hak_big_free(p + 16));
  EXPECT_EQ(hak_big_judge(p + 16), HAK_ERROR_interior);
  EXPECT_TRUE(hak_big_free(p));
  EXPECT_FALSE(hak_big_free(p));
  EXPECT_EQ(hak_big_judge(p), HAK_ERROR_given_back);
  EXPECT_EQ(hak_big_judge(p + 5000), HAK_ERROR_given_back) << "inside a kept block";
  g_knobs.big_cache_bytes = 0;
  EXPECT_TRUE(hak_big_free(gone));
  EXPECT_FALSE(hak_big_free(gone));
  EXPECT_EQ(hak_big_judge(gone), HAK_ERROR_foreign) << "nobody remembers it";
}

/* ---- the cache ---- */

TEST_F(Big, AKeptBlockIsUsedAgainAndNotSaidToBeZero) {
  char *p = alloc(2 * kMiB);
  const uint64_t hits = hak_counter_value(HAK_COUNTER_big_hits);
  hak_big_free(p);
  EXPECT_EQ(kept(), 2 * kMiB);
  bool zero = true;
  EXPECT_EQ(alloc(2 * kMiB, 1, &zero), p);
  EXPECT_FALSE(zero);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(live(), 2 * kMiB);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_big_hits), hits + 1);
}

/* Cut one behind the other from one piece, with blocks between them that stay, so that what is freed is not joined. */
std::vector<char *> apart(const std::vector<size_t> &bytes) {
  std::vector<char *> result;
  size_t sum = 0;
  for (const size_t n : bytes) sum += n + page();
  hak_big_free(alloc(sum + kMiB));
  for (const size_t n : bytes) {
    result.push_back(alloc(n));
    alloc(page());
  }
  return result;
}

TEST_F(Big, WhatIsLeftOfAPieceStays) {
  g_knobs.price = 0;
  char *p = alloc(9 * kMiB);
  hak_big_free(p);
  EXPECT_EQ(alloc(5 * kMiB), p);
  EXPECT_EQ(hak_big_bytes(p), 5 * kMiB);
  EXPECT_EQ(kept(), 4 * kMiB);
  EXPECT_EQ(alloc(4 * kMiB - page()), p + 5 * kMiB);
  EXPECT_EQ(kept(), 0u) << "a page by itself would be good for nothing";
  EXPECT_EQ(hak_big_bytes(p + 5 * kMiB), 4 * kMiB);
}

TEST_F(Big, NeighboursAreJoined) {
  g_knobs.price = 0;
  char *p = alloc(9 * kMiB);
  hak_big_free(p);
  char *part[] = {alloc(3 * kMiB), alloc(3 * kMiB), alloc(3 * kMiB)};
  for (int i : {0, 2, 1}) EXPECT_TRUE(hak_big_free(part[i]));
  EXPECT_EQ(hak_inside_big_kept(), 1u);
  EXPECT_EQ(alloc(9 * kMiB), p);
}

TEST_F(Big, TheBestFitIsTaken) {
  g_knobs.price = 0;
  const auto p = apart({1050 * page(), 1030 * page(), 1040 * page(), 1020 * page()});
  hak_big_trim(0);
  for (char *q : p) hak_big_free(q);
  EXPECT_EQ(alloc(1025 * page()), p[1]);
  EXPECT_EQ(alloc(1025 * page()), p[2]);
  EXPECT_EQ(alloc(1020 * page()), p[3]);
  EXPECT_EQ(alloc(1020 * page()), p[0]);
}

TEST_F(Big, APieceIsCutWhereItIsAligned) {
  g_knobs.price = 0;
  char *p = alloc(9 * kMiB, 4 * kMiB) + page();
  hak_big_free(p - page());
  alloc(page() * 20);
  char *q = alloc(2 * kMiB, 4 * kMiB);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(q) % (4 * kMiB), 0u);
  EXPECT_GE(q, p);
  EXPECT_LT(q, p + 9 * kMiB) << "inside it";
  EXPECT_EQ(hak_inside_big_kept(), 2u) << "in front of it and behind it";
}

TEST_F(Big, TheNumberOfPiecesIsBounded) {
  g_knobs.price = 0;
  for (const uint64_t bound : {4u, 0u, 64u, 1u}) {
    g_knobs.big_cache_blocks = 128;
    const auto p = apart(std::vector<size_t>(70, kMiB));
    hak_big_trim(0);
    g_knobs.big_cache_blocks = bound;
    for (char *q : p) {
      fake_os.now_ms++;
      hak_big_free(q);
    }
    EXPECT_EQ(hak_inside_big_kept(), bound);
    EXPECT_EQ(kept(), bound * kMiB);
    for (size_t i = 0; i < p.size(); i++) {
      const bool newest = i + bound >= p.size();
      EXPECT_EQ(hak_big_judge(p[i]), newest ? HAK_ERROR_given_back : HAK_ERROR_foreign);
    }
    hak_big_trim(0);
  }
}

TEST_F(Big, KeptBytesAreBounded) {
  g_knobs.price = 0;
  const auto p = apart(std::vector<size_t>(5, 3 * kMiB));
  g_knobs.big_cache_bytes = 10 * kMiB;
  for (char *q : p) {
    hak_big_free(q);
    EXPECT_LE(kept(), 10 * kMiB);
  }
  EXPECT_EQ(kept(), 10 * kMiB);
  hak_big_free(alloc(11 * kMiB));
  EXPECT_EQ(kept(), 10 * kMiB) << "as much of it as may stay";
}

/* ---- how much may stay ---- */

TEST_F(Big, WhatIsTakenAgainStaysUntilItsRentIsUp) {
  char *p = nullptr;
  for (int i = 0; i < 3; i++) {
    p = alloc(40 * kMiB);
    hak_big_free(p);
  }
  EXPECT_GE(kept(), 40 * kMiB);
  EXPECT_LE(kept(), 40 * kMiB + 40 * kMiB / 2) << "and a share that does not fit";
  fake_os.now_ms += hak_rent_ms(2 * kMiB) / 2;
  hak_big_trim(SIZE_MAX);
  EXPECT_GE(kept(), 40 * kMiB);
  fake_os.now_ms += hak_rent_ms(2 * kMiB);
  EXPECT_GT(hak_big_trim(SIZE_MAX), 0u);
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Big, WhatWasNeverTakenAgainGoes) {
  hak_big_free(alloc(300 * kMiB));
  EXPECT_LE(kept(), 8 * kMiB) << "a program that frees and rests may not call for long";
}

TEST_F(Big, KeptMemoryAges) {
  g_knobs.big_cache_age = 10;
  hak_big_free(alloc(4 * kMiB));
  EXPECT_EQ(kept(), 4 * kMiB);
  fake_os.now_ms += 25;
  EXPECT_EQ(hak_big_trim(SIZE_MAX), 4 * kMiB);
}

/* The rule itself, whatever is asked for: never more than the most of late and the share besides. */
TEST_F(Big, KeptMemoryNeverRaisesThePeakByMoreThanTheSlack) {
  std::mt19937 random(11);
  char *slot[4] = {};
  uint64_t most = 0;
  for (int i = 0; i < 3000; i++) {
    fake_os.now_ms += random() % 2;
    char *&p = slot[random() % 4];
    if (p != nullptr) hak_big_free(p);
    p = alloc(kMiB + random() % (30 * kMiB));
    ASSERT_NE(p, nullptr);
    p[0] = 1;
    most = std::max(most, live());
    ASSERT_LE(live() + kept(), most + most * hak_rent_slack() / 100 + kMiB) << "step " << i;
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "step " << i;
  }
}

TEST_F(Big, TrimKeepsWhatItMay) {
  g_knobs.price = 0;
  for (char *q : blocks(6, 2 * kMiB)) hak_big_free(q);
  EXPECT_EQ(hak_big_trim(7 * kMiB), 5 * kMiB);
  EXPECT_EQ(kept(), 7 * kMiB);
  EXPECT_EQ(hak_big_trim(7 * kMiB), 0u);
  const uint64_t mapped = fake_os.mapped_bytes;
  EXPECT_EQ(hak_big_trim(0), 7 * kMiB);
  EXPECT_EQ(fake_os.mapped_bytes, mapped - 7 * kMiB);
}

/* ---- moving pages ---- */

/* Two slots, so that what is free does not fit: the pages must move. */
void replace_two(int rounds) {
  std::mt19937 random(5);
  char *slot[2] = {};
  size_t bytes[2] = {};
  for (int i = 0; i < rounds; i++) {
    const unsigned k = random() % 2;
    for (size_t at = 0; slot[k] != nullptr && at < bytes[k]; at += 64 * page()) {
      ASSERT_EQ(slot[k][at], static_cast<char>(at / page() + k)) << "round " << i;
    }
    if (slot[k] != nullptr) {
      ASSERT_TRUE(hak_big_free(slot[k]));
    }
    bytes[k] = 4 * kMiB + random() % (30 * kMiB);
    bool zero = false;
    slot[k] = alloc(bytes[k], 1, &zero);
    ASSERT_NE(slot[k], nullptr);
    for (size_t at = 0; zero && at < bytes[k]; at += page()) ASSERT_EQ(slot[k][at], 0) << "said to be zero";
    for (size_t at = 0; at < bytes[k]; at += page()) slot[k][at] = static_cast<char>(at / page() + k);
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "round " << i;
  }
}

TEST_F(Big, PagesMoveIntoBlocksThatNoPieceFits) {
  const uint64_t before = hak_counter_value(HAK_COUNTER_big_moved);
  replace_two(300);
  EXPECT_GT(hak_counter_value(HAK_COUNTER_big_moved), before + 5);
}

/* A block of which a part moved in would have to be cleared whole. */
TEST_F(Big, NoPagesMoveIntoABlockThatIsToBeZero) {
  replace_two(50);
  const uint64_t before = hak_counter_value(HAK_COUNTER_big_moved);
  bool zero = true;
  EXPECT_NE(alloc(300 * kMiB, 1, &zero), nullptr);
  EXPECT_TRUE(zero);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_big_moved), before);
}

TEST_F(Big, PagesMoveInPartsWhereTheKernelWantsIt) {
  for (const size_t most : {kMiB, 100 * page(), 3 * page()}) {
    fake_os.move_most = most;
    replace_two(100);
  }
}

TEST_F(Big, PagesThatDoNotMoveGo) {
  fake_os_refuse(FAKE_MOVE);
  replace_two(100);
  for (int i = 0; i < 100; i++) {
    fake_os_permit(FAKE_MOVE);
    fake_os_refuse_once(FAKE_MOVE, 1 + static_cast<uint64_t>(i) % 7);
    replace_two(4);
  }
  fake_os_refuse(FAKE_UNMAP);
  replace_two(30);
}

TEST_F(Big, WhatWasToMoveStaysWhenThereIsNoMapping) {
  replace_two(50);
  const uint64_t live_before = live();
  fake_os_refuse(FAKE_MAP);
  EXPECT_EQ(alloc(500 * kMiB), nullptr);
  EXPECT_EQ(live(), live_before);
}

/* ---- the table ---- */

TEST_F(Big, TheTableGrowsWithTheBlocks) {
  const auto p = blocks(5000, 2 * page());
  EXPECT_STREQ(hak_inside_big_wrong(), nullptr);
  EXPECT_GE(hak_inside_big_capacity(), 5000u * 4 / 3);
  EXPECT_LE(hak_inside_big_capacity(), 5000u * 8);
  for (size_t i = 0; i < p.size(); i++) {
    ASSERT_EQ(hak_big_bytes(p[i]), 2 * page());
    ASSERT_EQ(hak_big_bytes(p[i] + page()), 0u);
  }
  for (size_t i = 0; i < p.size(); i += 2) ASSERT_TRUE(hak_big_free(p[i]));
  for (size_t i = 0; i < p.size(); i++) ASSERT_EQ(hak_big_bytes(p[i]), i % 2 ? 2 * page() : 0);
  for (size_t i = 1; i < p.size(); i += 2) ASSERT_TRUE(hak_big_free(p[i]));
  EXPECT_EQ(live(), 0u);
}

TEST_F(Big, TombstonesAreSwept) {
  g_knobs.big_cache_blocks = 0;
  for (int round = 0; round < 300; round++) {
    for (char *q : blocks(40, page())) ASSERT_TRUE(hak_big_free(q));
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
    ASSERT_FALSE(hak_big_free(&round)) << "a table of tombstones only would be searched for ever";
  }
  EXPECT_LE(hak_inside_big_capacity(), 512u);
}

/* A program that only ever moves one big block must not fill the table with its tombstones. */
TEST_F(Big, MovesLeaveRoomInTheTable) {
  fake_os.remap_moves = true;
  char *p = alloc(2 * page()), *other[2000];
  for (size_t i = 0; i < 2000; i++) {
    p = static_cast<char *>(hak_big_resize(p, (2 + i % 2) * page()));
    ASSERT_NE(p, nullptr);
    other[i] = static_cast<char *>(hak_os_map(page())); /* so that the next place is another one */
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "after " << i << " moves";
  }
  EXPECT_FALSE(hak_big_free(other[0]));
  EXPECT_TRUE(hak_big_free(p));
}

TEST_F(Big, WithoutATableThereIsNoBlock) {
  fake_os_refuse_once(FAKE_MAP, 1);
  EXPECT_EQ(alloc(kMiB), nullptr);
  EXPECT_EQ(live(), 0u);
  EXPECT_EQ(fake_os.mapped_bytes, 0u);
  EXPECT_FALSE(hak_big_free(&fake_os));
  EXPECT_NE(alloc(kMiB), nullptr);
  /* and when it cannot grow, those that are there stay */
  std::map<char *, int> all;
  for (int i = 0;; i++) {
    fake_os_permit(FAKE_MAP);
    if (hak_inside_big_capacity() > 1000) break;
    fake_os_refuse_once(FAKE_MAP, 1 + i % 2);
    char *p = alloc(page());
    if (p != nullptr) all[p] = i;
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
    for (const auto &[q, n] : all) ASSERT_EQ(hak_big_bytes(q), page()) << n;
  }
}

/* ---- without memory ---- */

TEST_F(Big, TheCacheIsGivenUpBeforeSayingNo) {
  char *p = alloc(2 * kMiB);
  hak_big_free(p);
  fake_os_refuse_once(FAKE_MAP, 1);
  EXPECT_NE(alloc(5 * kMiB), nullptr);
  EXPECT_EQ(kept(), 0u);
  fake_os_refuse(FAKE_MAP);
  EXPECT_EQ(alloc(5 * kMiB), nullptr);
  EXPECT_EQ(live(), 5 * kMiB);
}

TEST_F(Big, AMappingThatIsNotTakenBackWaitsEmptyInTheCache) {
  g_knobs.big_cache_bytes = 0;
  char *p = alloc(2 * kMiB);
  p[5] = 1;
  fake_os_refuse(FAKE_UNMAP);
  EXPECT_TRUE(hak_big_free(p));
  EXPECT_EQ(kept(), 2 * kMiB) << "its addresses";
  EXPECT_EQ(g_footprint.kept, 0u) << "its pages went";
  EXPECT_EQ(g_footprint.big, 0u);
  EXPECT_EQ(fake_os.last_purged, p);
  EXPECT_EQ(fake_os.last_purged_bytes, 2 * kMiB);
  EXPECT_EQ(hak_big_judge(p), HAK_ERROR_given_back);
  bool zero = false;
  EXPECT_EQ(alloc(2 * kMiB, 1, &zero), p);
  EXPECT_TRUE(zero);
  EXPECT_EQ(p[5], 0);
  hak_big_free(p);
  fake_os_permit(FAKE_UNMAP);
  hak_big_retry();
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Big, WhatIsNotTakenBackGoesOnce) {
  std::vector<char *> many = blocks(100, 2 * kMiB);
  fake_os_refuse(FAKE_UNMAP);
  for (char *p : many) hak_big_free(p);
  size_t gone = hak_big_trim(0);
  EXPECT_EQ(g_footprint.kept, 0u);
  EXPECT_EQ(kept(), 200 * kMiB);
  const uint64_t calls = fake_os.calls[FAKE_UNMAP];
  for (int i = 0; i < 5; i++) gone = hak_big_trim(0);
  EXPECT_EQ(gone, 0u) << "or who trims until nothing goes would trim for ever";
  EXPECT_EQ(fake_os.calls[FAKE_UNMAP], calls);
  hak_big_retry();
  EXPECT_EQ(kept(), 200 * kMiB);
  fake_os_permit(FAKE_UNMAP);
  for (int i = 0; i < 3; i++) hak_big_retry();
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Big, EmptyBlocksCrowdNobodyOut) {
  std::vector<char *> many = blocks(150, 2 * kMiB);
  g_knobs.price = 0;
  g_knobs.big_cache_bytes = 0;
  fake_os_refuse(FAKE_UNMAP);
  for (size_t i = 0; i < 70; i++) hak_big_free(many[i]);
  fake_os_permit(FAKE_UNMAP);
  g_knobs.big_cache_bytes = SIZE_MAX;
  g_knobs.big_cache_blocks = 64;
  for (size_t i = 70; i < 150; i++) hak_big_free(many[i]);
  EXPECT_GE(g_footprint.kept, 32 * 2 * kMiB);
  EXPECT_STREQ(hak_inside_big_wrong(), nullptr);
  hak_big_trim(0);
  for (int i = 0; i < 3; i++) hak_big_retry();
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Big, WhatMayNeitherGoNorBeEmptiedIsKept) {
  g_knobs.big_cache_bytes = 0;
  char *p = alloc(2 * kMiB);
  fake_os_refuse(FAKE_UNMAP);
  fake_os_refuse(FAKE_PURGE);
  hak_store(&g_rent.now_ms, 5000);
  hak_big_free(p);
  EXPECT_EQ(g_footprint.kept, 2 * kMiB);
  EXPECT_TRUE(hak_rent_is_refused(5000)) << "and nobody asks again at once";
  EXPECT_FALSE(hak_rent_is_refused(6000));
  fake_os_permit(FAKE_UNMAP);
  EXPECT_EQ(hak_big_trim(0), 2 * kMiB);
}

/* ---- where an address lies ---- */

TEST_F(Big, AnyAddressOfABlockFindsIt) {
  std::vector<char *> many;
  for (size_t i = 0; i < 400; i++) many.push_back(alloc(kMiB + i * 64 * 1024));
  for (size_t i = 0; i < many.size(); i++) {
    const size_t bytes = hak_big_bytes(many[i]);
    for (const size_t at : {size_t{0}, size_t{1}, bytes / 3, bytes / 2, bytes - 1}) {
      EXPECT_EQ(hak_big_block_of(many[i] + at), many[i]) << i << " at " << at;
    }
    EXPECT_NE(hak_big_block_of(many[i] + bytes), many[i]);
    EXPECT_NE(hak_big_block_of(many[i] - 1), many[i]);
  }
  for (size_t i = 0; i < many.size(); i += 2) hak_big_free(many[i]);
  hak_big_trim(0);
  for (size_t i = 0; i < many.size(); i += 2) EXPECT_EQ(hak_big_block_of(many[i] + 5), nullptr);
  for (size_t i = 1; i < many.size(); i += 2) {
    EXPECT_EQ(hak_big_block_of(many[i] + 5), many[i]);
    hak_big_free(many[i]);
  }
}

TEST_F(Big, NoAddressElseFindsOne) {
  char *p = alloc(2 * kMiB), *q = alloc(40 * kMiB);
  int here;
  for (const uintptr_t foreign : {reinterpret_cast<uintptr_t>(&here), uintptr_t{0}, uintptr_t{1}, UINTPTR_MAX}) {
    EXPECT_EQ(hak_big_block_of(reinterpret_cast<void *>(foreign)), nullptr);
  }
  hak_big_free(p);
  hak_big_free(q);
}

/* ---- claims ---- */

TEST_F(Big, WhatWasNotToBeHadLeavesNoTrace) {
  const uint64_t before = g_footprint.big;
  fake_os_refuse(FAKE_MAP);
  EXPECT_EQ(alloc(size_t{1} << 46), nullptr);
  EXPECT_EQ(g_footprint.big, before);
  EXPECT_EQ(g_footprint.claimed, 0u);
}

TEST_F(Big, AForksChildForgetsWhatOthersClaimed) {
  char *p = alloc(2 * kMiB);
  hak_inside_big_claim(kMiB << 10);
  EXPECT_EQ(g_footprint.claimed, kMiB << 10);
  EXPECT_EQ(g_footprint.big, 2 * kMiB) << "nobody has its pages";
  hak_big_forget_claims();
  EXPECT_EQ(g_footprint.claimed, 0u);
  hak_big_free(p);
}

/* ---- resize ---- */

TEST_F(Big, WhatIsCutOffStaysAndIsTakenAgain) {
  char *p = alloc(9 * kMiB);
  std::memset(p, 7, 9 * kMiB);
  EXPECT_EQ(hak_big_resize(p, 5 * kMiB), p);
  EXPECT_EQ(kept(), 4 * kMiB);
  fake_os_refuse(FAKE_REMAP);
  EXPECT_EQ(hak_big_resize(p, 8 * kMiB), p) << "it lies behind";
  EXPECT_EQ(kept(), kMiB);
  EXPECT_EQ(p[5 * kMiB - 1], 7);
  EXPECT_EQ(hak_big_bytes(p), 8 * kMiB);
}

TEST_F(Big, ResizeKeepsTheContent) {
  for (const bool moves : {false, true}) {
    fake_os.remap_moves = moves;
    char *p = alloc(2 * kMiB);
    std::memset(p, 7, 2 * kMiB);
    char *q = static_cast<char *>(hak_big_resize(p, 50 * kMiB));
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q[2 * kMiB - 1], 7);
    EXPECT_EQ(hak_big_bytes(q), 50 * kMiB);
    EXPECT_EQ(live(), 50 * kMiB);
    if (moves) {
      EXPECT_EQ(hak_big_bytes(p), 0u);
    }
    q = static_cast<char *>(hak_big_resize(q, kMiB + 5));
    EXPECT_EQ(hak_big_bytes(q), kMiB + page());
    EXPECT_EQ(live(), kMiB + page());
    EXPECT_TRUE(hak_big_free(q));
  }
}

TEST_F(Big, ResizeWithinThePagesAsksNobody) {
  char *p = alloc(2 * kMiB);
  fake_os_refuse(FAKE_REMAP);
  EXPECT_EQ(hak_big_resize(p, 2 * kMiB - 100), p);
  EXPECT_EQ(fake_os.calls[FAKE_REMAP], 0u);
  EXPECT_EQ(hak_big_bytes(p), 2 * kMiB);
}

TEST_F(Big, ABlockThatTheKernelDoesNotMakeLongerIsCopiedAndGoesAsItIsCopied) {
  char *p = alloc(30 * kMiB);
  std::memset(p, 7, 30 * kMiB);
  fake_os_refuse(FAKE_REMAP);
  const uint64_t before = fake_os.mapped_bytes;
  char *q = static_cast<char *>(hak_big_resize(p, 50 * kMiB));
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(fake_os.mapped_bytes - before, 20 * kMiB);
  EXPECT_EQ(hak_big_bytes(q), 50 * kMiB);
  EXPECT_EQ(hak_big_bytes(p), 0u);
  for (size_t at = 0; at < 30 * kMiB; at += page()) ASSERT_EQ(q[at], 7);
  EXPECT_EQ(q[30 * kMiB], 0);
}

/* More threads than one free at once: the stock never takes more than it has room for. */
TEST_F(Big, TheStockNeverOverflows) {
  g_knobs.price = 0;
  g_knobs.big_cache_bytes = uint64_t{1} << 40;
  const auto p = apart(std::vector<size_t>(400, kMiB));
  fake_os_refuse(FAKE_UNMAP);
  fake_os_refuse(FAKE_PURGE);
  for (char *q : p) {
    EXPECT_TRUE(hak_big_free(q));
    ASSERT_LE(hak_inside_big_kept(), 129u);
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
  }
}

/* What was not to be had is no reason to keep anything. */
TEST_F(Big, AFailedRequestMovesNoBound) {
  const auto p = blocks(100, 2 * kMiB);
  fake_os_refuse(FAKE_MAP);
  for (int i = 0; i < 3; i++) EXPECT_EQ(alloc(size_t{1} << 46), nullptr);
  fake_os_permit(FAKE_MAP);
  for (char *q : p) hak_big_free(q);
  EXPECT_LE(kept(), HAK_LEVEL_LEAST);
}

TEST_F(Big, ARefusedResizeLeavesTheBlock) {
  char *p = alloc(2 * kMiB);
  std::memset(p, 7, 2 * kMiB);
  fake_os_refuse(FAKE_REMAP);
  fake_os_refuse(FAKE_MAP);
  EXPECT_EQ(hak_big_resize(p, 50 * kMiB), nullptr);
  EXPECT_EQ(hak_big_bytes(p), 2 * kMiB);
  EXPECT_EQ(live(), 2 * kMiB);
  EXPECT_EQ(p[2 * kMiB - 1], 7);
  EXPECT_TRUE(hak_big_free(p));
}

/* ---- all together ---- */

TEST_F(Big, RandomOperationsAgreeWithAModel) {
  std::mt19937 random(4);
  std::map<char *, size_t> model;
  uint64_t sum = 0;
  g_knobs.big_cache_blocks = 10;
  for (int i = 0; i < 6000; i++) {
    fake_os.now_ms += random() % 30;
    fake_os.remap_moves = random() % 2;
    const size_t bytes = (1 + random() % 40) * page();
    if (random() % 10 == 0) fake_os_refuse_once(random() % 2 ? FAKE_MAP : FAKE_REMAP, 1);
    auto at = model.lower_bound(reinterpret_cast<char *>(uintptr_t{random()} << 16));
    if (at == model.end()) at = model.begin();
    if (at == model.end() || random() % 100 < 40) {
      if (char *p = alloc(bytes)) {
        ASSERT_GE(hak_big_bytes(p), bytes);
        ASSERT_TRUE(model.emplace(p, hak_big_bytes(p)).second);
        sum += hak_big_bytes(p);
      }
    } else if (random() % 2) {
      ASSERT_TRUE(hak_big_free(at->first));
      sum -= at->second;
      model.erase(at);
    } else if (char *q = static_cast<char *>(hak_big_resize(at->first, bytes))) {
      sum += bytes - at->second;
      model.erase(at);
      model[q] = bytes;
    }
    ASSERT_EQ(live(), sum);
    ASSERT_LE(hak_inside_big_kept(), 12u) << "a cut leaves two pieces more, until the next free";
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr) << "step " << i;
  }
  for (const auto &[p, bytes] : model) ASSERT_EQ(hak_big_bytes(p), bytes);
}

TEST_F(Big, AVanishedHolderCostsTheCacheOnly) {
  auto p = blocks(100, 3 * page());
  for (size_t i = 0; i < 50; i++) hak_big_free(p[i]);
  const uint64_t live_before = live();
  hak_inside_big_damage();
  hak_inside_vanish(hak_inside_big_lock());
  EXPECT_EQ(live(), live_before);
  EXPECT_EQ(kept(), 0u);
  EXPECT_STREQ(hak_inside_big_wrong(), nullptr);
  for (size_t i = 50; i < 100; i++) EXPECT_TRUE(hak_big_free(p[i]));
  EXPECT_EQ(live(), 0u);
}

}  // namespace
