/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_test.cpp: blocks of one class on bitmaps.
 *
 * what      blocks/slab.c over the fake runs (fake_runs.h) with inaccessible memory, with metadata from the fake kernel
 *           (fake_os.h).
 * owner     Each case runs in a separate process.
 * locks     As tested by the case with threads.
 * failure   A block handed out twice or lost, a wrong free that passes, or lists that do not agree with the bitmaps.
 * not here  Magazines: magazine_test.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/slab.h"
#include "fake_os.h"
#include "fake_runs.h"
#include "internal.h"
#include "tables/classes.h"
#include "tables/meta.h"
#include "tables/range.h"
}

namespace {

constexpr unsigned kLastClass = HAK_CLASS_32768; // the largest of slabs

using Blocks = std::vector<void *>;

unsigned scale() {
  const char *text = std::getenv("HAK_TEST_SCALE");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

uintptr_t number(const void *p) { return reinterpret_cast<uintptr_t>(p); }
char *bytes(void *p) { return static_cast<char *>(p); }

class Slab : public testing::Test {
 protected:
  void SetUp() override { fake_span_start(); }
  void TearDown() override {
    EXPECT_STREQ(fake_span.wrong, nullptr);
    for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) EXPECT_STREQ(hak_inside_slab_wrong(c), nullptr) << c;
  }

  /* Lowest address first. */
  Blocks fill(unsigned c, size_t want) { return fill(c, want, &current_[c]); }
  Blocks fill(unsigned c, size_t want, uint32_t *current) {
    Blocks out(want);
    out.resize(hak_slab_fill(c, current, out.data(), want));
    std::reverse(out.begin(), out.end());
    return out;
  }

  hak_fault put(unsigned c, Blocks blocks) {
    hak_fault fault = {HAK_ERROR_none, nullptr};
    hak_slab_put(c, blocks.data(), blocks.size(), HAK_SLAB_ALL, &fault);
    return fault;
  }

  void release(unsigned c) { hak_slab_release(c, &current_[c]); }

  static uint64_t out(unsigned c) {
    uint64_t units;
    return hak_slab_handed_out(c, &units);
  }

  static uint64_t units(unsigned c) {
    uint64_t units;
    hak_slab_handed_out(c, &units);
    return units;
  }

  /* n slabs of class c with every block handed out, lowest first. */
  std::vector<Blocks> whole_slabs(unsigned c, size_t n) {
    std::vector<Blocks> slabs;
    for (size_t i = 0; i < n; i++) slabs.push_back(fill(c, g_class[c].slots));
    return slabs;
  }

  uint32_t current_[HAK_CLASSES] = {};
};

TEST_F(Slab, EveryClassIsFilledUpwardsAndWhole) {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) {
    const hak_class &k = g_class[c];
    const Blocks blocks = fill(c, k.slots);
    ASSERT_EQ(blocks.size(), k.slots);
    const uintptr_t first = number(blocks[0]);
    EXPECT_EQ(first % HAK_UNIT_BYTES, 0u);
    for (size_t i = 0; i < blocks.size(); i++) ASSERT_EQ(number(blocks[i]), first + i * k.bytes) << k.bytes;
    EXPECT_EQ(units(c), k.units);
    EXPECT_EQ(out(c), k.slots);
    for (void *p : {blocks.front(), blocks.back()}) {
      EXPECT_EQ(hak_range_class(p), c);
      EXPECT_EQ(hak_range_class(bytes(p) + k.bytes - 1), c);
    }
    EXPECT_EQ(current_[c], HAK_NO_UNIT) << "nothing is left in it";
    EXPECT_EQ(put(c, blocks).error, HAK_ERROR_none);
    EXPECT_EQ(out(c), 0u);
  }
}

