/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_test.cpp: blocks in separate mappings, and their table.
 *
 * what      blocks/big.c over the fake kernel (fake_os.h), whose clock advances only by calls of a test.
 * owner     Each case runs in a separate process.
 * failure   A bound that does not hold, a block that is lost, or an inconsistent table.
 * not here  The cache of freed blocks: big_cache_test.cpp.
 */
#include "big_case.h"

#include <atomic>
#include <set>
#include <thread>

extern "C" {
#include "os/lock.h"
}

namespace {

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
  EXPECT_EQ(hak_big_judge(p), HAK_ERROR_released);
  EXPECT_EQ(hak_big_judge(p + 5000), HAK_ERROR_released) << "inside a kept block";
  g_settings.big_cache_bytes = 0;
  EXPECT_TRUE(hak_big_free(gone));
  EXPECT_FALSE(hak_big_free(gone));
  EXPECT_EQ(hak_big_judge(gone), HAK_ERROR_foreign) << "nobody remembers it";
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
  g_settings.big_cache_blocks = 0;
  for (int round = 0; round < 300; round++) {
    for (char *q : blocks(40, page())) ASSERT_TRUE(hak_big_free(q));
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
    ASSERT_FALSE(hak_big_free(&round)) << "a table of tombstones only would be searched for ever";
  }
  EXPECT_LE(hak_inside_big_capacity(), 512u);
}

