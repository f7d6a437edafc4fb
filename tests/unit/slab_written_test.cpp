/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_written_test.cpp: which slabs of blocks of more than a page get a huge page.
 *
 * what      blocks/slab_written.c on memory of which parts have content, and blocks/slab.c with it, over the fake runs
 *           (fake_runs.h), whose memory is inaccessible until a case makes it readable.
 * owner     Each case runs in a separate process.
 * locks     none.
 * failure   Buffers that become resident, or written blocks with small pages.
 * not here  Real pages: tests/process/huge_pages.c.
 */
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/slab.h"
#include "blocks/slab_written.h"
#include "fake_os.h"
#include "fake_runs.h"
#include "os/allowed.h"
#include "retain/footprint.h"
#include "tables/classes.h"
#include "tables/range.h"
#include "tables/settings.h"
}

namespace {

constexpr size_t kPage = 4096;
constexpr unsigned kClass = HAK_CLASS_11264;

class Written : public testing::Test {
 protected:
  void SetUp() override {
    fake_span_start();
    hak_store(&g_allowed, true);
  }
  void TearDown() override { EXPECT_STREQ(fake_span.wrong, nullptr); }

  std::vector<char *> fill(unsigned c, size_t want) {
    std::vector<char *> out(want);
    out.resize(hak_slab_fill(c, &current_, reinterpret_cast<void **>(out.data()), want));
    return out;
  }

  /* Eight full slabs, of which `share` quarters of each block are written. */
  double sample(unsigned c, size_t share) {
    current_ = HAK_NO_UNIT;
    blocks_.clear();
    for (uint32_t &unit : sample_) {
      const std::vector<char *> some = fill(c, g_class[c].slots);
      unit = unit_of(some[0]);
      blocks_.insert(blocks_.end(), some.begin(), some.end());
    }
    return write(c, blocks_, share);
  }

  /* Writes `share` quarters of each block. Returns the share of the slab's pages that have content then. */
  static double write(unsigned c, const std::vector<char *> &blocks, size_t share) {
    std::set<uintptr_t> pages;
    for (char *p : blocks) {
      const size_t bytes = g_class[c].bytes * share / 4, from = reinterpret_cast<uintptr_t>(p) % kPage;
      mprotect(p - from, hak_round_up(from + g_class[c].bytes, kPage), PROT_READ | PROT_WRITE);
      std::memset(p, 'x', bytes);
      for (size_t at = 0; at < bytes; at += 64) pages.insert((reinterpret_cast<uintptr_t>(p) + at) / kPage);
    }
    return static_cast<double>(pages.size() * kPage) / static_cast<double>(blocks.size() * g_class[c].bytes);
  }

  static uint32_t unit_of(const char *p) { return hak_range_entry(static_cast<uint32_t>(hak_range_unit_of(p)))->head; }