TEST_F(Slab, FillsGoOnWhereTheLastOneEnded) {
  const unsigned c = 3;
  Blocks all;
  for (const size_t want : {1u, 63u, 64u, 1u, 130u, 500u, 7u}) {
    const Blocks some = fill(c, want);
    ASSERT_EQ(some.size(), want);
    all.insert(all.end(), some.begin(), some.end());
  }
  for (size_t i = 1; i < all.size(); i++) ASSERT_EQ(number(all[i]), number(all[i - 1]) + 48);
  EXPECT_EQ(fake_span.gets, 1u);
}

TEST_F(Slab, AFillRunsIntoTheNextSlab) {
  const unsigned c = 60;
  const size_t slots = g_class[c].slots;
  const Blocks blocks = fill(c, 3 * slots + 1);
  EXPECT_EQ(blocks.size(), 3 * slots + 1);
  EXPECT_EQ(std::set<void *>(blocks.begin(), blocks.end()).size(), blocks.size());
  EXPECT_EQ(fake_span.gets, 4u);
  EXPECT_NE(current_[c], HAK_NO_UNIT);
}

TEST_F(Slab, HolesAreFilledLowestFirst) {
  const unsigned c = 2;
  const Blocks blocks = fill(c, 300);
  const std::vector<size_t> holes = {3, 64, 65, 66, 70, 127, 128, 255};
  Blocks back;
  for (const size_t i : holes) back.push_back(blocks[i]);
  std::shuffle(back.begin(), back.end(), std::mt19937(1));
  put(c, back);
  const Blocks again = fill(c, holes.size() + 1);
  for (size_t i = 0; i < holes.size(); i++) EXPECT_EQ(again[i], blocks[holes[i]]);
  EXPECT_EQ(number(again.back()), number(blocks.back()) + 32);
}

TEST_F(Slab, TheFullestPartialSlabIsFilledFirst) {
  const unsigned c = 8;
  const auto slabs = whole_slabs(c, 4);
  const size_t given[] = {100, 3, 40, 500};
  for (size_t i = 0; i < 4; i++) put(c, Blocks(slabs[i].begin(), slabs[i].begin() + static_cast<long>(given[i])));
  for (const size_t i : {1u, 2u, 0u, 3u}) EXPECT_EQ(fill(c, given[i]).front(), slabs[i].front()) << i;
}

/* ---- wrong puts ---- */

TEST_F(Slab, ABitThatIsSetIsADoubleFree) {
  for (const unsigned c : {1u, 17u, 40u, kLastClass}) {
    const Blocks blocks = fill(c, 5);
    EXPECT_EQ(put(c, {blocks[0], blocks[1]}).error, HAK_ERROR_none);
    const hak_fault fault = put(c, {blocks[2], blocks[1], blocks[0], blocks[3]});
    EXPECT_EQ(fault.error, HAK_ERROR_double_free);
    EXPECT_EQ(fault.p, blocks[1]) << "the first wrong one is named";
    EXPECT_EQ(out(c), 1u) << "the right ones were put";
    EXPECT_EQ(put(c, {blocks[4]}).error, HAK_ERROR_none);
  }
}

TEST_F(Slab, TwiceInOneBatchIsADoubleFree) {
  const unsigned c = 5;
  const Blocks blocks = fill(c, 200);
  EXPECT_EQ(put(c, {blocks[7], blocks[7]}).error, HAK_ERROR_double_free);
  EXPECT_EQ(put(c, {blocks[8], blocks[150], blocks[8]}).error, HAK_ERROR_double_free) << "another word between";
  EXPECT_EQ(out(c), 197u);
}

TEST_F(Slab, AFreeSlotThatNeverWasOutIsADoubleFree) {
  const Blocks blocks = fill(HAK_CLASS_64, 1);
  EXPECT_EQ(put(HAK_CLASS_64, {bytes(blocks[0]) + 64}).error, HAK_ERROR_double_free);
  EXPECT_EQ(out(HAK_CLASS_64), 1u);
}

