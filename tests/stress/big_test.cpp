/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_test.cpp: big blocks are cut, joined, moved and resized by several threads, and the process forks.
 *
 * what      Workers share a few slots and replace the blocks there, so that most blocks are freed by a thread that did
 *           not allocate them. Both ends of every page of a block are stamped, and compared before the free, after a
 *           resize, and now and then between: detects a page that was lost in a move, or that two blocks share.
 *           calloc's blocks are checked at the places of stamps.
 *
 *               workers   | slot slot slot ... slot |   16, 1 to 60 MiB, now and then below; 160 MiB at most
 *               main      forks: the child compares all blocks that were not in work, goes on for a while, and exits
 *
 * owner     A slot, and its block, belong to the worker that set `busy`; in the child all slots that were not busy
 *           are the child's.
 * locks     none: `busy` is the slot's.
 * orders    Taking a slot is acquire, releasing the slot is release.
 * failure   As forked.h: the page, and the moment of the check.
 * not here  Cuts at chosen instructions (tests/cuts). Refused kernel calls (tests/fault).
 */
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../model/model.h"
#include "forked.h"

namespace {

using forked::failed;
using model::Random;

constexpr unsigned kSlots = 16;
constexpr unsigned kWorkers = 3;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kMostOfOne = 60 * kMiB;
constexpr size_t kMostBytes = 160 * kMiB;
constexpr unsigned kSteps = 1200; /* steps of a worker; model::scaled reduces the number under a sanitizer */
constexpr unsigned kStepsOfAChild = 30;
constexpr size_t kPage = 4096; /* a larger page is stamped in several places */

struct Slot {
  std::atomic<bool> busy;
  unsigned char *p;
  size_t n;
  uint64_t mark;
};

Slot g_slots[kSlots];
std::atomic<size_t> g_bytes; /* in all slots */
std::atomic<unsigned> g_working;

/* ---- contents ---- */

uint64_t stamp_of(uint64_t mark, size_t at) { return mark + at * 0x9e3779b97f4a7c15U; }

/* Calls visit(word, place of the word) for both ends of each page of the first n bytes. */
template <class Visit>
void at_stamps(unsigned char *p, size_t n, Visit visit) {
  for (size_t page = 0; page < n; page += kPage) {
    for (const size_t at : {page, page + kPage - sizeof(uint64_t)}) {
      if (at + sizeof(uint64_t) <= n) visit(reinterpret_cast<uint64_t *>(p + at), at);
    }
  }
}

[[noreturn]] void astray(const unsigned char *p, size_t n, size_t at, const char *when) {
  failed(std::string(when) + ": block of " + std::to_string(n) + " B: byte " + std::to_string(at) +
         " is another one's, at address " + std::to_string(reinterpret_cast<uintptr_t>(p)));
}

void compare(unsigned char *p, size_t n, uint64_t mark, const char *when) {
  at_stamps(p, n, [&](const uint64_t *word, size_t at) {
    if (*word != stamp_of(mark, at)) astray(p, n, at, when);
  });
}

void expect_zero(unsigned char *p, size_t n, bool everywhere) {
  at_stamps(p, n, [&](const uint64_t *word, size_t at) {
    if (*word != 0) astray(p, n, at, "calloc");
  });
  if (everywhere && !model::all_zero(p, n)) failed("calloc: not zero");
}

/* ---- a worker's operations on a busy slot ---- */

size_t choose_size(Random &random) {
  const size_t most = kMiB << random.below(6);
  const size_t n = kMiB / (random.one_in(8) ? 16 : 1) + random.below(most);
  return g_bytes.load(std::memory_order_relaxed) + n > kMostBytes || n > kMostOfOne ? kMiB + n % kMiB : n;
}

void keep(Slot &slot, void *p, size_t n, Random &random) {
  if (p == nullptr) failed("no memory for " + std::to_string(n) + " B");
  slot.p = static_cast<unsigned char *>(p);
  slot.n = n;
  slot.mark = random.next();
  g_bytes += n;
  at_stamps(slot.p, n, [&](uint64_t *word, size_t at) { *word = stamp_of(slot.mark, at); });
}

void allocate(Slot &slot, Random &random) {
  const size_t n = choose_size(random), alignment = kPage << random.below(11);
  if (random.one_in(8)) return keep(slot, hak_aligned_alloc(alignment, n), n, random);
  if (!random.one_in(4)) return keep(slot, hak_malloc(n), n, random);
  void *p = hak_calloc(n, 1);
  if (p != nullptr) expect_zero(static_cast<unsigned char *>(p), n, random.one_in(4));
  keep(slot, p, n, random);
}

void check(const Slot &slot, const char *when) { compare(slot.p, slot.n, slot.mark, when); }

void release(Slot &slot, const char *when) {
  check(slot, when);
  hak_free(slot.p);
  slot.p = nullptr;
  g_bytes -= slot.n;
}

void resize(Slot &slot, Random &random) {
  const size_t old = slot.n, near = old / 2 + random.below(old) + 1;
  const size_t n = near > kMostOfOne || random.one_in(2) ? choose_size(random) : near;
  check(slot, "before realloc");
  auto *p = static_cast<unsigned char *>(hak_realloc(slot.p, n));
  if (p == nullptr) failed("no memory to grow to " + std::to_string(n) + " B");
  compare(p, n < old ? n : old, slot.mark, "after realloc");
  g_bytes -= old;
  keep(slot, p, n, random);
}

void use(Slot &slot, Random &random) {
  if (slot.p == nullptr) return allocate(slot, random);
  switch (random.below(8)) {
    case 0: return check(slot, "between");
    case 1:
    case 2: return resize(slot, random);
    default: return release(slot, "before free");
  }
}

bool take(Slot &slot) { return !slot.busy.exchange(true, std::memory_order_acquire); }
void give_up(Slot &slot) { slot.busy.store(false, std::memory_order_release); }

void work(uint64_t seed, unsigned steps) {
  Random random(seed);
  for (unsigned i = 0; i < steps; i++) {
    if (random.one_in(100)) hak_trim(random.below(64 * kMiB));
    Slot &slot = g_slots[random.below(kSlots)];
    if (!take(slot)) continue;
    use(slot, random);
    give_up(slot);
  }
}

/* ---- a fork's child ---- */

void check_all(const char *when) {
  for (const Slot &slot : g_slots)
    if (!slot.busy.load(std::memory_order_acquire) && slot.p != nullptr) check(slot, when);
}

/* Slots of workers lost by the fork stay busy. */
void go_on(uint64_t seed) {
  check_all("at first");
  std::thread other(work, seed, kStepsOfAChild);
  work(seed + 1, kStepsOfAChild);
  other.join();
  check_all("at last");
  for (Slot &slot : g_slots)
    if (take(slot) && slot.p != nullptr) release(slot, "at the end");
  hak_trim(0);
}

/* ---- the whole test ---- */

uint64_t counter(const char *wanted) {
  uint64_t value = 0;
  const char *name = nullptr;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++)
    if (std::strcmp(name, wanted) == 0) return value;
  failed(std::string("no counter is called ") + wanted);
}

