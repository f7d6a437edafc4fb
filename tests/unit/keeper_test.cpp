/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* keeper_test.cpp: a learner at work, with reports of blocks as blocks/big.c makes them.
 *
 * what      learn/waits.c and learn/keeper.c beside lists kept by hand.
 * failure   A wait that is lost, counted twice or closed in the wrong order; a decision that is not recorded.
 * not here  Learning from waits: leader_test.cpp. Effects on blocks: big_learn_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <vector>

extern "C" {
#include "learn/keeper.h"
}

namespace {

constexpr uint64_t kBreakEven = 400;
constexpr uint32_t kSite = 7, kBin = 23; /* up to 2 MiB */
constexpr uint64_t kPages = 512;

hak_freed freed(uint64_t since, uint32_t bin = kBin) { return {since, kSite, static_cast<uint8_t>(bin), 5}; }

TEST(Bins, PagesOfTheLargestBlock) {
  for (uint32_t bin = 0; bin < 100; bin++) {
    const uint64_t bytes = hak_leader_pages(bin) << 12;
    EXPECT_EQ(hak_leader_bin(bytes), bin);
    EXPECT_EQ(hak_leader_bin(bytes + 1), bin + 1);
  }
}

TEST(Waits, TheYoungestOfTheBinAndTheOldestOfAll) {
  auto waits = std::make_unique<hak_waits>();
  hak_freed out;
  EXPECT_FALSE(hak_waits_close(waits.get(), kBin, &out));
  for (uint64_t t : {1, 2, 3}) hak_waits_open(waits.get(), freed(t, t == 2 ? 9 : kBin));
  ASSERT_TRUE(hak_waits_close(waits.get(), kBin, &out));
  EXPECT_EQ(out.since, 3u);
  EXPECT_FALSE(hak_waits_close_oldest(waits.get(), 1, &out)) << "none began before";
  ASSERT_TRUE(hak_waits_close_oldest(waits.get(), 2, &out));
  EXPECT_EQ(out.since, 1u);
  EXPECT_FALSE(hak_waits_close(waits.get(), kBin, &out));
  EXPECT_TRUE(hak_waits_close(waits.get(), 9, &out));
  EXPECT_FALSE(hak_waits_close_oldest(waits.get(), UINT64_MAX, &out));
}

TEST(Waits, AsAListByHand) {
  auto waits = std::make_unique<hak_waits>();
  std::list<std::pair<uint64_t, uint32_t>> model; /* oldest first */
  std::mt19937 random(1);
  for (uint64_t now = 1; now < 100000; now++) {
    const uint32_t bin = random() % 5, dice = random() % 100;
    hak_freed out;
    EXPECT_EQ(hak_waits_full(waits.get()), model.size() == HAK_WAITS);
    if (dice < 55 && !hak_waits_full(waits.get())) {
      hak_waits_open(waits.get(), freed(now, bin));
      model.emplace_back(now, bin);
    } else if (dice < 90) {
      auto it = std::find_if(model.rbegin(), model.rend(), [&](const auto &wait) { return wait.second == bin; });
      ASSERT_EQ(hak_waits_close(waits.get(), bin, &out), it != model.rend());
      if (it == model.rend()) continue;
      EXPECT_EQ(out.since, it->first);
      model.erase(std::next(it).base());
    } else {
      ASSERT_EQ(hak_waits_close_oldest(waits.get(), UINT64_MAX, &out), !model.empty());
      if (model.empty()) continue;
      EXPECT_EQ(out.since, model.front().first);
      model.pop_front();
    }
  }
}

class Keeper : public testing::Test {
 protected:
  void SetUp() override {
    hak_keeper_write_into(all_.get(), ring_.get());
  }
  hak_asker asker(uint32_t bin = kBin) const { return {now_, kBreakEven, 0x1234, kSite, bin, 3}; }
  unsigned take(uint32_t bin = kBin) {
    const hak_asker who = asker(bin);
    return hak_keeper_taken(all_.get(), &who, &score_);
  }
  void free(unsigned arm, uint32_t bin = kBin) {
    const hak_asker who = asker(bin);
    hak_keeper_freed(all_.get(), &who, arm, &score_);
  }
  /* `times` blocks, each freed and reused after `wait`. */
  unsigned live(int times, uint64_t wait) {
    unsigned arm = HAK_ARM_BREAK_EVEN;
    for (; times > 0; times--) {
      free(arm);
      now_ += wait;
      arm = take();
      now_ += 3 * kBreakEven;
    }
    return arm;
  }

