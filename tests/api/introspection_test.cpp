/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* introspection_test.cpp: the functions of the malloc family that report and tune.
 *
 * what      malloc_trim, mallinfo, mallinfo2, malloc_info, malloc_stats, mallopt.
 * owner     Each test frees what it takes.
 * locks     none. orders: none. hot path: none.
 * failure   A wrong figure or text fails its test.
 * not here  hak_stats and hak_counter: tests of src/watch.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "family.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t resident_bytes() {
  FILE *file = std::fopen("/proc/self/statm", "r");
  size_t total = 0;
  size_t resident = 0;
  if (file == nullptr || std::fscanf(file, "%zu %zu", &total, &resident) != 2) std::abort();
  std::fclose(file);
  return resident * family::page_size();
}

void fill_and_free(size_t n, size_t total) {
  family::Blocks blocks;
  for (size_t sum = 0; sum < total; sum += n) {
    void *p = blocks.keep(family::malloc(n));
    std::memset(p, 1, n);
  }
}

TEST(Trim, GivesFreedMemoryBack) {
  for (size_t n : {size_t{200}, size_t{3000}, size_t{20000}, size_t{100000}, size_t{600000}}) {
    malloc_trim(0);
    const size_t before = resident_bytes();
    fill_and_free(n, 48 * kMiB);
    const int result = malloc_trim(0);
    EXPECT_TRUE(result == 0 || result == 1) << result;
    EXPECT_LT(resident_bytes(), before + 12 * kMiB) << n;
  }
}

TEST(Trim, SaysWhetherAnythingWentBack) {
  malloc_trim(0);
  fill_and_free(1000, 4 * kMiB);
  void *fence = family::malloc(1000);
  EXPECT_EQ(malloc_trim(0), 1);
  family::free(fence);
}

TEST(Trim, LeavesLiveBlocksAlone) {
  family::Blocks blocks;
  for (size_t i = 0; i < 20000; i++) {
    void *p = family::malloc(300);
    family::stamp(p, 300, static_cast<unsigned>(i));
    if (i % 10 == 0) {
      blocks.keep(p);
    } else {
      family::free(p);
    }
  }
  malloc_trim(0);
  unsigned i = 0;
  for (void *p : blocks.all()) ASSERT_TRUE(family::stamped(p, 300, 10 * i++));
}

size_t in_use(const struct mallinfo2 &info) { return info.uordblks + info.hblkhd; }

TEST(Mallinfo, FollowsWhatIsInUse) {
  const struct mallinfo2 before = mallinfo2();
  {
    family::Blocks blocks;
    for (int i = 0; i < 1000; i++) blocks.keep(family::malloc(10000));
    blocks.keep(family::malloc(20 * kMiB));
    const struct mallinfo2 during = mallinfo2();
    EXPECT_GE(in_use(during), in_use(before) + 1000 * 10000 + 20 * kMiB);
    EXPECT_LE(in_use(during), in_use(before) + 1000 * 12000 + 24 * kMiB);
    EXPECT_GE(during.arena + during.hblkhd, in_use(during));
  }
  EXPECT_LE(in_use(mallinfo2()), in_use(before) + kMiB);
}

/* A program that trims by slack stops when it has. */
TEST(Mallinfo, WhatWentBackIsNoSlack) {
  const size_t resident_before = resident_bytes();
  fill_and_free(300, 200 * kMiB);
  malloc_trim(0);
  const struct mallinfo2 after = mallinfo2();
  const size_t resident = resident_bytes() - std::min(resident_before, resident_bytes());
  EXPECT_LE(after.fordblks, 8 * kMiB);
  EXPECT_LE(after.fordblks, resident + resident / 10 + 8 * kMiB);
  EXPECT_EQ(after.arena, after.uordblks + after.fordblks);
}

TEST(Mallinfo, CountsBigBlocks) {
  const size_t before = mallinfo2().hblks;
  {
    family::Blocks blocks;
    for (int i = 0; i < 300; i++) blocks.keep(family::malloc(2 * kMiB));
    EXPECT_EQ(mallinfo2().hblks, before + 300);
    void *moved = family::realloc(family::malloc(100), 3 * kMiB);
    EXPECT_EQ(mallinfo2().hblks, before + 301);
    moved = family::realloc(moved, 9 * kMiB);
    EXPECT_EQ(mallinfo2().hblks, before + 301);
    family::free(moved);
    EXPECT_EQ(mallinfo2().hblks, before + 300);
  }
  EXPECT_EQ(mallinfo2().hblks, before);
}

TEST(Mallinfo, TheOldFormAgrees) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo old = mallinfo();
#pragma GCC diagnostic pop
  const struct mallinfo2 wide = mallinfo2();
  EXPECT_EQ(static_cast<size_t>(old.hblks), wide.hblks);
  EXPECT_NEAR(static_cast<double>(old.uordblks), static_cast<double>(wide.uordblks), 65536.0);
  EXPECT_NEAR(static_cast<double>(old.arena), static_cast<double>(wide.arena), static_cast<double>(2 * kMiB));
}

std::string info_text() {
  char *text = nullptr;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  EXPECT_EQ(malloc_info(0, stream), 0);
  std::fclose(stream);
  std::string copy(text, length);
  family::free(text);
  return copy;
}

TEST(MallocInfo, IsXml) {
  const std::string text = info_text();
  EXPECT_EQ(text.rfind("<malloc version=\"1\">", 0), 0U) << text;
  FILE *parser = popen("env -u LD_PRELOAD python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.stdin)'", "w");
  ASSERT_NE(parser, nullptr);
  EXPECT_EQ(std::fwrite(text.data(), 1, text.size(), parser), text.size());
  EXPECT_EQ(pclose(parser), 0) << text;
}

TEST(MallocInfo, RefusesOptions) {
  FILE *stream = std::fopen("/dev/null", "w");
  EXPECT_EQ(malloc_info(1, stream), EINVAL);
  std::fclose(stream);
}

/* Figures move between two calls of one report: text grows when a class is used for the first time. */
TEST(MallocInfo, WorksWithManyBlocksOfAllSizes) {
  family::Blocks blocks;
  for (size_t n = 1; n < 3000000; n += 1 + n / 3) blocks.keep(family::malloc(n));
  EXPECT_FALSE(info_text().empty());
}

TEST(MallocStats, WritesOnStderrOnly) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  malloc_stats();
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.back(), '\n');
  EXPECT_NE(text.find("in use"), std::string::npos) << text;
}

/* What it answers is compared with glibc by answers.c. */
TEST(Mallopt, AcceptsWhatProgramsSet) {
  for (int parameter : {M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX, M_ARENA_TEST})
    EXPECT_EQ(mallopt(parameter, 65536), 1) << parameter;
  EXPECT_EQ(mallopt(M_MXFAST, 64), 1);
  family::Blocks blocks;
  EXPECT_TRUE(family::aligned(blocks.keep(family::malloc(100)), 16));
  EXPECT_NE(blocks.keep(family::malloc(1000000)), nullptr);
}

}  // namespace
