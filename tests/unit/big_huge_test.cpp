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

/* Addresses in a region of 2 MiB that were advised last, by region. */
std::map<uintptr_t, fake_advice> g_advice;

void note_advice(void *p, size_t bytes, fake_advice advice) {
  if (advice == FAKE_SPLIT) return;
  uintptr_t first = hak_round_up(reinterpret_cast<uintptr_t>(p), kHuge);
  for (uintptr_t end = reinterpret_cast<uintptr_t>(p) + bytes; first + kHuge <= end; first += kHuge) g_advice[first] = advice;
}

/* Regions inside the block that have advice for a huge page. */
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
    g_settings.cost_page = 1000;
    g_settings.big_cache_bytes = 0; /* no freed block serves the next */
    fake_os.populates = true;
    fake_os.look_ns = kCheap;
    fake_os.on_advice = note_advice;
  }

  /* A block that lived before, filled or with one page written. */
  static void precede(size_t bytes, bool filled) {
    char *p = alloc(bytes);
    write_all(p, filled ? bytes : page());
    hak_big_free(p);
  }
};

TEST_F(BigHuge, TheFirstBlockHasSmallPages) { EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u); }

TEST_F(BigHuge, AfterAFilledBlockTheNextHasHugePagesAndBeginsAtABorder) {
  precede(kLength, true);
  char *p = alloc(kLength + page());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kHuge, 0u);
  EXPECT_EQ(regions_of(p, kLength), kLength / kHuge);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_huge_pages), 1u) << "one was timed";
  hak_big_free(p);
  EXPECT_EQ(regions_of(p, kLength), 0u) << "the advice does not stay";
}

TEST_F(BigHuge, AfterASparseBlockTheNextHasSmallPages) {
  precede(kLength, true);
  precede(kLength, false);
  EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u);
}

TEST_F(BigHuge, ShortBlocksSayNothingOfLongOnes) {
  precede(kHuge, true);
  EXPECT_EQ(regions_of(alloc(4 * kHuge), 4 * kHuge), 4u);
  EXPECT_EQ(regions_of(alloc(5 * kHuge), 5 * kHuge), 0u);
}

TEST_F(BigHuge, BlocksOfCallocAreJudgedApart) {
  precede(kLength, true);
  bool zero = true;
  char *p = alloc(kLength, 1, &zero);
  EXPECT_EQ(regions_of(p, kLength), 0u);
  write_all(p, kLength);
  hak_big_free(p);
  zero = true;
  EXPECT_EQ(regions_of(alloc(kLength, 1, &zero), kLength), kLength / kHuge);
}

/* A loop of blocks that are kept and stay empty. */
TEST_F(BigHuge, AtMostFourBlocksAreTrusted) {
  precede(kLength, true);
  size_t regions = 0;
  for (int i = 0; i < 20; i++) {
    char *p = alloc(kLength);
    regions += regions_of(p, kLength);
  }
  EXPECT_EQ(regions, 4 * kLength / kHuge);
}

/* While one thread runs the last block is looked at when the next is asked for. */
TEST_F(BigHuge, BlocksThatAreFilledBeforeTheNextAreNoBurden) {
  __libc_single_threaded = 1;
  size_t regions = 0;
  for (int i = 0; i < 20; i++) {
    char *p = alloc(kLength);
    regions += regions_of(p, kLength);
    write_all(p, kLength);
  }
  EXPECT_EQ(regions, 19 * kLength / kHuge);
}

TEST_F(BigHuge, ADearPageEndsThem) {
  precede(kLength, true);
  fake_os.look_ns = kDear;
  EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u) << "the second region was dear, too";
  fake_os.look_ns = kCheap;
  EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u) << "a pause";
}

TEST_F(BigHuge, ARefusedPageEndsThem) {
  precede(kLength, true);
  fake_os.look_ns = kRefused;
  EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u);
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

/* The program forbids reading its block. */
TEST_F(BigHuge, ABlockThatCannotBeReadIsNotRead) {
  fake_os.populates = false;
  char *p = alloc(kLength);
  mprotect(p, kLength, PROT_NONE);
  hak_big_free(p);
  EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u);
}

TEST_F(BigHuge, NoneWhereTheyAreOff) {
  g_settings.huge_pages = HAK_HUGE_OFF;
  precede(kLength, true);
  EXPECT_EQ(regions_of(alloc(kLength), kLength), 0u);
}

TEST_F(BigHuge, AllWhereTheyAreOn) {
  g_settings.huge_pages = HAK_HUGE_ON;
  EXPECT_EQ(regions_of(alloc(kLength), kLength), kLength / kHuge);
}

/* A block cut short keeps its advice, and the rest loses it. */
TEST_F(BigHuge, TheRestOfAShortenedBlockLosesItsAdvice) {
  g_settings.big_cache_bytes = size_t{1} << 30;
  precede(kLength, true);
  hak_big_trim(0);
  char *p = alloc(kLength);
  ASSERT_EQ(regions_of(p, kLength), kLength / kHuge);
  EXPECT_EQ(hak_big_resize(p, kLength / 2), p);
  EXPECT_EQ(regions_of(p, kLength), kLength / kHuge / 2);
}

/* What is given back of kept memory ends at a border of regions, and a part of one is split off first. */
std::vector<std::pair<uintptr_t, size_t>> g_splits;

TEST_F(BigHuge, WholeRegionsGoFirst) {
  g_settings.big_cache_bytes = size_t{1} << 30;
  precede(kLength, true);
  hak_big_trim(0);
  char *p = alloc(kLength);
  hak_big_free(p);
  hak_big_trim(kLength - page());
  EXPECT_EQ(kept(), kLength - kHuge);
}

TEST_F(BigHuge, APartIsSplitOffBeforeItGoes) {
  precede(kLength, true);
  char *p = alloc(kLength);
  ASSERT_EQ(regions_of(p, kLength), kLength / kHuge);
  fake_os.on_advice = [](void *at, size_t bytes, fake_advice advice) {
    if (advice == FAKE_SPLIT) g_splits.emplace_back(reinterpret_cast<uintptr_t>(at), bytes);
  };
  EXPECT_EQ(hak_big_shed(p, 3 * kMiB), p + 3 * kMiB);
  ASSERT_EQ(g_splits.size(), 1u);
  EXPECT_EQ(g_splits[0], std::make_pair(reinterpret_cast<uintptr_t>(p) + kHuge, kMiB));
}

}  // namespace
