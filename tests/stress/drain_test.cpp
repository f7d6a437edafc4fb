/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* drain_test.cpp: magazines are emptied while the owners use the magazines.
 *
 * what      Owners allocate and free blocks on the fast path, a few of three sizes each, exchange some, and rest now
 *           and then; further threads drain the owners' magazines all the time, and counting is switched on and off.
 *           Every block is filled after the allocation and compared before the free.
 * owner     A block belongs to the thread that allocated the block or took the block out of a mailbox.
 * locks     none: a mailbox is an atomic pointer.
 * orders    An exchange with acq_rel passes a block on.
 * failure   A block of two owners has the wrong content: the test fails.
 * not here  One step at a time: tests/unit/drain_idle_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../model/model.h"

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "cache/registry.h"
#include "entry/thread.h"
#include "os/os.h"
#include "os/self.h"
#include "reclaim/background_thread.h"
#include "reclaim/drain_idle.h"
}

namespace {

using model::Random;

constexpr unsigned kOwners = 3;
constexpr unsigned kHeld = 40;
constexpr unsigned kSteps = HAK_TSAN != 0 ? 600000 : HAK_ASAN != 0 ? 200000 : 2000000;
constexpr std::array<size_t, 3> kSizes = {32, 64, 1024};

struct Held {
  uint64_t *p;
  size_t words;
};

std::array<std::atomic<uint64_t *>, 8> g_mail; /* blocks of kSizes[1] */
std::atomic<unsigned> g_working;
std::atomic<uint64_t> g_wrong;

uint64_t word_of(const uint64_t *p, size_t i) { return reinterpret_cast<uintptr_t>(p) * 31 + i * 0x9e3779b97f4a7c15U; }

void fill(uint64_t *p, size_t words, uint64_t owner) {
  for (size_t i = 0; i < words; i++) p[i] = word_of(p, i) ^ owner;
}

/* The first word encodes the owner. */
void check(const uint64_t *p, size_t words) {
  const uint64_t owner = p[0] ^ word_of(p, 0);
  for (size_t i = 0; i < words; i++) g_wrong += p[i] != (word_of(p, i) ^ owner);
  g_wrong += owner == 0 || owner > kOwners;
}

void pass_on(Held &block) {
  block.p = g_mail[reinterpret_cast<uintptr_t>(block.p) / 64 % g_mail.size()].exchange(block.p);
}

void release(Held &block) {
  if (block.p == nullptr) return;
  check(block.p, block.words);
  block.p[0] = 0;
  hak_free(block.p);
  block.p = nullptr;
}

void step(Held &block, Random &random, uint64_t me) {
  if (block.p != nullptr) {
    if (block.words == kSizes[1] / 8 && random.one_in(64)) pass_on(block);
    return release(block);
  }
  const size_t bytes = kSizes[random.below(kSizes.size())];
  block = {static_cast<uint64_t *>(hak_malloc(bytes)), bytes / 8};
  fill(block.p, block.words, me);
}

void own(uint64_t me, unsigned steps) {
  Random random(me);
  std::array<Held, kHeld> held{};
  for (unsigned i = 0; i < steps; i++) {
    step(held[random.below(kHeld)], random, me);
    if (random.one_in(20000)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (Held &block : held) release(block);
  g_working--;
}

/* As malloc_trim does, but only this. */
void drain_in_a_loop(bool idle) {
  while (g_working != 0) {
    struct hak_fault fault = {HAK_ERROR_none, nullptr};
    hak_self.in_allocator = 1;
    if (!idle) hak_drain_all(&fault);
    else if (hak_drain_asked() == UINT64_MAX) hak_drain_idle(&fault, false);
    hak_self.in_allocator = 0;
    g_wrong += fault.error != HAK_ERROR_none;
    sched_yield();
  }
}

void count_in_a_loop() {
  for (unsigned i = 0; g_working != 0; i++) {
    hak_set("count_calls", i % 2 == 0 ? "on" : "off");
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + i % 3));
  }
  hak_set("count_calls", "off");
}

void drain_all_the_time(bool counting, const char *budget = "64M") {
  hak_free(hak_malloc(1));
  hak_background_allow();
  hak_background_hold(); /* a sanitizer cannot follow the background thread */
  if (!hak_os_has_barrier()) GTEST_SKIP() << "the kernel has no membarrier: nothing is drained";
  ASSERT_EQ(hak_set("process_cache_bytes", budget), 0);
  const size_t before = hak_bytes_in_use();
  std::vector<std::thread> threads;
  g_working = kOwners;
  for (uint64_t me = 1; me <= kOwners; me++) threads.emplace_back(own, me, model::scaled(kSteps));
  threads.emplace_back(drain_in_a_loop, false);
  threads.emplace_back(drain_in_a_loop, true);
  if (counting) threads.emplace_back(count_in_a_loop);
  for (std::thread &thread : threads) thread.join();
  for (auto &box : g_mail) hak_free(box.exchange(nullptr));
  EXPECT_EQ(g_wrong, 0U);
  hak_trim(0);
  EXPECT_EQ(hak_bytes_in_use(), before) << "blocks are lost";
}

TEST(DrainStress, OwnersAtWork) { drain_all_the_time(false); }

TEST(DrainStress, OwnersThatAreCounted) { drain_all_the_time(true); }

/* Only correctness under starvation; that starving threads ask and get capacity: process_starved. */
TEST(DrainStress, OwnersThatStarve) { drain_all_the_time(false, "24K"); }

}  // namespace