/* A program that only ever moves one big block must not fill the table with tombstones. */
TEST_F(Big, MovesLeaveRoomInTheTable) {
  fake_os.remap_moves = true;
  char *p = alloc(2 * page()), *other[2000];
  for (size_t i = 0; i < 2000; i++) {
    p = static_cast<char *>(hak_big_resize(p, (2 + i % 2) * page()));
    ASSERT_NE(p, nullptr);
    other[i] = static_cast<char *>(hak_os_map(page())); /* so that the next mapping lies elsewhere */
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
  /* and if the table cannot grow, the entries stay */
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
  g_settings.big_cache_bytes = 0;
  char *p = alloc(2 * kMiB);
  p[5] = 1;
  fake_os_refuse(FAKE_UNMAP);
  EXPECT_TRUE(hak_big_free(p));
  EXPECT_EQ(kept(), 2 * kMiB) << "its addresses";
  EXPECT_EQ(g_footprint.big_cached, 0u) << "its pages went";
  EXPECT_EQ(g_footprint.big, 0u);
  EXPECT_EQ(fake_os.last_purged, p);
  EXPECT_EQ(fake_os.last_purged_bytes, 2 * kMiB);
  EXPECT_EQ(hak_big_judge(p), HAK_ERROR_released);
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
  EXPECT_EQ(g_footprint.big_cached, 0u);
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
  g_settings.price = 0;
  g_settings.big_cache_bytes = 0;
  fake_os_refuse(FAKE_UNMAP);
  for (size_t i = 0; i < 70; i++) hak_big_free(many[i]);
  fake_os_permit(FAKE_UNMAP);
  g_settings.big_cache_bytes = SIZE_MAX;
  g_settings.big_cache_blocks = 64;
  for (size_t i = 70; i < 150; i++) hak_big_free(many[i]);
  EXPECT_GE(g_footprint.big_cached, 32 * 2 * kMiB);
  EXPECT_STREQ(hak_inside_big_wrong(), nullptr);
  hak_big_trim(0);
  for (int i = 0; i < 3; i++) hak_big_retry();
  EXPECT_EQ(kept(), 0u);
}

TEST_F(Big, WhatMayNeitherGoNorBeEmptiedIsKept) {
  g_settings.big_cache_bytes = 0;
  char *p = alloc(2 * kMiB);
  fake_os_refuse(FAKE_UNMAP);
  fake_os_refuse(FAKE_PURGE);
  fake_os.now_ms = 5000;
  hak_big_free(p);
  EXPECT_EQ(g_footprint.big_cached, 2 * kMiB);
  EXPECT_TRUE(hak_rent_is_refused(5000)) << "and nobody asks again at once";
  EXPECT_FALSE(hak_rent_is_refused(6000));
  fake_os_permit(FAKE_UNMAP);
  EXPECT_EQ(hak_big_trim(0), 2 * kMiB);
}

/* The next table of that length is the same memory: a block of the past must not stand in it. */
TEST_F(Big, AReplacedTableWhosePagesStayIsEmpty) {
  fake_os_refuse(FAKE_PURGE);
  g_settings.big_cache_bytes = 0;
  const uint64_t made = hak_inside_big_made();
  for (size_t round = 0; hak_inside_big_made() < made + 10; round++) {
    const size_t bytes = kMiB + round * 16 * page();
    std::vector<char *> many;
    for (int i = 0; i < 500; i++) many.push_back(alloc(bytes));
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
    for (char *p : many) EXPECT_EQ(hak_big_bytes(p), bytes);
    for (char *p : many) hak_big_free(p);
    for (char *p : many) EXPECT_EQ(hak_big_bytes(p), 0u);
    ASSERT_STREQ(hak_inside_big_wrong(), nullptr);
    ASSERT_LT(round, 200u) << "no table was replaced";
  }
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

constexpr size_t kOthers = 6 * kMiB;
uint64_t claimed_at_fence;

void others_take() {
  claimed_at_fence = g_footprint.claimed;
  hak_store(&g_footprint.span, hak_load(&g_footprint.span) + kOthers);
  hak_inside_at_fence = nullptr;
}

/* Of two takers that claim at once at least one sees the bytes of both: the own claim is told before the fence, and the
 * sums are read behind it. */
TEST_F(Big, AClaimIsToldBeforeTheLimitIsCompared) {
  hak_store(&g_settings.hard_limit, hak_load(&g_footprint.big) + 8 * kMiB);
  hak_inside_at_fence = others_take;
  EXPECT_EQ(alloc(4 * kMiB), nullptr);
  EXPECT_GE(claimed_at_fence, 4 * kMiB);
  EXPECT_EQ(g_footprint.claimed, 0u);
  hak_store(&g_footprint.span, hak_load(&g_footprint.span) - kOthers);
  hak_store(&g_settings.hard_limit, 0u);
}

/* ---- without the lock ---- */

TEST_F(Big, TheBytesOfABlockAreKnownWhileAnotherThreadHasTheLock) {
  char *p = alloc(3 * kMiB);
  hak_lock_take(hak_inside_big_lock());
  EXPECT_EQ(hak_big_bytes(p), 3 * kMiB);
  EXPECT_EQ(hak_big_bytes(p + page()), 0u);
  hak_lock_drop(hak_inside_big_lock());
}

/* Tables are rebuilt all the time, longer and shorter, while more threads ask for the bytes of their blocks. */
TEST_F(Big, TheBytesOfABlockAreKnownWhileTablesComeAndGo) {
  std::vector<char *> live;
  std::atomic<bool> ends{false};
  for (size_t i = 0; i < 40; i++) live.push_back(alloc((i % 7 + 1) * kMiB));
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 2; k++) {
    threads.emplace_back([&live, &ends] {
      size_t wrong = 0;
      while (!ends) {
        for (size_t i = 0; i < live.size(); i++) wrong += hak_big_bytes(live[i]) != (i % 7 + 1) * kMiB;
      }
      EXPECT_EQ(wrong, 0u);
    });
  }
  const uint64_t made = hak_inside_big_made();
  std::set<size_t> capacities;
  for (size_t round = 0; round < 80; round++) {
    const auto more = blocks(round / 8 % 4 * 100 + 50, page() << round % 8);
    for (char *p : more) hak_big_free(p);
    hak_big_trim(0);
    capacities.insert(hak_inside_big_capacity());
  }
  ends = true;
  for (std::thread &thread : threads) thread.join();
  EXPECT_GT(hak_inside_big_made() - made, 5u);
  EXPECT_GT(capacities.size(), 1u);
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

/* One lock where the block stays; never held over a kernel call, so before and after the call. */
TEST_F(Big, ResizeTakesTheLockOnce) {
  char *p = alloc(6 * kMiB);
  hak_big_resize(p, 3 * kMiB);
  const auto takes = [](char *&q, size_t bytes) {
    const unsigned before = hak_inside_big_taken();
    q = static_cast<char *>(hak_big_resize(q, bytes));
    return hak_inside_big_taken() - before;
  };
  EXPECT_EQ(takes(p, 3 * kMiB - 1), 1u) << "the same pages";
  EXPECT_EQ(takes(p, 6 * kMiB), 1u) << "what lies behind is free";
  fake_os.remap_moves = true;
  EXPECT_EQ(takes(p, 50 * kMiB), 2u) << "the kernel moves it";
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

TEST_F(Big, ABlockThatIsGuardedAllOverIsNotMadeLonger) {
  char *p = alloc(2 * kMiB);
  fake_os.guarded = p;
  EXPECT_EQ(hak_big_resize(p, 50 * kMiB), nullptr);
  EXPECT_EQ(fake_os.calls[FAKE_REMAP], 0u);
  EXPECT_EQ(hak_big_bytes(p), 2 * kMiB);
  EXPECT_EQ(g_footprint.claimed, 0u);
}

TEST_F(Big, WhatIsGuardedIsNotKept) {
  char *p = alloc(50 * kMiB), *q = alloc(9 * kMiB);
  ASSERT_EQ(mprotect(p + kMiB, page(), PROT_NONE), 0);
  EXPECT_EQ(hak_big_free(p), 50 * kMiB);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(hak_big_judge(p), HAK_ERROR_foreign);
  ASSERT_EQ(mprotect(q + 8 * kMiB, page(), PROT_NONE), 0);
  EXPECT_EQ(hak_big_resize(q, 2 * kMiB), q);
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(live(), 2 * kMiB);
}

TEST_F(Big, TheBeginningOfABlockGoesAlone) {
  char *p = alloc(30 * kMiB);
  std::memset(p, 7, 30 * kMiB);
  const uint64_t before = fake_os.mapped_bytes;
  EXPECT_EQ(hak_big_shed(p, 4 * kMiB), p + 4 * kMiB);
  EXPECT_EQ(before - fake_os.mapped_bytes, 4 * kMiB);
  EXPECT_EQ(fake_os.last_unmapped, p);
  EXPECT_EQ(hak_big_bytes(p), 0u);
  EXPECT_EQ(hak_big_bytes(p + 4 * kMiB), 26 * kMiB);
  EXPECT_EQ(live(), 26 * kMiB);
  EXPECT_EQ(p[4 * kMiB], 7);
  EXPECT_EQ(hak_big_shed(p + 4 * kMiB, 26 * kMiB), nullptr);
  EXPECT_EQ(before - fake_os.mapped_bytes, 30 * kMiB);
  EXPECT_EQ(live() + kept(), 0u);
}

TEST_F(Big, ARefusedResizeLeavesTheBlock) {
  char *p = alloc(2 * kMiB);
  std::memset(p, 7, 2 * kMiB);
  fake_os_refuse(FAKE_REMAP);
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
  g_settings.big_cache_blocks = 10;
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
