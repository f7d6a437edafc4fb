/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_sampled_test.cpp: slabs without a number in the class map.
 *
 * what      blocks/slab_sampled.c on the library's runs.
 * owner     Each case runs in a separate process.
 * not here  The choice of blocks: profile_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <cstring>
#include <set>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/slab_sampled.h"
#include "tables/classes.h"
#include "tables/range.h"

void hak_inside_apart_vanish(void);
}

namespace {

constexpr unsigned kLastClass = HAK_CLASS_32768; // the largest of slabs

uint64_t out_bytes() {
  uint64_t out, slabs;
  hak_slab_sampled_sums(&out, &slabs);
  return out;
}

uint64_t slab_bytes() {
  uint64_t out, slabs;
  hak_slab_sampled_sums(&out, &slabs);
  return slabs;
}

class SlabApart : public testing::Test {
 protected:
  void SetUp() override { hak_free(hak_malloc(1)); }
};

TEST_F(SlabApart, EveryClassServesDistinctBlocksThatComeBack) {
  for (unsigned c : {1u, 2u, 9u, 40u, kLastClass}) {
    std::set<void *> blocks;
    size_t want = g_class[c].slots * 3 + 1;
    for (size_t i = 0; i < want; i++) {
      void *p = hak_slab_sampled_take(c);
      ASSERT_NE(p, nullptr);
      EXPECT_TRUE(blocks.insert(p).second);
      EXPECT_EQ(hak_range_class(p), 0u) << "free would not come to its door";
      EXPECT_EQ(hak_slab_sampled_bytes(p), g_class[c].bytes);
      memset(p, 0xa5, g_class[c].bytes);
    }
    EXPECT_EQ(out_bytes(), want * g_class[c].bytes);
    for (void *p : blocks) EXPECT_EQ(hak_slab_sampled_put(p), HAK_ERROR_none);
    EXPECT_EQ(out_bytes(), 0u);
    EXPECT_EQ(slab_bytes(), 0u) << "empty slabs go back";
  }
}

TEST_F(SlabApart, WhatIsWrongIsSaid) {
  char *p = static_cast<char *>(hak_slab_sampled_take(HAK_CLASS_384)), *q = static_cast<char *>(hak_slab_sampled_take(HAK_CLASS_384));
  EXPECT_EQ(hak_slab_sampled_put(p + 1), HAK_ERROR_interior);
  EXPECT_EQ(hak_slab_sampled_bytes(p + 16), 0u);
  EXPECT_EQ(hak_slab_sampled_put(p), HAK_ERROR_none);
  EXPECT_EQ(hak_slab_sampled_put(p), HAK_ERROR_double_free);
  EXPECT_EQ(hak_slab_sampled_bytes(p), 0u);
  EXPECT_EQ(hak_slab_sampled_put(q), HAK_ERROR_none);
  EXPECT_EQ(hak_slab_sampled_put(q), HAK_ERROR_released);
  EXPECT_FALSE(hak_slab_is_sampled(q));
  void *usual = hak_malloc(100);
  EXPECT_FALSE(hak_slab_is_sampled(usual));
  hak_free(usual);
}

TEST_F(SlabApart, AForkThatCutItIsRepaired) {
  std::vector<void *> blocks;
  for (int i = 0; i < 5000; i++) blocks.push_back(hak_slab_sampled_take(static_cast<unsigned>(1 + i % kLastClass)));
  uint64_t before = out_bytes(), slabs = slab_bytes();
  hak_inside_apart_vanish();
  void *one = hak_slab_sampled_take(HAK_CLASS_48);
  EXPECT_EQ(hak_slab_sampled_put(one), HAK_ERROR_none);
  EXPECT_EQ(out_bytes(), before);
  EXPECT_EQ(slab_bytes(), slabs);
  for (void *p : blocks) EXPECT_EQ(hak_slab_sampled_put(p), HAK_ERROR_none);
  EXPECT_EQ(out_bytes(), 0u);
}

}  // namespace
