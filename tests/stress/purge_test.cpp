/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* purge_test.cpp: memory is released to the kernel while threads allocate, resize and free, and the process forks.
 *
 * what      Three workers share a table of slots and replace the blocks there, so that most blocks are freed by a
 *           thread that did not allocate the blocks. Every byte of a block is written, and compared before the free,
 *           after a resize, and now and then between: detects a page that was released too early, or a block that was
 *           handed out twice. Meanwhile all free memory is released as fast as possible:
 *
 *               workers   | slot slot slot ... slot |   256, 16 B to 4 MiB; threads end and begin between the rounds
 *               background at a price that makes all memory overdue at once (or the slow paths instead)
 *               trimmer   hak_trim in a loop            limiter   a soft limit below the bytes in use, and none again
 *               main      forks: the child compares all blocks that were not in work, uses the allocator, and exits
 *
 * owner     A slot, and its block, belong to the worker that set `busy`; in the child all slots that were not busy
 *           are the child's.
 * locks     none: `busy` is the slot's.
 * orders    Taking a slot is acquire, releasing the slot is release.
 * failure   As forked.h: place, byte and finding thread.
 * not here  Cuts at chosen instructions (tests/cuts). Random operations against an oracle (tests/model).
 */
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "../model/model.h"
#include "forked.h"

extern "C" {
#include "os/os.h"
#include "os/self.h"
#include "reclaim/background_thread.h"
}

