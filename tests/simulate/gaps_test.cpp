/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gaps_test.cpp: gaps, the waits of free blocks, of events made by hand and beside a simple model.
 *
 * what      tools/gaps.c.
 * failure   A gap that differs from the events fails the test.
 * not here  The cost of gaps: policies_test.cpp. Reading a trace: the reader's own tests.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "made.h"

namespace {

/* Length, pages, site, bin, open. */
using Told = std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, bool>;

std::vector<Told> told(const Gaps &gaps) {
  std::vector<Told> all;
  for (size_t i = 0; i < gaps->gaps; i++) {
    const hak_gap &gap = gaps->gap[i];
    const hak_group &group = gaps->group[gap.group];
    all.emplace_back(gap.ns, gap.pages, group.site, group.bin, gap.open);
  }
  return all;
}

uint32_t bin(uint64_t bytes) { return hak_bin_of(bytes, 4); }

TEST(Bins, AreFourToADoublingAndEndAtTheirLargestSize) {
  EXPECT_EQ(bin(81920), bin(65537));
  EXPECT_EQ(bin(65537), bin(65536) + 1);
  EXPECT_EQ(bin(81921), bin(81920) + 1);
  EXPECT_EQ(bin(131072), bin(65536) + 4);
  EXPECT_EQ(hak_bin_of(131072, 1), hak_bin_of(65537, 1));
}

TEST(Bins, GrowWithTheSizeAndStayWithinTheTable) {
  for (const uint32_t bins : {1u, 3u, 4u, 64u}) {
    uint32_t before = 0;
    for (uint64_t bytes = 1; bytes < UINT64_MAX / 2; bytes += bytes / 50 + 1) {
      const uint32_t here = hak_bin_of(bytes, bins);
      ASSERT_GE(here, before) << bytes;
      before = here;
    }
    EXPECT_LT(hak_bin_of(UINT64_MAX, bins), 64 * bins);
    EXPECT_LT(hak_bin_of(0, bins), 64 * bins);
  }
}

TEST(GapsOf, TheYoungestIsTakenFirstAndTheRestWaitsForTheEnd) {
  Made made;
  const uint32_t a = made.get(0), b = made.get(1), c = made.get(2);
  made.put(10, a);
  made.put(20, b);
  made.put(25, c);
  made.get(30);
  made.get(50);
  made.end(100);
  const Gaps gaps(made);
  const uint32_t here = bin(kPiece);
  const std::vector<Told> known = {{5, 16, 0, here, false}, {30, 16, 0, here, false}, {90, 16, 0, here, true}};
  EXPECT_EQ(told(gaps), known);
  EXPECT_EQ(gaps->blocks, 5u);
  EXPECT_EQ(gaps->first, 3u);
}

TEST(GapsOf, AnotherBinIsAnotherPool) {
  Made made;
  made.put(10, made.get(0, 80 << 10));
  made.get(20, 96 << 10);
  made.get(30, 66 << 10);
  const Gaps gaps(made);
  EXPECT_EQ(told(gaps), (std::vector<Told>{{20, 20, 0, bin(80 << 10), false}})) << "of the size that was freed";
  EXPECT_EQ(gaps->first, 2u);
}

TEST(GapsOf, AGapIsOfTheSiteWhoseBlockWasFreed) {
  Made made;
  const uint32_t first = made.get(0, kPiece, 7);
  made.put(1, first);
  const uint32_t second = made.get(3, kPiece, 8);
  made.put(6, second);
  made.get(10, kPiece, 9);
  const Gaps gaps(made);
  const uint32_t here = bin(kPiece);
  EXPECT_EQ(told(gaps), (std::vector<Told>{{2, 16, 7, here, false}, {4, 16, 8, here, false}}));
}

struct Turn {
  uint64_t ns;
  uint32_t record, from, pages;
  bool freed;
  bool operator==(const Turn &o) const {
    return ns == o.ns && record == o.record && from == o.from && pages == o.pages && freed == o.freed;
  }
};

std::vector<Turn> turns_of(const Gaps &gaps) {
  std::vector<Turn> turns;
  for (size_t i = 0; i < gaps->turns; i++) {
    const hak_turn &turn = gaps->turn[i];
    turns.push_back({turn.ns, turn.record, turn.from, turn.pages, turn.freed != 0});
  }
  return turns;
}

/* Allocated, resized within the bin, to a second bin, freed; allocated again, shrunk. */
TEST(GapsOf, TurnsSayWhatBecameOfEachRecord) {
  Made made;
  const uint32_t first = made.get(1, 65 << 10), second = made.resize(2, first, 66 << 10);
  const uint32_t third = made.resize(3, second, 1 << 20);
  made.put(4, third);
  made.resize(6, made.get(5, 1 << 20), 10);
  made.put(7, made.get(6, 10));
  const Gaps gaps(made);
  const std::vector<Turn> turns = {
      {1, 1, 0, 17, false}, {3, 2, 1, 256, false}, {4, 2, 0, 256, true}, {5, 2, 0, 256, false}, {6, 2, 0, 256, true}};
  EXPECT_EQ(turns_of(gaps), turns);
  std::vector<uint32_t> began;
  for (size_t i = 0; i < gaps->gaps; i++) began.push_back(gaps->gap[i].turn);
  std::sort(began.begin(), began.end());
  EXPECT_EQ(began, (std::vector<uint32_t>{1, 2, 4})) << "what was moved from waits, too";
  EXPECT_EQ(gaps->first, 2u);
}

TEST(GapsOf, TurnsNobodyAsksForAreNotKept) {
  Made made;
  made.put(2, made.get(1));
  const Gaps gaps(made, {kPiece, 4, false});
  EXPECT_EQ(gaps->gaps, 1u);
  EXPECT_EQ(gaps->turns, 0u);
}

TEST(GapsOf, SmallBlocksAndCallsThatFailedAreLeftOut) {
  Made made;
  made.put(1, made.get(0, kPiece - 1));
  made.fail(2, kPiece);
  made.get(3, kPiece - 1);
  const uint32_t kept = made.get(4);
  made.fail_resize(5, kept, 2 * kPiece);
  made.put(6, kept);
  made.put(7, kept);
  const Gaps gaps(made);
  EXPECT_EQ(told(gaps), (std::vector<Told>{{1, 16, 0, bin(kPiece), true}}));
  EXPECT_EQ(gaps->blocks, 1u);
}

TEST(GapsOf, AResizeWithinABinStaysWhereItIs) {
  Made made;
  const uint32_t old = made.get(0, 70 << 10, 1);
  const uint32_t block = made.resize(10, old, 80 << 10, 2);
  made.put(20, block);
  made.end(25);
  const Gaps gaps(made);
  EXPECT_EQ(told(gaps), (std::vector<Told>{{5, 20, 2, bin(80 << 10), true}}));
  EXPECT_EQ(gaps->first, 1u);
}

TEST(GapsOf, AResizeToAnotherBinTakesAndThenFrees) {
  Made made;
  const uint32_t small = made.get(0, 100, 1);
  const uint32_t first = made.resize(10, small, kPiece, 2);
  const uint32_t second = made.resize(20, first, 4 * kPiece, 3);
  made.resize(30, second, 100, 4);
  made.end(50);
  const Gaps gaps(made);
  EXPECT_EQ(told(gaps), (std::vector<Told>{{30, 16, 2, bin(kPiece), true}, {20, 64, 3, bin(4 * kPiece), true}}));
}

TEST(GapsOf, NothingAndOnlySmallBlocksHaveNone) {
  Made made;
  EXPECT_EQ(Gaps(made)->gaps, 0u);
  made.put(1, made.get(0, 1));
  const Gaps gaps(made);
  EXPECT_TRUE(gaps.collected);
  EXPECT_EQ(gaps->gaps, 0u);
}

/* ---- beside a model ---- */

struct Piece {
  uint64_t freed, size;
  uint32_t site;
};

class Model {
 public:
  void get(const hak_event &event) {
    auto &pool = pools_[bin(event.size)];
    if (!pool.empty()) {
      note(pool.back(), event.ns, false);
      pool.pop_back();
    }
    live_[event.block] = {0, event.size, event.site};
  }
  void put(const hak_event &event) {
    Piece piece = live_.at(event.block);
    live_.erase(event.block);
    piece.freed = event.ns;
    pools_[bin(piece.size)].push_back(piece);
  }
  std::vector<Told> close(uint64_t ns) {
    for (const auto &pool : pools_)
      for (const Piece &piece : pool.second) note(piece, ns, true);
    std::sort(all_.begin(), all_.end());
    return all_;
  }

