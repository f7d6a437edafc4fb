/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* introspection_test.cpp: the functions of the malloc family that report and tune.
 *
 * what      malloc_trim, mallinfo, mallinfo2, malloc_info, malloc_stats, mallopt (page faults: real_time.c).
 * owner     Tests free all blocks.
 * failure   A wrong figure or text fails the test.
 * not here  hak_stats and hak_counter: tests of src/observe.
 */
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

/* A program that trims while slack is large stops after the trim. */
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

size_t number_after(const std::string &text, const std::string &name);
std::string info_text();

/* A tenth of the blocks stays. A daemon that trims while slack is large trims once, whatever the sizes; from four
 * pages on, nearly all of what was freed lies on pages without a live block. */
TEST(Mallinfo, SlackFallsWithATrim) {
  constexpr size_t kTotal = 100 * kMiB;
  malloc_trim(0);
  for (size_t n : {size_t{20000}, size_t{100000}, size_t{300000}, 2 * kMiB, 40 * kMiB}) {
    if (n < 4 * static_cast<size_t>(sysconf(_SC_PAGESIZE))) continue;
    std::vector<void *> blocks(kTotal / n);
    for (void *&p : blocks) std::memset(p = family::malloc(n), 1, n);
    for (size_t i = 0; i < blocks.size(); i++)
      if (i % 10 != 0) family::free(std::exchange(blocks[i], nullptr));
    malloc_trim(0);
    const struct mallinfo2 after = mallinfo2();
    EXPECT_LE(after.fordblks, kMiB) << n;
    EXPECT_LE(after.keepcost, kMiB) << n;
    EXPECT_EQ(after.arena, after.uordblks + after.fordblks) << n;
    EXPECT_NEAR(static_cast<double>(number_after(info_text(), "<total type=\"rest\" size=\"")),
                static_cast<double>(after.fordblks), kMiB);
    for (void *p : blocks) family::free(p);
    malloc_trim(0);
    EXPECT_LE(mallinfo2().arena, kMiB) << n;
  }
}

size_t number_after(const std::string &text, const std::string &name) {
  const size_t at = text.rfind(name);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + name.size(), nullptr, 10);
}

std::string stats_text() {
  testing::internal::CaptureStderr();
  malloc_stats();
  return testing::internal::GetCapturedStderr();
}

/* Pages counted by the kernel, and bytes held by the three reports, since the start. Read again while the background
 * thread releases memory in between. */
struct Held {
  size_t resident, reported, in_info;
  std::string stats;
  bool read() {
    const struct mallinfo2 before = mallinfo2();
    const std::string info = info_text();
    stats = stats_text();
    const struct mallinfo2 wide = mallinfo2();
    resident = resident_bytes();
    reported = wide.arena + wide.hblkhd;
    in_info = number_after(info, "<system type=\"current\" size=\"") + wide.hblkhd;
    return before.arena + before.hblkhd == reported;
  }
  Held() {
    for (int tries = 0; !read() && tries < 50; tries++) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_NEAR(static_cast<double>(in_info), static_cast<double>(reported), kMiB);
    EXPECT_NEAR(static_cast<double>(number_after(stats, "held ")), static_cast<double>(reported), kMiB);
  }
  double by_kernel(const Held &start) const { return static_cast<double>(resident) - static_cast<double>(start.resident); }
  double by_own(const Held &start) const { return static_cast<double>(reported) - static_cast<double>(start.reported); }
  static double most_apart(double kernel) { return kernel / 10 + 2 * kMiB; }
  bool is_like(const Held &start) const {
    return std::abs(by_own(start) - by_kernel(start)) <= most_apart(by_kernel(start));
  }
  void expect_like(const Held &start) const { EXPECT_NEAR(by_own(start), by_kernel(start), most_apart(by_kernel(start))); }
};

/* Memory that is being released is gone for the kernel a moment before the reports. */
void wait_until_settled(size_t most) {
  constexpr int kLooks = 500;
  constexpr int kSame = 10;
  size_t last = resident_bytes();
  for (int i = 0, same = 0; i < kLooks && same < kSame; i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const size_t now = resident_bytes();
    same = now == last && now <= most ? same + 1 : 0;
    last = now;
  }
}