namespace {

using forked::failed;
using model::Random;

constexpr unsigned kSlots = 256;
constexpr unsigned kWorkers = 3;
constexpr unsigned kLimitLog2 = HAK_TSAN != 0 ? 20 : 21; /* sizes are below twice that */
constexpr size_t kMostBytes = size_t{64} << 20;
constexpr unsigned kSteps = HAK_TSAN != 0 ? 400 : HAK_ASAN != 0 ? 1000 : 2000; /* a round's */

struct Slot {
  std::atomic<bool> busy;
  unsigned char *p;
  size_t n;
};

Slot g_slots[kSlots];
std::atomic<size_t> g_bytes; /* in all slots */
std::atomic<bool> g_over;    /* the round is */

/* ---- contents ---- */

/* Derived from the block's address and size, so that another block's word is wrong here; never zero. */
uint64_t word_at(uint64_t mark, size_t i) { return mark + i * 0x9e3779b97f4a7c15U; }

uint64_t mark_of(const void *p, size_t n) {
  return Random(reinterpret_cast<uintptr_t>(p) * 31 + n).next();
}

unsigned char byte_at(uint64_t mark, size_t at) {
  return static_cast<unsigned char>(word_at(mark, at / 8) >> at % 8 * 8);
}

void fill(unsigned char *p, size_t n) {
  const uint64_t mark = mark_of(p, n);
  auto *words = reinterpret_cast<uint64_t *>(p);
  for (size_t i = 0; i < n / 8; i++) words[i] = word_at(mark, i);
  for (size_t at = n / 8 * 8; at < n; at++) p[at] = byte_at(mark, at);
}

[[noreturn]] void lost(const unsigned char *p, size_t n, size_t at, unsigned char expected, const char *when) {
  char text[200];
  std::snprintf(text, sizeof text, "%s: block %p of %zu B: byte %zu is 0x%02x, not 0x%02x", when,
                static_cast<const void *>(p), n, at, p[at], expected);
  failed(text);
}

/* The first `kept` bytes at p hold the words of a block of this mark. */
void compare(const unsigned char *p, size_t kept, uint64_t mark, const char *when) {
  const auto *words = reinterpret_cast<const uint64_t *>(p);
  uint64_t wrong = 0;
  for (size_t i = 0; i < kept / 8; i++) wrong |= words[i] ^ word_at(mark, i);
  for (size_t at = kept / 8 * 8; at < kept; at++) wrong |= p[at] ^ byte_at(mark, at);
  for (size_t at = 0; wrong != 0 && at < kept; at++)
    if (p[at] != byte_at(mark, at)) lost(p, kept, at, byte_at(mark, at), when);
  if (wrong != 0) failed(std::string(when) + ": a block changed while it was compared");
}

void check(const Slot &slot, const char *when) { compare(slot.p, slot.n, mark_of(slot.p, slot.n), when); }

void expect_zero(const unsigned char *p, size_t n) {
  unsigned char any = 0;
  for (size_t at = 0; at < n; at++) any |= p[at];
  for (size_t at = 0; any != 0 && at < n; at++)
    if (p[at] != 0) lost(p, n, at, 0, "calloc");
}

/* ---- a worker's operations on a busy slot ---- */

size_t choose_size(Random &random) {
  const size_t n = model::random_size(random, kLimitLog2);
  return 1 + (g_bytes.load(std::memory_order_relaxed) + n > kMostBytes ? n % 4096 : n);
}

void keep(Slot &slot, void *p, size_t n) {
  if (p == nullptr) failed("no memory for " + std::to_string(n) + " B");
  slot.p = static_cast<unsigned char *>(p);
  slot.n = n;
  g_bytes += n;
  fill(slot.p, n);
}

void allocate(Slot &slot, Random &random) {
  const size_t n = choose_size(random);
  if (random.one_in(16)) return keep(slot, hak_aligned_alloc(size_t{16} << random.below(15), n), n);
  if (!random.one_in(4)) return keep(slot, hak_malloc(n), n);
  void *p = hak_calloc(n, 1);
  if (p != nullptr) expect_zero(static_cast<unsigned char *>(p), n);
  keep(slot, p, n);
}

void release(Slot &slot, const char *when) {
  check(slot, when);
  hak_free(slot.p);
  slot.p = nullptr;
  g_bytes -= slot.n;
}

void resize(Slot &slot, Random &random) {
  const uint64_t mark = mark_of(slot.p, slot.n);
  const size_t n = random.one_in(2) ? choose_size(random) : slot.n / 2 + random.below(slot.n) + 1;
  check(slot, "before realloc");
  auto *p = static_cast<unsigned char *>(hak_realloc(slot.p, n));
  if (p == nullptr) failed("no memory to grow to " + std::to_string(n) + " B");
  compare(p, n < slot.n ? n : slot.n, mark, "after realloc");
  g_bytes -= slot.n;
  keep(slot, p, n);
}

void use(Slot &slot, Random &random, bool only_free) {
  if (slot.p == nullptr) {
    if (!only_free) allocate(slot, random);
    return;
  }
  switch (random.below(8)) {
    case 0: return check(slot, "between");
    case 1: return resize(slot, random);
    default: return release(slot, "before free");
  }
}

bool take(Slot &slot) { return !slot.busy.exchange(true, std::memory_order_acquire); }
void give_up(Slot &slot) { slot.busy.store(false, std::memory_order_release); }

/* Blocks of one size that live for a moment: slabs open, fill up and close while their pages are being released. */
void burst(Random &random) {
  constexpr size_t kBlocks = 128;
  static thread_local Slot taken[kBlocks];
  const size_t n = model::random_size(random, 14) + 1, first = random.below(kBlocks);
  for (Slot &slot : taken) keep(slot, hak_malloc(n), n);
  for (size_t i = 0; i < kBlocks; i++) release(taken[(first + i * 5) % kBlocks], "in a burst");
}

/* Now and then a wave that frees: much becomes empty at once. */
void work(uint64_t seed, unsigned steps) {
  Random random(seed);
  unsigned wave = 0;
  for (unsigned i = 0; i < steps; i++) {
    if (random.one_in(100)) burst(random);
    if (wave > 0) wave--;
    else if (random.one_in(1000)) wave = 2 * kSlots;
    Slot &slot = g_slots[random.below(kSlots)];
    if (!take(slot)) continue;
    use(slot, random, wave != 0);
    give_up(slot);
  }
}

/* ---- concurrent work ---- */

void trim_in_a_loop() {
  Random random(3);
  while (!g_over.load(std::memory_order_acquire)) hak_trim(random.one_in(2) ? random.below(64 << 20) : 0);
}

/* In place of the background thread, which a sanitizer cannot follow. One that begins to serve a single thread serves
 * for as long as a background thread is wanted: end_serving ends it. */
void serve_in_a_loop() {
  while (!g_over.load(std::memory_order_acquire)) {
    hak_self.in_allocator = 1;
    hak_background_serve();
    hak_self.in_allocator = 0;
    sched_yield();
  }
}

void end_serving() {
  ASSERT_EQ(hak_set("background_thread", "off"), 0);
  hak_background_wake();
}

/* Around zero the footprint is small: a limit of half of the footprint is passed at once. */
void change_limits() {
  for (unsigned i = 0; !g_over.load(std::memory_order_acquire); i++) {
    const size_t in_use = hak_bytes_in_use();
    if (hak_set_limit(i % 2 == 0 ? in_use / 2 + 1 : 0, 0) != 0) failed("a limit was refused");
    for (int n = 0; n < 50; n++) sched_yield();
  }
  hak_set_limit(0, 0);
}

/* ---- a fork's child ---- */

void check_all(const char *when) {
  for (const Slot &slot : g_slots)
    if (!slot.busy.load(std::memory_order_acquire) && slot.p != nullptr) check(slot, when);
}

/* Slots of workers lost by the fork stay busy. */
void child(uint64_t seed) {
  check_all("at first");
  std::thread other(work, seed, 500);
  work(seed + 1, 500);
  hak_trim(0);
  other.join();
  check_all("at last");
  for (Slot &slot : g_slots)
    if (take(slot) && slot.p != nullptr) release(slot, "at the end");
  hak_trim(0);
}

/* ---- a round ---- */

void round(uint64_t seed, unsigned steps, const char *helper) {
  std::atomic<unsigned> working{kWorkers};
  ASSERT_EQ(hak_set("background_thread", helper), 0);
  std::vector<std::thread> threads;
  g_over = false;
  for (unsigned i = 0; i < kWorkers; i++) {
    threads.emplace_back([&working, seed, steps, i] {
      work(seed * kWorkers + i, steps);
      working--;
    });
  }
  threads.emplace_back(trim_in_a_loop);
  threads.emplace_back(change_limits);
  threads.emplace_back(serve_in_a_loop);
  for (uint64_t forks = 1; forked::kMayFork && working != 0; forks++)
    forked::fork_once([=] { child(seed << 20 | forks << 2); });
  for (unsigned i = 0; i < kWorkers; i++) threads[i].join();
  g_over = true;
  end_serving();
  for (unsigned i = kWorkers; i < threads.size(); i++) threads[i].join();
}

/* The errors searched for are rare: HAK_TEST_SCALE multiplies the rounds. */
unsigned rounds() {
  const unsigned n = std::getenv("HAK_TEST_SCALE") != nullptr ? model::scaled(10) : 0;
  return n > 2 ? n : 2;
}

void purge_all_the_time(const char *helper) {
  hak_free(hak_malloc(1));
  hak_background_allow();
  hak_background_hold();
  const size_t before = hak_bytes_in_use();
  for (uint64_t seed = 1; seed <= rounds(); seed++) {
    ASSERT_EQ(hak_set("price", seed % 2 != 0 ? "1000000000000" : "1000"), 0);
    round(seed, kSteps, helper);
  }
  for (Slot &slot : g_slots)
    if (slot.p != nullptr) release(slot, "at the end");
  EXPECT_EQ(hak_bytes_in_use(), before);
}

TEST(Purge, ByTheHelper) { purge_all_the_time("on"); }

TEST(Purge, AtTheDoors) { purge_all_the_time("off"); }

}  // namespace