  std::unique_ptr<hak_keeper> all_ = std::make_unique<hak_keeper>();
  std::unique_ptr<hak_decisions> ring_ = std::make_unique<hak_decisions>();
  hak_score score_ = {};
  uint64_t now_ = 1000;
};

TEST_F(Keeper, NobodyWhoWaitsForLongerThanBreakEvenIsKept) {
  EXPECT_EQ(live(100, 2 * kBreakEven), 0u);
  EXPECT_EQ(score_.waits, 100u);
  EXPECT_EQ(score_.baseline, kPages * 200 << 16) << "the rent up to break-even, and fetching";
  EXPECT_LT(score_.paid, kPages * 110 << 16);
}

TEST_F(Keeper, ShortWaitsAreKeptForNoLongerThanTheyTake) {
  EXPECT_EQ(live(100, kBreakEven), unsigned{HAK_ARM_BREAK_EVEN});
  EXPECT_EQ(ring_->count, 0u) << "nothing was decided anew";
}

TEST_F(Keeper, ADecisionIsWrittenDown) {
  live(100, 2 * kBreakEven);
  ASSERT_GE(ring_->count, 1u);
  const hak_decision &row = ring_->row[ring_->count - 1];
  EXPECT_EQ(row.number, ring_->count);
  EXPECT_EQ(row.label, 0x1234u);
  EXPECT_EQ(row.depth, 3u);
  EXPECT_EQ(row.bin, kBin);
  EXPECT_EQ(row.from, HAK_ARM_BREAK_EVEN);
  EXPECT_EQ(row.to, 0);
  EXPECT_EQ(row.keep, 0u);
  EXPECT_LT(row.paid, row.before);
}

/* As in the mode shadow, where a freed block asks for an arm: also between reports of frees, and the next
 * allocation. */
TEST_F(Keeper, AQuestionDecidesNothing) {
  free(HAK_ARM_BREAK_EVEN);
  free(HAK_ARM_BREAK_EVEN);
  now_ += 5 * kBreakEven;
  free(HAK_ARM_BREAK_EVEN);
  const hak_asker who = asker();
  EXPECT_EQ(hak_keeper_arm(all_.get(), &who), 0u);
  EXPECT_EQ(ring_->count, 0u);
  EXPECT_EQ(take(), 0u);
  ASSERT_EQ(ring_->count, 1u);
  EXPECT_EQ(ring_->row[0].from, HAK_ARM_BREAK_EVEN);
}

TEST_F(Keeper, WhatOutlastsTheLongestArmIsNotedThoughNobodyAsks) {
  free(HAK_ARM_BREAK_EVEN);
  now_ += 5 * kBreakEven;
  free(HAK_ARM_BREAK_EVEN, kBin + 1);
  EXPECT_EQ(score_.waits, 1u);
  EXPECT_EQ(score_.baseline, kPages * 2 << 16);
}

TEST_F(Keeper, MoreBlocksThanThereIsRoomForCloseTheOldest) {
  for (int i = 0; i < HAK_WAITS + 10; i++) free(HAK_ARM_BREAK_EVEN);
  EXPECT_EQ(score_.waits, 10u);
}

TEST_F(Keeper, AClockThatWasSetBackIsAWaitOfNothing) {
  free(HAK_ARM_BREAK_EVEN);
  now_ -= 500;
  take();
  EXPECT_EQ(score_.waits, 1u);
  EXPECT_EQ(score_.paid, 0u);
}

TEST_F(Keeper, TheRingHasTheLastDecisions) {
  for (int i = 0; i < 4 * HAK_DECISIONS && ring_->count <= HAK_DECISIONS; i++) live(60, i % 2 == 0 ? 1000 : 100);
  EXPECT_GT(ring_->count, uint64_t{HAK_DECISIONS});
  EXPECT_EQ(ring_->row[(ring_->count - 1) % HAK_DECISIONS].number, ring_->count);
}

TEST_F(Keeper, TheSameWaitsGiveTheSameDecisions) {
  auto other = std::make_unique<hak_keeper>();
  auto ring = std::make_unique<hak_decisions>();
  for (int run = 0; run < 2; run++) {
    std::mt19937 random(5);
    now_ = 1000;
    for (int i = 0; i < 3000; i++) {
      free(HAK_ARM_BREAK_EVEN, random() % 8);
      now_ += random() % 1500;
      take(random() % 8);
    }
    if (run == 0) {
      std::swap(all_, other);
      hak_keeper_write_into(all_.get(), ring.get());
    }
  }
  EXPECT_GT(ring_->count, 3u);
  EXPECT_EQ(std::memcmp(ring_.get(), ring.get(), sizeof *ring), 0);
}

TEST_F(Keeper, WhatItIsToldIsWrittenDown) {
  constexpr size_t kRoom = 5;
  std::vector<uint64_t> memory((sizeof(hak_journal) + kRoom * sizeof(hak_told)) / 8 + 4, ~uint64_t{0});
  auto *journal = reinterpret_cast<hak_journal *>(memory.data());
  constexpr size_t kBytes = sizeof(hak_journal) + kRoom * sizeof(hak_told) + 39;
  hak_journal_start(journal, kBytes);
  all_->journal = {journal, hak_journal_room(kBytes), 0};
  hak_leader row = {};
  row.paid[7] = 77;
  row.weight = 128;
  hak_keeper_taken_unnoted(all_.get(), kBin);
  EXPECT_EQ(journal->count, 0u) << "nothing was open";
  free(HAK_ARM_BREAK_EVEN);
  hak_keeper_taken_unnoted(all_.get(), kBin);
  hak_keeper_restore(all_.get(), HAK_ANY, kBin, 3, &row);
  take(kBin);
  EXPECT_EQ(journal->count, 5u);
  hak_keeper_drop_waits(all_.get());
  EXPECT_EQ(journal->count, 6u);
  EXPECT_EQ(journal->room, 5u);
  std::vector<int> kinds;
  for (size_t i = 0; i < kRoom; i++) kinds.push_back(journal->row[i].kind);
  EXPECT_EQ(kinds, (std::vector<int>{HAK_TOLD_FREED, HAK_TOLD_UNNOTED, HAK_TOLD_PAID, HAK_TOLD_RESTORED, HAK_TOLD_TAKEN}));
  EXPECT_EQ(journal->row[2].paid[7], 77u);
  EXPECT_EQ(journal->row[3].weight, 128u);
  EXPECT_EQ(journal->row[4].now, now_);
  EXPECT_EQ(memory.back(), ~uint64_t{0}) << "nothing beyond the room";
}

}  // namespace