/* 200 MiB of small blocks before and after free and trim, and after a release without a call. */
TEST(Mallinfo, WhatIsHeldIsWhatTheKernelCounts) {
  constexpr size_t kBlocks = (200 * kMiB) / 400;
  std::vector<void *> blocks(kBlocks);
  malloc_trim(0);
  const Held start;
  const auto fill = [&] {
    for (void *&p : blocks) std::memset(p = family::malloc(400), 1, 400);
  };
  fill();
  Held().expect_like(start);
  for (void *p : blocks) family::free(p);
  malloc_trim(0);
  Held().expect_like(start);
  fill();
  std::atomic<bool> ends{false};
  std::thread idler([&] {
    family::free(family::malloc(100));
    while (!ends) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  for (void *p : blocks) family::free(p);
  const size_t freed = resident_bytes();
  wait_until_settled(freed / 2);
  EXPECT_LE(resident_bytes(), freed / 2);
  for (int i = 0; i < 100 && !Held().is_like(start); i++) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  Held().expect_like(start);
  ends = true;
  idler.join();
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

/* Figures change between two calls of one report: text grows when a class is used for the first time. */
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

/* answers.c compares the answers with glibc's. */
TEST(Mallopt, AcceptsWhatProgramsSet) {
  for (int parameter : {M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX, M_ARENA_TEST})
    EXPECT_EQ(mallopt(parameter, 65536), 1) << parameter;
  EXPECT_EQ(mallopt(M_MXFAST, 64), 1);
  EXPECT_EQ(mallopt(M_PERTURB, 0), 1);
  EXPECT_EQ(mallopt(M_PERTURB, 1), 0);
  family::Blocks blocks;
  EXPECT_TRUE(family::aligned(blocks.keep(family::malloc(100)), 16));
  EXPECT_NE(blocks.keep(family::malloc(1000000)), nullptr);
  EXPECT_EQ(mallopt(M_MMAP_THRESHOLD, int{kMiB}), 1);
}

/* RssAnon, in bytes. */
size_t resident() {
  size_t kib = 0;
  std::FILE *status = std::fopen("/proc/self/status", "r");
  for (char line[256]; std::fgets(line, sizeof line, status) != nullptr;) std::sscanf(line, "RssAnon: %zu", &kib);
  std::fclose(status);
  return kib << 10;
}

TEST(Mallopt, HeldMemoryGoesByMallocTrimOnly) {
  constexpr size_t kBytes = size_t{100} << 20;
  EXPECT_EQ(mallopt(M_TRIM_THRESHOLD, -1), 1);
  EXPECT_EQ(mallopt(M_MMAP_MAX, 0), 1);
  size_t before = resident();
  void *p = family::malloc(kBytes);
  ASSERT_NE(p, nullptr);
  std::memset(p, 1, kBytes);
  family::free(p);
  EXPECT_GE(resident(), before + kBytes);
  EXPECT_EQ(malloc_trim(0), 1);
  EXPECT_LT(resident(), before + kBytes / 4);
  EXPECT_EQ(mallopt(M_MMAP_MAX, 65536), 1);
  EXPECT_EQ(mallopt(M_TRIM_THRESHOLD, 128 << 10), 1);
}

size_t address_space() {
  size_t kib = 0;
  std::FILE *status = std::fopen("/proc/self/status", "r");
  for (char line[256]; std::fgets(line, sizeof line, status) != nullptr;) std::sscanf(line, "VmSize: %zu", &kib);
  std::fclose(status);
  return kib << 10;
}

TEST(Mallopt, TopPadMakesTheRangeGrowByMore) {
  constexpr size_t kPad = size_t{256} << 20;
  EXPECT_EQ(mallopt(M_TOP_PAD, int{kPad}), 1);
  family::Blocks blocks;
  size_t longest = 0;
  for (size_t i = 0, before = address_space(); i < 1000; i++) {
    blocks.keep(family::malloc(500000));
    size_t now = address_space();
    longest = std::max(longest, now - before);
    before = now;
  }
  EXPECT_GE(longest, kPad);
  EXPECT_EQ(mallopt(M_TOP_PAD, 128 << 10), 1);
}

}  // namespace