TEST_F(Slab, EveryInteriorPointerIsSeen) {
  for (const unsigned c : {1u, 3u, 25u, 57u, kLastClass}) {
    const Blocks blocks = fill(c, 3);
    for (size_t offset = 1; offset < g_class[c].bytes; offset++) {
      const hak_fault fault = put(c, {bytes(blocks[1]) + offset});
      ASSERT_EQ(fault.error, HAK_ERROR_interior) << offset;
      ASSERT_EQ(fault.p, bytes(blocks[1]) + offset);
    }
    EXPECT_EQ(out(c), 3u);
  }
}

TEST_F(Slab, TheRestBehindTheLastSlotIsNoBlock) {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) {
    const hak_class &k = g_class[c];
    if (k.slots * size_t{k.bytes} == k.units * HAK_UNIT_BYTES) continue;
    const Blocks blocks = fill(c, 1);
    EXPECT_EQ(put(c, {bytes(blocks[0]) + k.slots * size_t{k.bytes}}).error, HAK_ERROR_interior) << k.bytes;
  }
}

/* Rows up and down, every second block, and blocks of two slabs by turns: with a bound, call after call, all come back. */
TEST_F(Slab, ListsOfEveryShapeComeBackInBoundedPieces) {
  const unsigned classes[] = {HAK_CLASS_16, HAK_CLASS_48, HAK_CLASS_1024, HAK_CLASS_1152, HAK_CLASS_16384};
  for (unsigned c : classes) {
    for (int shape = 0; shape < 5; shape++) {
      const auto slabs = whole_slabs(c, 2);
      Blocks list, odd;
      for (size_t i = 0; i < slabs[0].size(); i++) {
        const bool apart = shape == 4 || (shape == 2 && i % 2 == 1);
        (apart ? odd : list).push_back(slabs[0][i]);
        (apart ? odd : list).push_back(slabs[1][i]);
      }
      std::sort(list.begin(), list.end());
      if (shape == 1) std::reverse(list.begin(), list.end());
      if (shape == 3) std::shuffle(list.begin(), list.end(), std::mt19937(c));
      list.insert(list.end(), odd.begin(), odd.end());
      for (size_t done = 0, n; done < list.size(); done += n) {
        hak_fault fault = {HAK_ERROR_none, nullptr};
        const uint64_t before = out(c);
        n = hak_slab_put(c, list.data() + done, list.size() - done, 20, &fault);
        ASSERT_TRUE(n > 0 && n < 20 + 64) << "up to the end of a word: " << n;
        ASSERT_EQ(before - out(c), n);
        ASSERT_EQ(fault.error, HAK_ERROR_none) << g_class[c].bytes << " shape " << shape;
        ASSERT_STREQ(hak_inside_slab_wrong(c), nullptr) << g_class[c].bytes << " shape " << shape;
      }
      ASSERT_EQ(out(c), 0u);
    }
  }
}

/* A block alone in its slab takes four steps: the slab's three, and its own. */
TEST_F(Slab, BlocksOfManySlabsAreBoundedInTime) {
  const unsigned c = HAK_CLASS_1024;
  Blocks list;
  const auto slabs = whole_slabs(c, 60);
  for (const Blocks &slab : slabs) list.push_back(slab[5]);
  hak_fault fault = {HAK_ERROR_none, nullptr};
  EXPECT_EQ(hak_slab_put(c, list.data(), list.size(), 100, &fault), 25u);
  EXPECT_EQ(hak_slab_put(c, list.data() + 25, 35, HAK_SLAB_ALL, &fault), 35u);
  EXPECT_EQ(fault.error, HAK_ERROR_none);
}

