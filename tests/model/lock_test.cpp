/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lock_test.cpp: the lock under which blocks go back to slabs and runs, in every order of steps and of stores that
 * AArch64 allows.
 *
 * what      Three threads take a lock as in os/lock.h and os/lock.c, add 1 to a word that it guards, and drop it:
 *
 *               take    compare and swap 0 to mine; else look: at 0 swap to mine with the sleepers bit; else set the
 *                       bit, and sleep while the word is as seen
 *               drop    swap to 0, with release; wake one sleeper if the bit was set
 *
 *           A free of another thread's block, a purge beside an allocation and the end of a thread's magazines meet at
 *           such locks alone, so this search stands for them. Stores of the guarded word wait in a buffer until the
 *           thread flushes, or a release. A sleep has no limit of time here.
 * owner     The search.
 * failure   A sum that lacks an addition, or sleepers that no thread wakes; each mutation must show one.
 * not here  Takeover from a thread that a fork left behind (tests/cuts, tests/unit/lock_test.cpp).
 */
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

constexpr unsigned kThreads = 3;
constexpr uint8_t kRounds = 2, kSleepers = 1;

/* The part of the protocol that is left out, or wrong. */
enum class Mutation : uint8_t { none, no_release, no_bit_when_retaken, no_bit, no_comparison };
enum Pc : uint8_t { kIdle, kTake, kLook, kTakeAgain, kMark, kSleep, kAsleep, kRead, kAdd, kDrop, kWake };

struct Thread {
  uint8_t pc, left, seen, value, buffered, buffer;
};

struct State {
  uint8_t word, sum; /* word: the owner's number, even, and the sleepers bit */
  std::array<Thread, kThreads> thread;
};

class LockSearch {
 public:
  explicit LockSearch(Mutation mutation) : mutation_(mutation) {}
  void run();
  size_t states() const { return seen_.size(); }
  size_t bad = 0, slept = 0;

 private:
  void add(const State &s);
  void go(State s, unsigned n, uint8_t pc) { s.thread[n].pc = pc, add(s); }
  void swap(State s, unsigned n, uint8_t to, uint8_t success);
  void take(State s, unsigned n);
  void sleep(State s, unsigned n);
  void use(State s, unsigned n);
  void wake(const State &s, unsigned n);
  void step(const State &s, unsigned n);
  static uint8_t number_of(unsigned n) { return static_cast<uint8_t>(2 * n + 2); }

  Mutation mutation_;
  size_t added_ = 0;
  std::unordered_set<std::string> seen_;
  std::vector<State> open_;
};

void LockSearch::add(const State &s) {
  added_++;
  if (seen_.insert({reinterpret_cast<const char *>(&s), sizeof s}).second) open_.push_back(s);
}

/* Changes the word from `seen` to `to`, or looks again. */
void LockSearch::swap(State s, unsigned n, uint8_t to, uint8_t success) {
  const bool same = s.word == s.thread[n].seen;
  if (same) s.word = to;
  go(s, n, same ? success : static_cast<uint8_t>(kLook));
}

void LockSearch::take(State s, unsigned n) {
  Thread &t = s.thread[n];
  const bool marks = mutation_ != Mutation::no_bit_when_retaken && mutation_ != Mutation::no_bit;
  if (t.pc == kIdle) {
    if (t.left == 0) return;
    t.left--;
    t.seen = 0;
    go(s, n, kTake);
  } else if (t.pc == kTake) {
    swap(s, n, number_of(n), kRead);
  } else if (t.pc == kTakeAgain) {
    swap(s, n, static_cast<uint8_t>(number_of(n) | (marks ? kSleepers : 0)), kRead);
  } else {
    t.seen = s.word;
    go(s, n, t.seen == 0 ? kTakeAgain : (t.seen & kSleepers) != 0 ? kSleep : kMark);
  }
}

void LockSearch::sleep(State s, unsigned n) {
  Thread &t = s.thread[n];
  const uint8_t marked = mutation_ == Mutation::no_bit ? t.seen : static_cast<uint8_t>(t.seen | kSleepers);
  if (t.pc == kMark) return swap(s, n, marked, kSleep);
  const bool sleeps = s.word == marked || mutation_ == Mutation::no_comparison;
  slept += sleeps;
  go(s, n, sleeps ? kAsleep : kLook);
}

void LockSearch::use(State s, unsigned n) {
  Thread &t = s.thread[n];
  if (t.pc == kRead) {
    t.value = t.buffered != 0 ? t.buffer : s.sum;
    return go(s, n, kAdd);
  }
  if (t.pc == kAdd) {
    if (t.buffered != 0) return; /* two stores to one word keep their order */
    t.buffered = 1;
    t.buffer = static_cast<uint8_t>(t.value + 1);
    return go(s, n, kDrop);
  }
  if (t.buffered != 0 && mutation_ != Mutation::no_release) return;
  const bool wakes = (s.word & kSleepers) != 0;
  s.word = t.value = t.seen = 0;
  go(s, n, wakes ? kWake : kIdle);
}

/* Any one sleeper. */
void LockSearch::wake(const State &s, unsigned n) {
  bool woken = false;
  for (unsigned other = 0; other < kThreads; other++) {
    if (s.thread[other].pc != kAsleep) continue;
    State next = s;
    next.thread[other].pc = kLook;
    go(next, n, kIdle);
    woken = true;
  }
  if (!woken) go(s, n, kIdle);
}

void LockSearch::step(const State &s, unsigned n) {
  const uint8_t pc = s.thread[n].pc;
  if (s.thread[n].buffered != 0) {
    State next = s;
    next.sum = next.thread[n].buffer;
    next.thread[n].buffered = next.thread[n].buffer = 0;
    add(next);
  }
  if (pc <= kTakeAgain) take(s, n);
  else if (pc <= kSleep) sleep(s, n);
  else if (pc == kWake) wake(s, n);
  else if (pc != kAsleep) use(s, n);
}

void LockSearch::run() {
  State first{};
  for (Thread &t : first.thread) t.left = kRounds;
  add(first);
  while (!open_.empty() && bad == 0) {
    const State s = open_.back();
    open_.pop_back();
    const size_t before = added_;
    for (unsigned n = 0; n < kThreads; n++) step(s, n);
    if (added_ != before) continue;
    bool over = s.sum == kThreads * kRounds && s.word == 0;
    for (const Thread &t : s.thread) over = over && t.pc == kIdle && t.left == 0;
    bad += !over;
  }
}

TEST(LockModel, NoAdditionIsLostAndNoThreadSleepsForEver) {
  LockSearch search(Mutation::none);
  search.run();
  EXPECT_EQ(search.bad, 0U);
  EXPECT_GT(search.slept, 0U);
  std::printf("%zu states\n", search.states());
}

/* Each part of the protocol is needed. */
TEST(LockModel, MutationsAreFound) {
  for (const Mutation m :
       {Mutation::no_release, Mutation::no_bit_when_retaken, Mutation::no_bit, Mutation::no_comparison}) {
    LockSearch search(m);
    search.run();
    EXPECT_GT(search.bad, 0U) << static_cast<int>(m);
  }
}

}  // namespace
