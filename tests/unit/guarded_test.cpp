/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* guarded_test.cpp: the pool of guarded blocks.
 *
 * what      blocks/guarded.c: places, states, the order in which slots are used again, refused kernel calls, threads.
 * owner     Each case runs in a separate process.
 * not here  Reports: tests/process/pooled_test.py.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/guarded.h"
#include "os/os.h"

void hak_inside_guarded_vanish(void);

static std::atomic<bool> refuses;
bool __real_hak_os_open(void *p, size_t bytes);
bool __wrap_hak_os_open(void *p, size_t bytes) { return !refuses && __real_hak_os_open(p, bytes); }
bool __real_hak_os_shut(void *p, size_t bytes);
bool __wrap_hak_os_shut(void *p, size_t bytes) { return !refuses && __real_hak_os_shut(p, bytes); }
}

namespace {

const hak_guarded_stack stack = {7, 2, {0x10, 0x20}};

char *take(size_t n, uint32_t chance = 1) { return static_cast<char *>(hak_guarded_take(n, chance, &stack)); }

TEST(Guarded, BlocksLieAtAnEndOfTheirPage) {
  const size_t page = hak_os_page_bytes();
  for (size_t n : {size_t{0}, size_t{1}, size_t{16}, size_t{100}, size_t{2048}, page}) {
    char *last = take(n), *first = take(n, 4);
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(last) % 16, 0u);
    EXPECT_EQ((reinterpret_cast<uintptr_t>(last) + (n == 0 ? 16 : (n + 15) / 16 * 16)) % page, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % page, 0u);
    EXPECT_EQ(hak_guarded_bytes(last), n == 0 ? 1 : n);
    EXPECT_TRUE(hak_guarded_holds(last));
  }
  EXPECT_EQ(take(page + 1), nullptr);
  EXPECT_EQ(take(SIZE_MAX), nullptr);
}

TEST(Guarded, FreedSlotsAreUsedAgainOldestFirst) {
  std::vector<char *> all;
  for (int i = 0; i < HAK_GUARDED_SLOTS; i++) all.push_back(take(4096));
  EXPECT_EQ(take(8), nullptr) << "all slots are live";
  for (int i : {5, 3, 60}) EXPECT_EQ(hak_guarded_put(all[i], &stack), HAK_ERROR_none);
  for (int i : {5, 3, 60}) EXPECT_EQ(take(4096), all[i]);
  EXPECT_EQ(take(8), nullptr);
}

TEST(Guarded, WrongFreesChangeNothing) {
  char *p = take(24), *q = take(24);
  EXPECT_EQ(hak_guarded_put(p + 8, &stack), HAK_ERROR_interior);
  EXPECT_EQ(hak_guarded_put(p + hak_os_page_bytes(), &stack), HAK_ERROR_released) << "a page between";
  EXPECT_EQ(hak_guarded_bytes(p), 24u);
  EXPECT_EQ(hak_guarded_put(p, &stack), HAK_ERROR_none);
  EXPECT_EQ(hak_guarded_put(p, &stack), HAK_ERROR_double_free);
  EXPECT_EQ(hak_guarded_put(p + 8, &stack), HAK_ERROR_interior);
  EXPECT_EQ(hak_guarded_bytes(p), 0u);
  EXPECT_EQ(hak_guarded_near(p)->freed.frame[1], 0x20u);
  EXPECT_EQ(hak_guarded_near(q + 24 + 8)->address, reinterpret_cast<uintptr_t>(q));
}

TEST(Guarded, WritesBesideABlockAreFound) {
  char *p = take(20), *q = take(20), *next = take(20);
  next[20] = 1; /* the first byte behind */
  EXPECT_EQ(hak_guarded_put(next, &stack), HAK_ERROR_overrun);
  EXPECT_EQ(hak_guarded_overrun(hak_guarded_near(next)), reinterpret_cast<uintptr_t>(next + 20));
  p[21] = 1;
  EXPECT_EQ(hak_guarded_put(p, &stack), HAK_ERROR_overrun);
  EXPECT_EQ(hak_guarded_overrun(hak_guarded_near(p)), reinterpret_cast<uintptr_t>(p + 21));
  EXPECT_EQ(hak_guarded_bytes(p), 20u) << "still live";
  q[-4] = 1;
  EXPECT_EQ(hak_guarded_put(q, &stack), HAK_ERROR_overrun);
  EXPECT_EQ(hak_guarded_overrun(hak_guarded_near(q)), reinterpret_cast<uintptr_t>(q - 4));
}

TEST(Guarded, APageWhoseMappingWasRefusedIsUsedNoMore) {
  char *p = take(24);
  refuses = true;
  EXPECT_EQ(take(24), nullptr);
  EXPECT_EQ(hak_guarded_put(p, &stack), HAK_ERROR_none);
  EXPECT_EQ(hak_guarded_put(p, &stack), HAK_ERROR_double_free);
  refuses = false;
  hak_inside_guarded_vanish();
  std::vector<char *> all;
  for (char *q; (q = take(24)) != nullptr;) all.push_back(q);
  EXPECT_EQ(all.size(), HAK_GUARDED_SLOTS - 2u) << "a page that could not be opened or shut is used no more, in a fork's child neither";
}

TEST(Guarded, ThreadsShareThePool) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&wrong, t] {
      for (int i = 0; i < 2000; i++) {
        char *p = take(64);
        if (p == nullptr) continue;
        std::memset(p, t, 64);
        if (p[63] != t || hak_guarded_bytes(p) != 64) wrong++;
        if (hak_guarded_put(p, &stack) != HAK_ERROR_none) wrong++;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
