/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_fall_test.cpp: magazines while a heap falls.
 *
 * what      The order in which flushes put blocks back, with the whole library below cache/magazine.c.
 * owner     Each case runs in a separate process.
 * not here  Single refills and flushes: magazine_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <algorithm>
#include <random>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "cache/magazine.h"
#include "entry/thread.h"
#include "internal.h"
#include "tables/classes.h"
}
#include "magazine_case.h"

namespace {

/* Takes n blocks and frees them in a fall, all of them; returns the most blocks that stayed in the magazine while as
 * many younger ones as the magazine holds had left it twice. */
size_t most_left_behind(unsigned c, size_t n, std::mt19937 *shuffle) {
  std::vector<void *> blocks(n);
  for (void *&p : blocks) p = hak_malloc(g_class[c].bytes);
  if (shuffle != nullptr) std::shuffle(blocks.begin(), blocks.end(), *shuffle);
  size_t most = 0;
  for (size_t i = 0; i < n; i++) {
    hak_free(blocks[i]);
    const size_t round = 3 * (context()->capacity[c] + 1u);
    if (i % 512 != 0 || i < round) continue;
    size_t stayed = 0;
    for (size_t old = 0; old < i - round; old++) stayed += hak_magazine_holds(c, blocks[old]);
    most = std::max(most, stayed);
  }
  return most;
}

/* A block that stays behind keeps its page, and a huge page, of a heap that falls. */
TEST(Magazine, AFallLeavesNoBlockBehind) {
  std::mt19937 random(3);
  hak_free(hak_malloc(1));
  for (unsigned c = 1; c <= HAK_CLASS_8192; c++) {
    EXPECT_EQ(most_left_behind(c, 8000, nullptr), 0u) << "in order, class " << c;
    EXPECT_EQ(most_left_behind(c, 8000, &random), 0u) << "at random, class " << c;
  }
}

}  // namespace
