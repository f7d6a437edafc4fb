/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_huge_test.cpp: which big blocks are fetched in huge pages.
 *
 * what      blocks/big_huge.c over the fake kernel (fake_os.h): each first touch takes look_ns.
 * owner     Each case runs in a separate process.
 * failure   Advice for a block that will stay empty, none for one that will be filled, or advice that stays.
 * not here  What a huge page costs: huge_test.cpp. The real kernel: tests/process/huge_pages.c.
 */
#include "big_case.h"

namespace {

constexpr size_t kHuge = 2 * kMiB, kLength = 8 * kMiB;
constexpr uint64_t kCheap = 200000, kDear = 2000000, kRefused = 1000;

/* The last advice of each region of 2 MiB. */
std::map<uintptr_t, fake_advice> g_advice;

void note_advice(void *p, size_t bytes, fake_advice advice) {
  if (advice == FAKE_SPLIT) return;
  uintptr_t first = hak_round_up(reinterpret_cast<uintptr_t>(p), kHuge);
  for (uintptr_t end = reinterpret_cast<uintptr_t>(p) + bytes; first + kHuge <= end; first += kHuge) g_advice[first] = advice;
}

/* Number of regions inside the block that have advice for a huge page. */
size_t regions_of(const char *p, size_t bytes) {
  size_t n = 0;
  uintptr_t at = hak_round_up(reinterpret_cast<uintptr_t>(p), kHuge);
  for (uintptr_t end = reinterpret_cast<uintptr_t>(p) + bytes; at + kHuge <= end; at += kHuge) {
    n += g_advice.count(at) != 0 && g_advice[at] == FAKE_HUGE;
  }
  return n;
}

void write_all(char *p, size_t bytes) { std::memset(p, 1, bytes); }

class BigHuge : public Big {
 protected:
  void SetUp() override {
    Big::SetUp();
    g_settings.huge_pages = HAK_HUGE_AUTO;
    g_settings.price = 640000;
    g_settings.cost_page = page() / 4096 * 1000;
    g_settings.big_cache_bytes = 0; /* no freed block serves the next */
    fake_os.populates = true;
    fake_os.look_ns = kCheap;
    fake_os.on_advice = note_advice;
  }

  /* Regions with advice in the new part of a block that grew to twice its length, filled or with one page written. */
  static size_t grown(bool filled) {
    char *p = alloc(kLength);
    write_all(p, filled ? kLength : page());
    char *q = static_cast<char *>(hak_big_resize(p, 2 * kLength));
    return q != nullptr ? regions_of(q, 2 * kLength) : 0;
  }

};

/* However full the block before was. */
TEST_F(BigHuge, AFreshBlockHasSmallPages) {
  char *p = alloc(kLength);
  write_all(p, kLength);
  hak_big_free(p);
  EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u);
}

TEST_F(BigHuge, ADearPageEndsThem) {
  fake_os.look_ns = kDear;
  EXPECT_EQ(grown(true), 0u) << "the second region was dear, too";
  fake_os.look_ns = kCheap;
  EXPECT_EQ(grown(true), 0u) << "a pause";
}

TEST_F(BigHuge, ARefusedPageEndsThem) {
  fake_os.look_ns = kRefused;
  EXPECT_EQ(grown(true), 0u);
}

/* Of 64 regions four are touched: the program may not want the rest soon. */
TEST_F(BigHuge, FewAreTouched) {
  char *p = alloc(kLength);
  write_all(p, kLength);
  char *q = static_cast<char *>(hak_big_resize(p, 2 * kLength));
  ASSERT_NE(q, nullptr);
  for (size_t bytes = 2 * kLength; bytes < 256 * kMiB; bytes *= 2) {
    write_all(q, bytes);
    ASSERT_NE(q = static_cast<char *>(hak_big_resize(q, 2 * bytes)), nullptr);
  }
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_huge_pages), 1u + 1 + 1 + 2 + 4);
}

TEST_F(BigHuge, AFilledBlockThatGrowsHasThemInItsNewPart) {
  char *p = alloc(kLength);
  write_all(p, kLength);
  char *q = static_cast<char *>(hak_big_resize(p, 2 * kLength));
  ASSERT_NE(q, nullptr);
  EXPECT_GE(regions_of(q, 2 * kLength), kLength / kHuge - 1);
  hak_big_free(q);
  EXPECT_EQ(regions_of(q, 2 * kLength), 0u);
}

