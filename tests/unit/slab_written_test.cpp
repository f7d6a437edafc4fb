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

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/slab.h"
#include "blocks/slab_written.h"
#include "fake_os.h"
#include "fake_runs.h"
#include "tables/classes.h"
#include "tables/range.h"
}

namespace {

constexpr size_t kPage = 4096;

class Written : public testing::Test {
 protected:
  void SetUp() override { fake_span_start(); }
  void TearDown() override { EXPECT_STREQ(fake_span.wrong, nullptr); }

  std::vector<char *> fill(unsigned c, size_t want) {
    std::vector<char *> out(want);
    out.resize(hak_slab_fill(c, &current_, reinterpret_cast<void **>(out.data()), want));
    return out;
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

  uint32_t current_ = HAK_NO_UNIT;
};

TEST_F(Written, WhereNearlyAllPagesHaveContent) {
  unsigned full = 0, partly = 0;
  for (unsigned c = HAK_CLASS_4096 + 1; c <= HAK_CLASS_32768; c++) {
    for (size_t share = 1; share <= 4; share++) {
      current_ = HAK_NO_UNIT;
      const std::vector<char *> blocks = fill(c, g_class[c].slots);
      const double part = write(c, blocks, share);
      const bool is = hak_slab_is_written(c, unit_of(blocks[0]));
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
  const unsigned c = HAK_CLASS_11264;
  const std::vector<char *> blocks = fill(c, g_class[c].slots);
  write(c, blocks, 4);
  for (char *p : blocks) {
    for (size_t at = 0; at < g_class[c].bytes; at++) p[at] = at % 112 < 24 ? 'x' : 0;
  }
  EXPECT_TRUE(hak_slab_is_written(c, unit_of(blocks[0])));
}

TEST_F(Written, NotWhereItIsGoneOrUnreadable) {
  const unsigned c = HAK_CLASS_16384;
  const std::vector<char *> blocks = fill(c, g_class[c].slots);
  const uint32_t unit = unit_of(blocks[0]);
  EXPECT_FALSE(hak_slab_is_written(c, unit)) << "inaccessible";
  write(c, blocks, 4);
  EXPECT_TRUE(hak_slab_is_written(c, unit));
  EXPECT_FALSE(hak_slab_is_written(c + 1, unit));
  EXPECT_FALSE(hak_slab_is_written(c, unit + 1)) << "no slab begins there";
  EXPECT_FALSE(hak_slab_is_written(c, 0));
}

/* The slab that is looked at is full since an earlier fill: this fill's blocks have no content yet. */
TEST_F(Written, ARegionIsFetchedAfterTheSlabBeforeWasWritten) {
  const unsigned c = HAK_CLASS_16384;
  fake_span.opens = true;
  std::vector<char *> blocks = fill(c, g_class[c].slots);
  EXPECT_EQ(fake_span.closes, 1u) << "the class has no slab yet";
  write(c, blocks, 4);
  fill(c, g_class[c].slots);
  EXPECT_EQ(fake_span.fetches, 1u);
  fill(c, g_class[c].slots);
  EXPECT_EQ(fake_span.closes, 2u) << "the one before is not written";
  EXPECT_EQ(fill(HAK_CLASS_4096, 1).size(), 1u);
}

}  // namespace