/* In the middle of a row each kind of wrong pointer is found, and all others are put. */
TEST_F(Slab, AWrongPointerInARowIsTheOnlyOneThatStays) {
  const unsigned c = HAK_CLASS_64;
  for (bool down : {false, true}) {
    for (size_t at = 0; at < 40; at++) {
      for (int kind = 0; kind < 3; kind++) {
        Blocks list = fill(c, g_class[c].slots), row(list.begin() + 30, list.begin() + 70);
        if (down) std::reverse(row.begin(), row.end());
        void *right = row[at], *wrong = right;
        if (kind == 0) put(c, {right});
        if (kind == 1) wrong = bytes(right) + 16;
        if (kind == 2) wrong = row[(at + 7) % row.size()];
        row[at] = wrong;
        const hak_fault fault = put(c, row);
        EXPECT_EQ(fault.error, kind == 1 ? HAK_ERROR_interior : HAK_ERROR_double_free) << at << " kind " << kind;
        EXPECT_EQ(fault.p, wrong);
        if (kind != 0) put(c, {right});
        list.erase(list.begin() + 30, list.begin() + 70);
        ASSERT_EQ(put(c, list).error, HAK_ERROR_none);
        ASSERT_EQ(out(c), 0u);
      }
    }
  }
}

TEST_F(Slab, ABlockOfASlabThatWentBackIsGivenBack) {
  const unsigned c = 30;
  auto slabs = whole_slabs(c, 2);
  put(c, slabs[0]);
  put(c, slabs[1]); /* one empty slab is kept, this slab goes */
  EXPECT_EQ(put(c, {slabs[1][4]}).error, HAK_ERROR_released);
  EXPECT_EQ(put(c, {slabs[0][4]}).error, HAK_ERROR_double_free);
  EXPECT_EQ(out(c), 0u);
}

TEST_F(Slab, ABlockOfAnotherClassIsNotTaken) {
  const Blocks small = fill(HAK_CLASS_32, 3), large = fill(HAK_CLASS_384, 3);
  const hak_fault fault = put(HAK_CLASS_384, {large[0], small[1], large[1]});
  EXPECT_EQ(fault.error, HAK_ERROR_released);
  EXPECT_EQ(fault.p, small[1]);
  EXPECT_EQ(out(HAK_CLASS_384), 1u);
  EXPECT_EQ(out(HAK_CLASS_32), 3u);
}

/* ---- empty slabs ---- */

TEST_F(Slab, AtMostOneEmptySlabIsKept) {
  for (const unsigned c : {1u, 40u, kLastClass}) {
    const size_t before = fake_span.runs_out;
    const auto slabs = whole_slabs(c, 5);
    for (const Blocks &slab : slabs) {
      put(c, slab);
      EXPECT_EQ(hak_inside_slab_empties(c), 1u);
    }
    EXPECT_EQ(fake_span.runs_out, before + 1);
    EXPECT_EQ(units(c), g_class[c].units);
    EXPECT_EQ(fill(c, 1).size(), 1u);
    EXPECT_EQ(hak_inside_slab_empties(c), 0u) << "it is in use again";
  }
}

TEST_F(Slab, TrimGivesTheKeptOnesBack) {
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) put(c, fill(c, g_class[c].slots));
  EXPECT_EQ(fake_span.runs_out, size_t{HAK_CLASSES_NUMBERED} - 1);
  EXPECT_EQ(hak_slab_bytes(), fake_span.units_out * HAK_UNIT_BYTES);
  const Blocks held = fill(HAK_CLASS_144, 2);
  release(HAK_CLASS_144);
  hak_slab_trim();
  EXPECT_EQ(fake_span.runs_out, 1u);
  EXPECT_EQ(hak_slab_bytes(), HAK_UNIT_BYTES);
  EXPECT_EQ(hak_range_class(held[0]), 9u);
  EXPECT_EQ(put(HAK_CLASS_144, held).error, HAK_ERROR_none);
}

TEST_F(Slab, AnOwnedSlabStaysWithItsThread) {
  const unsigned c = 6;
  const Blocks mine = fill(c, 10);
  put(c, mine);
  hak_slab_trim();
  EXPECT_EQ(fake_span.runs_out, 1u) << "empty, but owned";
  uint32_t other = HAK_NO_UNIT;
  const Blocks theirs = fill(c, 10, &other);
  EXPECT_EQ(fake_span.runs_out, 2u) << "another thread opens its own";
  EXPECT_EQ(fill(c, 10), mine);
  hak_slab_release(c, &other);
  EXPECT_EQ(other, HAK_NO_UNIT);
  hak_slab_release(c, &other);
  put(c, theirs);
  put(c, mine);
  release(c);
  EXPECT_EQ(fake_span.runs_out, 1u);
  EXPECT_EQ(hak_inside_slab_empties(c), 1u);
}