void start_workers(std::vector<std::thread> *threads) {
  g_working = kWorkers;
  for (unsigned i = 0; i < kWorkers; i++) {
    threads->emplace_back([i] {
      work(i + 1, model::scaled(kSteps));
      g_working--;
    });
  }
}

/* Pages move often: little may stay beside a new block, and a move pays by costs that are told. Those that a busy machine
 * measures let no page move in some runs. */
void let_pages_move() {
  ASSERT_EQ(hak_set("price", "2000001"), 0);
  ASSERT_EQ(hak_set("lab_cost_call", "300"), 0);
  ASSERT_EQ(hak_set("lab_cost_page", "2000"), 0);
  ASSERT_EQ(hak_set("lab_cost_move", "100"), 0);
}

TEST(BigStress, NoPageGoesAstray) {
  hak_free(hak_malloc(1)); /* the first thread is served before a second starts, as in a program */
  std::vector<std::thread> threads;
  const size_t before = hak_bytes_in_use();
  let_pages_move();
  start_workers(&threads);
  for (uint64_t forks = 1; forked::kMayFork && g_working != 0; forks++) forked::fork_once([=] { go_on(forks << 20); });
  for (std::thread &thread : threads) thread.join();
  for (Slot &slot : g_slots)
    if (slot.p != nullptr) release(slot, "at the end");
  EXPECT_EQ(hak_bytes_in_use(), before);
  EXPECT_GT(counter("big_moved"), 0U) << "no page ever moved";
  EXPECT_GT(counter("big_hits"), 0U) << "no block was cut from what is kept";
}

}  // namespace