TEST_F(BigHuge, ASparseBlockThatGrowsHasNone) {
  char *p = alloc(kLength);
  write_all(p, page());
  char *q = static_cast<char *>(hak_big_resize(p, 2 * kLength));
  EXPECT_EQ(regions_of(q, 2 * kLength), 0u);
}

/* What is filled proves as much more. */
TEST_F(BigHuge, AGrowthToMoreThanTwiceHasNone) {
  char *p = alloc(kLength);
  write_all(p, kLength);
  char *q = static_cast<char *>(hak_big_resize(p, 2 * kLength + page()));
  EXPECT_EQ(regions_of(q, 2 * kLength), 0u);
}

/* Grown twice: the first time filled, the second time with one page written in the part before. */
TEST_F(BigHuge, AnEmptyPartEndsThem) {
  char *p = alloc(kLength);
  write_all(p, kLength);
  char *q = static_cast<char *>(hak_big_resize(p, 2 * kLength));
  ASSERT_GE(regions_of(q, 2 * kLength), 1u);
  q[kLength] = 1;
  q = static_cast<char *>(hak_big_resize(q, 4 * kLength));
  EXPECT_EQ(regions_of(q, 4 * kLength), 0u);
}

/* Steps of less than a region: what an advised block grows by would have its advice unasked. */
TEST_F(BigHuge, SmallStepsOfAnEmptyPartEndThem) {
  size_t bytes = 2 * kLength;
  char *p = alloc(kLength);
  write_all(p, kLength);
  char *q = static_cast<char *>(hak_big_resize(p, bytes));
  ASSERT_GE(regions_of(q, bytes), 1u);
  for (unsigned step = 0; step < 3; step++) q = static_cast<char *>(hak_big_resize(q, bytes += kMiB));
  EXPECT_EQ(regions_of(q, bytes), 0u);
}

/* The program forbids reading its block. */
TEST_F(BigHuge, ABlockThatCannotBeReadIsNotRead) {
  fake_os.populates = false;
  EXPECT_EQ(grown(true), 0u);
}

TEST_F(BigHuge, NoneWhereTheyAreOff) {
  g_settings.huge_pages = HAK_HUGE_OFF;
  EXPECT_EQ(grown(true), 0u);
}

TEST_F(BigHuge, AllWhereTheyAreOn) {
  g_settings.huge_pages = HAK_HUGE_ON;
  EXPECT_EQ(regions_of(alloc(kLength), kLength), kLength / kHuge);
}

/* A block with advice for huge pages, at a border of regions. */
char *advised() {
  g_settings.huge_pages = HAK_HUGE_ON;
  char *p = alloc(kLength);
  g_settings.huge_pages = HAK_HUGE_AUTO;
  EXPECT_EQ(regions_of(p, kLength), kLength / kHuge);
  return p;
}

/* A block cut short keeps its advice, and the rest loses it. */
TEST_F(BigHuge, TheRestOfAShortenedBlockLosesItsAdvice) {
  g_settings.big_cache_bytes = size_t{1} << 30;
  char *p = advised();
  EXPECT_EQ(hak_big_resize(p, kLength / 2), p);
  EXPECT_EQ(regions_of(p, kLength), kLength / kHuge / 2);
}

/* What is given back of kept memory ends at a border of regions, and a part of one is split off first. */
std::vector<std::pair<uintptr_t, size_t>> g_splits;

TEST_F(BigHuge, WholeRegionsGoFirst) {
  g_settings.big_cache_bytes = size_t{1} << 30;
  hak_big_free(advised());
  const uint64_t before = kept();
  ASSERT_GE(before, kHuge);
  hak_big_trim(before - page());
  EXPECT_EQ(kept(), before - kHuge);
}

TEST_F(BigHuge, APartIsSplitOffBeforeItGoes) {
  char *p = advised();
  fake_os.on_advice = [](void *at, size_t bytes, fake_advice advice) {
    if (advice == FAKE_SPLIT) g_splits.emplace_back(reinterpret_cast<uintptr_t>(at), bytes);
  };
  EXPECT_EQ(hak_big_shed(p, 3 * kMiB), p + 3 * kMiB);
  ASSERT_EQ(g_splits.size(), 1u);
  EXPECT_EQ(g_splits[0], std::make_pair(reinterpret_cast<uintptr_t>(p) + kHuge, kMiB));
}

}  // namespace