/* ---- without memory ---- */

/* Of all sizes, except the classes' own records. */
void use_metadata_up() {
  for (const unsigned c : {1u, kLastClass}) hak_inside_slab_lock(c);
  fake_os_refuse(FAKE_MAP);
  for (size_t bytes = HAK_META_MAX; bytes >= 16; bytes /= 2) {
    while (hak_meta_get(bytes) != nullptr) continue;
  }
}

TEST_F(Slab, WithoutMemoryAFillGivesWhatThereIs) {
  const unsigned c = 50;
  const size_t slots = g_class[c].slots;
  fake_span.permits = 2;
  const Blocks blocks = fill(c, 5 * slots);
  EXPECT_EQ(blocks.size(), 2 * slots);
  for (size_t i = 1; i < slots; i++) EXPECT_EQ(number(blocks[i]), number(blocks[i - 1]) + g_class[c].bytes);
  EXPECT_EQ(fill(c, 1).size(), 0u);
  EXPECT_EQ(out(c), 2 * slots);
  fake_span.permits = UINT64_MAX;
  EXPECT_EQ(fill(c, 1).size(), 1u);
}

TEST_F(Slab, WithoutABitmapTheRunGoesBack) {
  use_metadata_up();
  EXPECT_EQ(fill(HAK_CLASS_16, 10).size(), 0u);
  EXPECT_EQ(fake_span.gets, 1u);
  EXPECT_EQ(fake_span.runs_out, 0u);
  EXPECT_EQ(units(1), 0u);
  fake_span.opens = true;
  EXPECT_EQ(fill(HAK_CLASS_16, 10).size(), 0u);
  EXPECT_EQ(fake_span.closes, 1u) << "its region, too";
  EXPECT_EQ(fake_span.fetches, 0u);
  fake_span.opens = false;
  EXPECT_EQ(fill(HAK_CLASS_32768, 8).size(), 8u) << "a bitmap of one word needs no memory";
  fake_os_permit(FAKE_MAP);
  EXPECT_EQ(fill(HAK_CLASS_16, 10).size(), 10u);
}

/* ---- against a model ---- */

class SlabModel : public Slab {
 protected:
  /* `threads` current slabs of one class, blocks in a set. */
  void run(unsigned c, unsigned threads, unsigned steps, std::mt19937 &random) {
    std::vector<uint32_t> current(threads);
    for (unsigned i = 0; i < steps; i++) {
      step(c, &current[random() % threads], random);
      if (testing::Test::HasFatalFailure()) FAIL() << "class " << c << ", step " << i;
    }
    for (uint32_t &unit : current) hak_slab_release(c, &unit);
    put(c, Blocks(live_.begin(), live_.end()));
    live_.clear();
    ASSERT_EQ(out(c), 0u);
    ASSERT_LE(units(c), g_class[c].units);
  }

  void step(unsigned c, uint32_t *current, std::mt19937 &random) {
    switch (random() % 8) {
      case 0: hak_slab_release(c, current); break;
      case 1: hak_slab_trim(); break;
      case 2: case 3: case 4: add(fill(c, 1 + random() % 200, current), c); break;
      default: put_some(c, random); break;
    }
    ASSERT_EQ(out(c), live_.size());
    ASSERT_STREQ(hak_inside_slab_wrong(c), nullptr);
  }

  void add(const Blocks &blocks, unsigned c) {
    for (void *p : blocks) {
      ASSERT_TRUE(live_.insert(p).second) << "handed out twice";
      ASSERT_EQ(hak_range_class(p), c);
    }
  }