 private:
  void note(const Piece &piece, uint64_t ns, bool open) {
    const auto pages = static_cast<uint32_t>((piece.size + 4095) / 4096);
    all_.emplace_back(ns - piece.freed, pages, piece.site, bin(piece.size), open);
  }
  std::map<uint32_t, std::vector<Piece>> pools_;
  std::map<uint32_t, Piece> live_;
  std::vector<Told> all_;
};

/* Many sites, so that the table of groups is widened. */
Made random_process(uint32_t seed, int steps) {
  std::mt19937 random(seed);
  std::vector<uint32_t> live;
  Made made;
  for (uint64_t now = 0; steps > 0; steps--) {
    now += random() % 1000;
    if (live.empty() || random() % 2 == 0) {
      live.push_back(made.get(now, kPiece << random() % 4 | random() % kPiece, random() % 3000));
    } else {
      std::swap(live[random() % live.size()], live.back());
      made.put(now, live.back());
      live.pop_back();
    }
  }
  return made;
}

TEST(GapsOf, RandomEventsAreThoseOfTheModel) {
  for (uint32_t seed = 1; seed <= 20; seed++) {
    Made made = random_process(seed, 5000);
    Model model;
    for (const hak_event &event : made.events()) {
      if (event.operation == HAK_OP_FREE) {
        model.put(event);
      } else {
        model.get(event);
      }
    }
    const Gaps gaps(made);
    std::vector<Told> found = told(gaps);
    std::sort(found.begin(), found.end());
    ASSERT_EQ(found, model.close(made.events().back().ns)) << "seed " << seed;
  }
}

}  // namespace
