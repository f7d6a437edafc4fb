/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pages_test.cpp: resident pages, by hand and beside a simple model.
 *
 * what      tools/pages.c.
 * failure   A page, fault or peak that differs from the operations fails the test.
 * not here  The whole of tools/pages: lab/tests/test_predict.py.
 */
#include <gtest/gtest.h>

#include <map>
#include <random>

extern "C" {
#include "pages.h"
}

namespace {

constexpr uintptr_t MIB = 1 << 20, PAGE = pages_bytes, BASE = uintptr_t{0x7f0000000000};

class Pages : public testing::Test {
 protected:
  void SetUp() override { pages_start(); }

  static void expect(uint64_t resident, uint64_t most, uint64_t faults) {
    EXPECT_EQ(pages_now()->resident, resident);
    EXPECT_EQ(pages_now()->most, most);
    EXPECT_EQ(pages_now()->faults, faults);
  }
};

TEST_F(Pages, ComeOnceAndGo) {
  pages_touch(BASE + 100, 1);
  pages_touch(BASE + 200, PAGE - 200);
  expect(1, 1, 1);
  pages_touch(BASE + 200, PAGE);
  expect(2, 2, 2);
  pages_drop(BASE, PAGE);
  expect(1, 2, 2);
  EXPECT_FALSE(pages_has(BASE));
  EXPECT_TRUE(pages_has(BASE + PAGE));
  pages_touch(BASE, 1);
  expect(2, 2, 3);
  pages_touch(BASE, 0);
  expect(2, 2, 3);
}

TEST_F(Pages, AreReadAsZeros) {
  pages_touch(BASE, PAGE);
  pages_read(BASE + 8, 2 * PAGE);
  expect(1, 1, 3);
  EXPECT_FALSE(pages_has(BASE + PAGE));
  pages_touch(BASE + PAGE, 1);
  expect(2, 2, 4);
}

TEST_F(Pages, CrossChunks) {
  pages_touch(BASE + 2 * MIB - PAGE, 4 * MIB);
  expect(1024, 1024, 1024);
  pages_drop(BASE, 64 * MIB);
  expect(0, 1024, 1024);
}

TEST_F(Pages, MoveWithoutFaults) {
  pages_touch(BASE, 3 * PAGE);
  pages_touch(BASE + 9 * MIB + PAGE, PAGE);
  pages_drop(BASE + PAGE, PAGE);
  pages_move(BASE, 4 * PAGE, BASE + 9 * MIB);
  expect(2, 4, 4);
  EXPECT_FALSE(pages_has(BASE));
  EXPECT_TRUE(pages_has(BASE + 9 * MIB));
  EXPECT_FALSE(pages_has(BASE + 9 * MIB + PAGE)) << "what was there has gone";
  EXPECT_TRUE(pages_has(BASE + 9 * MIB + 2 * PAGE));
}

TEST_F(Pages, HugeOnesComeAsAWhole) {
  pages_wish_huge(BASE + PAGE, 4 * MIB, true); /* holds one chunk of 2 MiB */
  pages_touch(BASE, 1);
  pages_touch(BASE + 2 * MIB + 5 * PAGE, 1);
  expect(1 + 512, 1 + 512, 2);
  pages_drop(BASE + 2 * MIB, PAGE);
  pages_touch(BASE + 2 * MIB, 1);
  expect(1 + 512, 1 + 512, 3); /* the chunk is not empty: a small page */
  pages_drop(BASE + 2 * MIB, 2 * MIB);
  pages_wish_huge(BASE + 4 * MIB - PAGE, PAGE, false);
  pages_touch(BASE + 2 * MIB, 1);
  expect(2, 1 + 512, 4);
}

TEST_F(Pages, AgreeWithASimpleModel) {
  std::mt19937_64 random(7);
  std::map<uintptr_t, bool> there;
  uint64_t faults = 0, most = 0;
  for (int i = 0; i < 20000; i++) {
    uintptr_t first = random() % 4096, pages = 1 + random() % 40, to = random() % 4096 + 8192;
    uintptr_t at = BASE + first * PAGE;
    switch (random() % 3) {
      case 0:
        pages_touch(at, pages * PAGE);
        for (uintptr_t n = first; n < first + pages; n++) faults += !there[n], there[n] = true;
        break;
      case 1:
        pages_drop(at, pages * PAGE);
        for (uintptr_t n = first; n < first + pages; n++) there.erase(n);
        break;
      default:
        pages_move(at, pages * PAGE, BASE + to * PAGE);
        for (uintptr_t n = 0; n < pages; n++) {
          there.erase(to + n);
          if (there.erase(first + n) != 0) there[to + n] = true;
        }
    }
    most = std::max<uint64_t>(most, there.size());
    ASSERT_EQ(pages_now()->resident, there.size()) << i;
  }
  expect(there.size(), most, faults);
}

}  // namespace