  void put_some(unsigned c, std::mt19937 &random) {
    Blocks some;
    const unsigned one_in = 1 + random() % 6;
    for (void *p : live_) {
      if (random() % one_in == 0) some.push_back(p);
    }
    if (random() % 2) std::shuffle(some.begin(), some.end(), random);
    ASSERT_EQ(put(c, some).error, HAK_ERROR_none);
    for (void *p : some) live_.erase(p);
  }

  std::set<void *> live_;
};

TEST_F(SlabModel, RandomFillsAndPuts) {
  for (unsigned seed = 0; seed < scale(); seed++) {
    std::mt19937 random(seed);
    for (const unsigned c : {1u, 8u, 24u, 33u, 48u, 57u, 66u, kLastClass}) run(c, 3, 250, random);
  }
}

TEST_F(SlabModel, AVanishedHolderCostsTheListsOnly) {
  std::mt19937 random(77);
  for (const unsigned c : {1u, 30u, 64u, kLastClass}) {
    std::vector<uint32_t> current(2);
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < 10; i++) step(c, &current[i % 2], random);
      hak_inside_slab_damage(c);
      hak_inside_vanish(hak_inside_slab_lock(c));
      ASSERT_EQ(out(c), live_.size());
      ASSERT_STREQ(hak_inside_slab_wrong(c), nullptr);
      if (testing::Test::HasFatalFailure()) FAIL() << "class " << c << ", round " << round;
    }
    for (uint32_t &unit : current) hak_slab_release(c, &unit);
    put(c, Blocks(live_.begin(), live_.end()));
    live_.clear();
  }
}

/* Every slot has one owner at a time, whichever thread fills and puts. */
TEST_F(Slab, ThreadsNeverShareABlock) {
  constexpr unsigned kClass = HAK_CLASS_160, kThreads = 4;
  const unsigned rounds = (HAK_TSAN ? 300 : 2000) * scale();
  static std::atomic<unsigned char> owner[FAKE_SPAN_UNITS * HAK_UNIT_BYTES / 160 + 1];
  std::atomic<int> shared{0};
  auto slot = [](void *p) { return (number(p) - g_range.base) / 160; };
  auto work = [&](unsigned me) {
    const auto my_mark = static_cast<unsigned char>(me + 1);
    std::mt19937 random(me);
    uint32_t current = HAK_NO_UNIT;
    Blocks mine(3000), batch(128);
    size_t n = 0;
    for (unsigned i = 0; i < rounds; i++) {
      if (n < 2000 && random() % 2) {
        const size_t got = hak_slab_fill(kClass, &current, &mine[n], 1 + random() % 128);
        for (size_t k = n; k < n + got; k++) shared += owner[slot(mine[k])].exchange(my_mark) != 0;
        n += got;
      } else {
        const size_t some = std::min<size_t>(n, random() % 128);
        hak_fault fault = {HAK_ERROR_none, nullptr};
        for (size_t k = 0; k < some; k++) std::swap(mine[random() % n], mine[n - 1 - k]);
        for (size_t k = n - some; k < n; k++) shared += owner[slot(mine[k])].exchange(0) != my_mark;
        hak_slab_put(kClass, &mine[n - some], some, HAK_SLAB_ALL, &fault);
        shared += fault.error != HAK_ERROR_none;
        n -= some;
      }
    }
    hak_fault fault = {HAK_ERROR_none, nullptr};
    for (size_t k = 0; k < n; k++) owner[slot(mine[k])] = 0;
    hak_slab_put(kClass, mine.data(), n, HAK_SLAB_ALL, &fault);
    hak_slab_release(kClass, &current);
  };
  std::vector<std::thread> threads;
  for (unsigned me = 0; me < kThreads; me++) threads.emplace_back(work, me);
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_EQ(out(kClass), 0u);
  EXPECT_EQ(fake_span.runs_out, 1u);
}

}  // namespace
