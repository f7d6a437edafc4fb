/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extents_test.cpp: reported extents of HAKMEM's memory.
 *
 * what      tables/extents.h, filled by the range, big blocks and metadata: every block in an extent of its kind, no
 *           byte twice, also beside threads, and in the child of a fork in the middle of a change.
 * owner     Each case runs in a separate process.
 * failure   A block in no extent, or two extents that share a byte, fail the test.
 * not here  The statistics page: stats_page_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif

extern "C" {
#include "blocks/big.h"
#include "tables/meta.h"
#include "tables/range.h"
}

namespace {

constexpr size_t kMiB = 1 << 20;

struct Found {
  std::vector<hak_extent_row> row;
  uint64_t left_out;
};

Found extents(size_t most) {
  Found found{std::vector<hak_extent_row>(most), 0};
  hak_extents list = {found.row.data(), 0, most, 0};
  hak_range_extents(&list);
  hak_meta_extents(&list);
  hak_big_extents(&list);
  found.row.resize(list.n);
  found.left_out = list.left_out;
  return found;
}

/* The kind of the extent in which the whole block lies; -1: of none. */
int kind_of(const Found &found, const void *p, size_t bytes) {
  const auto address = reinterpret_cast<uintptr_t>(p);
  for (const hak_extent_row &row : found.row) {
    if (row.address <= address && address + bytes <= row.address + row.bytes) return static_cast<int>(row.kind);
  }
  return -1;
}

bool overlap(Found found) {
  std::sort(found.row.begin(), found.row.end(), [](auto &a, auto &b) { return a.address < b.address; });
  for (size_t n = 1; n < found.row.size(); n++) {
    if (found.row[n - 1].address + found.row[n - 1].bytes > found.row[n].address) return true;
  }
  return false;
}

uint64_t bytes_in(const Found &found, hak_extent_kind kind) {
  uint64_t bytes = 0;
  for (const hak_extent_row &row : found.row) bytes += row.kind == kind ? row.bytes : 0;
  return bytes;
}

TEST(Extents, HoldEachBlockInItsKind) {
  void *small = hak_malloc(100), *run = hak_malloc(100000), *big = hak_malloc(64 * kMiB), *freed = hak_malloc(32 * kMiB);
  hak_free(freed);
  const Found found = extents(4096);
  EXPECT_EQ(kind_of(found, small, 100), HAK_EXTENT_RUNS);
  EXPECT_EQ(kind_of(found, run, 100000), HAK_EXTENT_RUNS);
  EXPECT_EQ(kind_of(found, big, 64 * kMiB), HAK_EXTENT_BIG);
  const int kind = kind_of(found, freed, 32 * kMiB);
  EXPECT_TRUE(kind == HAK_EXTENT_KEPT || kind == HAK_EXTENT_EMPTY || kind == -1) << kind;
  EXPECT_EQ(kind_of(found, g_range.map, 1), HAK_EXTENT_METADATA);
  EXPECT_EQ(kind_of(found, g_range.unit, 1), HAK_EXTENT_METADATA);
  EXPECT_EQ(kind_of(found, &found, 1), -1);
  EXPECT_EQ(bytes_in(found, HAK_EXTENT_RUNS), g_range.mapped);
  EXPECT_EQ(bytes_in(found, HAK_EXTENT_METADATA), hak_meta_bytes() + hak_range_table_bytes() + hak_big_table_bytes());
  EXPECT_FALSE(overlap(found));
  EXPECT_EQ(found.left_out, 0u);
}

TEST(Extents, ThatHaveNoRoomAreCounted) {
  for (int n = 0; n < 9; n++) ASSERT_NE(hak_malloc(64 * kMiB), nullptr);
  const Found all = extents(4096), few = extents(2), none = extents(0);
  EXPECT_EQ(few.row.size(), 2u);
  uint64_t bytes = 0, listed = 0;
  for (const hak_extent_row &row : all.row) bytes += row.bytes;
  for (const hak_extent_row &row : few.row) listed += row.bytes;
  EXPECT_EQ(few.left_out, bytes - listed);
  EXPECT_EQ(none.left_out, bytes);
}

TEST(Extents, NeighboursOfAKindAreOne) {
  hak_extent_row row[4];
  hak_extents list = {row, 0, 4, 0};
  char *p = reinterpret_cast<char *>(1 << 20);
  hak_extents_add(&list, p, 0, HAK_EXTENT_BIG);
  hak_extents_add(&list, p, 4096, HAK_EXTENT_BIG);
  hak_extents_add(&list, p + 4096, 4096, HAK_EXTENT_BIG);
  hak_extents_add(&list, p + 8192, 4096, HAK_EXTENT_KEPT);
  hak_extents_add(&list, p + 20480, 4096, HAK_EXTENT_KEPT);
  ASSERT_EQ(list.n, 3u);
  EXPECT_EQ(row[0].bytes, 8192u);
}

void churn(const std::atomic<bool> &stop) {
  std::vector<void *> blocks(16);
  for (size_t n = 0; !stop; n++) {
    void *&block = blocks[n * 7 % blocks.size()];
    hak_free(block);
    block = hak_malloc(n % 3 == 0 ? (n % 40 + 1) * kMiB : n * 37 % 200000);
  }
  for (void *block : blocks) hak_free(block);
}

/* Two sums are not taken at the same moment, so beside threads only extents of big blocks are checked for overlap. */
bool are_well_beside(const void *held) {
  const Found found = extents(4096);
  return kind_of(found, held, 64 * kMiB) == HAK_EXTENT_BIG && found.left_out == 0;
}

/* Under ThreadSanitizer a read of a half-placed range fails: relaxed flags order nothing between the two threads. */
TEST(Extents, BesideTheFirstBlock) {
  std::atomic<bool> begun{false}, stop{false};
  uint64_t outside = 0;
  std::thread reader([&] {
    for (; !stop.load(std::memory_order_relaxed); begun.store(true, std::memory_order_relaxed)) {
      hak_extent_row row[16];
      hak_extents list = {row, 0, 16, 0};
      hak_range_extents(&list);
      hak_range_populate_tables();
      for (size_t n = 0; n < list.n; n++) outside += row[n].address >> 47 != 0;
      outside += hak_range_table_bytes() >> 47;
    }
  });
  while (!begun.load(std::memory_order_relaxed)) std::this_thread::yield();
  void *first = hak_malloc(100);
  stop.store(true, std::memory_order_relaxed);
  reader.join();
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(outside, 0u);
}

TEST(Extents, BesideThreadsAndInAForksChild) {
  void *held = hak_malloc(64 * kMiB);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; n++) threads.emplace_back(churn, std::cref(stop));
  for (int n = 0; n < 20; n++) {
    EXPECT_TRUE(are_well_beside(held));
    const pid_t child = fork();
    if (child == 0) _exit(are_well_beside(held) && !overlap(extents(4096)) ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  for (std::thread &thread : threads) thread.join();
}

}  // namespace