  uint32_t current_ = HAK_NO_UNIT, sample_[HAK_SLAB_SAMPLES] = {};
  std::vector<char *> blocks_;
};

TEST_F(Written, WhereNearlyAllPagesHaveContent) {
  unsigned full = 0, partly = 0;
  for (unsigned c = HAK_CLASS_4096 + 1; c <= HAK_CLASS_32768; c++) {
    for (size_t share = 1; share <= 4; share++) {
      const double part = sample(c, share);
      const bool is = hak_slab_is_written(c, sample_);
      const bool all = share == 4, some = part < 0.8; /* pages with little content are found by chance */
      EXPECT_TRUE(is || !all) << g_class[c].bytes << " B, quarters " << share;
      EXPECT_FALSE(is && some) << g_class[c].bytes << " B, quarters " << share;
      full += all;
      partly += some;
    }
  }
  EXPECT_EQ(full, HAK_CLASS_32768 - HAK_CLASS_4096);
  EXPECT_GE(partly, full);
}

TEST_F(Written, AFewNumbersInAPageAreContent) {
  sample(kClass, 4);
  for (char *p : blocks_) {
    for (size_t at = 0; at < g_class[kClass].bytes; at++) p[at] = at % 112 < 24 ? 'x' : 0;
  }
  EXPECT_TRUE(hak_slab_is_written(kClass, sample_));
}

TEST_F(Written, OneSlabOfEightMayNotBeBare) {
  sample(kClass, 4);
  for (size_t i = 0; i < g_class[kClass].slots; i++) std::memset(blocks_[i], 0, g_class[kClass].bytes);
  EXPECT_FALSE(hak_slab_is_written(kClass, sample_));
}

TEST_F(Written, NotWhereItIsGoneUnreadableOrForbidden) {
  sample(kClass, 4);
  EXPECT_TRUE(hak_slab_is_written(kClass, sample_));
  EXPECT_FALSE(hak_slab_is_written(kClass + 1, sample_));
  hak_store(&g_allowed, false);
  EXPECT_FALSE(hak_slab_is_written(kClass, sample_)) << "a sandbox may end the process";
  hak_store(&g_allowed, true);
  const uint32_t unit = std::exchange(sample_[0], sample_[0] + 1);
  EXPECT_FALSE(hak_slab_is_written(kClass, sample_)) << "no slab begins there";
  sample_[0] = unit;
  mprotect(hak_range_address(unit), g_class[kClass].units * HAK_UNIT_BYTES, PROT_NONE);
  EXPECT_FALSE(hak_slab_is_written(kClass, sample_));
}

/* Slabs in which regions may begin. */
class WrittenRegions : public Written {
 protected:
  void SetUp() override {
    Written::SetUp();
    fake_span.opens = true;
    hak_store(&g_settings.huge_pages, HAK_HUGE_AUTO);
    hak_store(&g_settings.price, 400000);
    hak_store(&g_footprint.span, 64 << 20);
  }

  /* 32 slabs. Returns how many regions they fetch. */
  size_t grow(bool written) {
    const size_t before = fake_span.fetches;
    for (unsigned n = 0; n < 32; n++) {
      const std::vector<char *> some = fill(kClass, g_class[kClass].slots);
      if (written) write(kClass, some, 4);
      blocks_.insert(blocks_.end(), some.begin(), some.end());
    }
    return fake_span.fetches - before;
  }

  void free_all() {
    hak_fault fault = {HAK_ERROR_none, nullptr};
    hak_slab_put(kClass, reinterpret_cast<void **>(blocks_.data()), blocks_.size(), HAK_SLAB_ALL, &fault);
    hak_slab_trim();
    blocks_.clear();
  }
};

/* The slabs that are looked at were opened by earlier fills: the last fill's blocks have no content yet. */
TEST_F(WrittenRegions, AreFetchedWhileEarlierSlabsAreWritten) {
  EXPECT_EQ(grow(true), 0u) << "32 slabs are looked at first";
  EXPECT_EQ(grow(false), 32u);
  EXPECT_EQ(grow(true), 0u) << "the 32 before have no content";
  EXPECT_EQ(grow(true), 32u);
}

TEST_F(WrittenRegions, NotInASmallProgram) {
  hak_store(&g_footprint.span, 8 << 20);
  grow(true);
  EXPECT_EQ(grow(true), 0u);
}

TEST_F(WrittenRegions, WhatWasSeenGoesWithTheLastSlab) {
  grow(true);
  const std::vector<char *> more = fill(kClass, g_class[kClass].slots);
  EXPECT_EQ(fake_span.fetches, 1u);
  blocks_.insert(blocks_.end(), more.begin(), more.end());
  free_all();
  for (unsigned n = 0; n < 16; n++) fill(kClass, g_class[kClass].slots);
  EXPECT_EQ(fake_span.fetches, 1u);
}

/* A program that takes and frees the same memory does not pay for a look each time. */
TEST_F(WrittenRegions, SlabsOfDirtyMemoryChangeNothing) {
  grow(true);
  EXPECT_EQ(grow(false), 32u);
  fake_span.dirty = true;
  grow(true);
  EXPECT_EQ(grow(false), 0u) << "the first of these looked at what grew before, which has no content";
  EXPECT_EQ(grow(true), 0u) << "none grew since";
}

TEST_F(Written, BlocksOfAPageAreNotLookedAt) {
  fake_span.opens = true;
  fill(HAK_CLASS_4096, 1);
  EXPECT_EQ(fake_span.fetches, 1u);
}

}  // namespace
