/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* ages_test.cpp: sizes and lifetimes of samples with known values.
 *
 * what      record/profile_ages.c alone, with times of the test; each case runs in a separate process.
 * not here  The table's calls for each sample: profile_test.cpp.
 */
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

extern "C" {
#include "record/profile_ages.h"
}

namespace {

using Row = std::vector<uint64_t>; /* up to, blocks, bytes, live blocks, live bytes */

constexpr uint64_t kStart = 1000000000;

struct hak_sample sample_of(uint64_t bytes, double weight = 1) {
  return {0x1000, bytes, bytes, weight, nullptr, kStart, 0, nullptr};
}

/* Rows of the table, read in lines of at most `line` bytes. */
std::vector<Row> rows(enum hak_ages_kind kind, size_t line = 2000) {
  const std::string head = kind == HAK_SIZES ? "hakmem sizes:" : "hakmem ages:";
  std::vector<Row> found;
  std::string text(line, 'x');
  for (unsigned next = 0; hak_ages_text(kind, &next, text.data(), line);) {
    std::string told = text.c_str(), part;
    EXPECT_EQ(told.compare(0, head.size(), head), 0) << told;
    std::istringstream parts(told.substr(head.size()));
    while (std::getline(parts, part, ';')) {
      std::istringstream numbers(part);
      found.emplace_back();
      for (uint64_t n; numbers >> n;) found.back().push_back(n);
      EXPECT_EQ(found.back().size(), 5u) << part;
    }
  }
  return found;
}

TEST(Ages, NothingIsNoLine) {
  EXPECT_TRUE(rows(HAK_SIZES).empty());
  EXPECT_TRUE(rows(HAK_AGES).empty());
}

TEST(Ages, SizesUpToTheirBounds) {
  for (uint64_t bytes : {16, 17, 24, 25, 32, 33, 48, 49, 64}) {
    struct hak_sample sample = sample_of(bytes);
    hak_ages_add(&sample);
  }
  EXPECT_EQ(rows(HAK_SIZES), (std::vector<Row>{{16, 1, 16, 0, 0}, {24, 2, 41, 0, 0}, {32, 2, 57, 0, 0}, {48, 2, 81, 0, 0},
                                               {64, 2, 113, 0, 0}}));
}

TEST(Ages, EachSizeIsInTheFirstRowThatHoldsIt) {
  uint64_t before = 0;
  for (uint64_t bytes = 1; bytes < uint64_t{1} << 40; bytes += 1 + bytes / 7) {
    struct hak_sample sample = sample_of(bytes);
    hak_ages_forget_live();
    hak_ages_add_live(&sample, kStart);
    auto found = rows(HAK_SIZES);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_GE(found[0][0], bytes);
    EXPECT_LT(found[0][0] / 2, std::max<uint64_t>(bytes, 9));
    EXPECT_GE(found[0][0], before);
    before = found[0][0];
  }
}

TEST(Ages, TheLargestHaveNoBound) {
  struct hak_sample sample = sample_of(uint64_t{1} << 46);
  hak_ages_add(&sample);
  EXPECT_EQ(rows(HAK_SIZES), (std::vector<Row>{{0, 1, uint64_t{1} << 46, 0, 0}}));
}

TEST(Ages, ABlockIsFreedAtItsAge) {
  for (uint64_t age : {0, 999, 1000, 9999, 10000, 2000000000}) {
    struct hak_sample sample = sample_of(100, 2);
    hak_ages_withdraw(&sample, kStart + age);
  }
  auto found = rows(HAK_AGES);
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[0], (Row{1000, 4, 400, 0, 0}));
  EXPECT_EQ(found[1], (Row{10000, 4, 400, 0, 0}));
  EXPECT_EQ(found[2], (Row{100000, 2, 200, 0, 0}));
  EXPECT_EQ(found[3], (Row{1000000, 0, 0, 0, 0})) << "between two that have some";
  EXPECT_EQ(found[7], (Row{10000000000, 2, 200, 0, 0}));
}

TEST(Ages, AClockThatIsBehindIsNoAge) {
  struct hak_sample sample = sample_of(100);
  hak_ages_withdraw(&sample, kStart - 5);
  EXPECT_EQ(rows(HAK_AGES), (std::vector<Row>{{1000, 1, 100, 0, 0}}));
}

TEST(Ages, TheOldestHaveNoBound) {
  struct hak_sample sample = sample_of(100);
  hak_ages_add_live(&sample, kStart + 10000 * uint64_t{1000000000});
  EXPECT_EQ(rows(HAK_AGES), (std::vector<Row>{{0, 0, 0, 1, 100}}));
}

TEST(Ages, WhatStaysIsNotFreed) {
  struct hak_sample one = sample_of(100), other = sample_of(50);
  hak_ages_withdraw(&one, kStart + 500);
  hak_ages_withdraw(&other, kStart + 500);
  one.address = 0x2000; /* the block moved, and the clock went on */
  hak_ages_restore(&one);
  EXPECT_EQ(rows(HAK_AGES), (std::vector<Row>{{1000, 1, 50, 0, 0}}));
}

TEST(Ages, LiveOnesAreSummedUpAnew) {
  struct hak_sample sample = sample_of(100, 3);
  for (int round = 0; round < 2; round++) {
    hak_ages_forget_live();
    hak_ages_add_live(&sample, kStart + 5000);
    EXPECT_EQ(rows(HAK_AGES), (std::vector<Row>{{10000, 0, 0, 3, 300}}));
    EXPECT_EQ(rows(HAK_SIZES), (std::vector<Row>{{128, 0, 0, 3, 300}}));
  }
}

TEST(Ages, ManyRowsAreSeveralLines) {
  for (uint64_t bytes = 16; bytes <= uint64_t{1} << 40; bytes *= 2) {
    struct hak_sample sample = sample_of(bytes);
    hak_ages_add(&sample);
  }
  auto whole = rows(HAK_SIZES, 8000);
  EXPECT_EQ(whole.size(), 73u);
  EXPECT_EQ(rows(HAK_SIZES, 200), whole);
  EXPECT_EQ(rows(HAK_SIZES, 500), whole);
}

}  // namespace
