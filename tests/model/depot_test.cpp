/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* depot_test.cpp: packs on their way between threads, in every order of steps and of stores that AArch64 allows.
 *
 * what      Two stacks as in blocks/depot.c, of full and of empty packs with room for one block, and three threads, each
 *           of which takes or puts:
 *
 *               take   pop a full pack, read its block, store "empty", push the pack among the empty ones
 *               put    pop an empty pack, store a block, push the pack among the full ones
 *
 *           Heads change by compare and swap. All other stores wait in a buffer and leave it in any order, except two to
 *           one cell; a swap that releases waits until the buffer is empty. What is read of a pack is read after the head
 *           (acquire, or by address).
 * owner     The search.
 * failure   A block in two places or in none; each mutation must show a failure.
 * not here  Counts; packs with room for more.
 */
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

constexpr unsigned kThreads = 3, kPacks = 2, kBuffer = 3;
constexpr uint8_t kFull = 0, kEmpty = 1;

enum class Mutation : uint8_t { none, no_release, no_tag };
enum Pc : uint8_t { kIdle, kPopHead, kPopNext, kPopSwap, kUse, kPushHead, kPushNext, kPushSwap };

struct Head {
  uint8_t pack, tag; /* pack 0: none */
};

struct Thread {
  uint8_t pc, left, puts, pack, next, held; /* held: blocks, by bits */
  Head old;
  std::array<uint8_t, 2 * kBuffer> buffer; /* cell, value; oldest first */
  uint8_t buffered;
};

struct State {
  std::array<Head, 2> head;
  std::array<uint8_t, 2 * kPacks> memory; /* next of each pack, then the block of each, 0: none */
  std::array<Thread, kThreads> thread;
};

uint8_t next_cell(uint8_t pack) { return static_cast<uint8_t>(pack - 1); }
uint8_t block_cell(uint8_t pack) { return static_cast<uint8_t>(kPacks + pack - 1); }
uint8_t bit_of(uint8_t block) { return static_cast<uint8_t>(1U << block); }

class Search {
 public:
  explicit Search(Mutation mutation) : mutation_(mutation) {}
  void run();
  size_t states() const { return seen_.size(); }
  size_t bad = 0;

 private:
  void add(const State &s);
  void judge(const State &s);
  void flush(const State &s, unsigned n);
  void step(State s, unsigned n);
  void begin(State s, unsigned n);
  void use(State s, unsigned n);
  bool swap(State &s, Thread &t, uint8_t stack, uint8_t pack) const;
  static uint8_t load(const State &s, const Thread &t, uint8_t cell);
  static void store(Thread &t, uint8_t cell, uint8_t value);

  Mutation mutation_;
  std::unordered_set<std::string> seen_;
  std::vector<State> open_;
};

void Search::add(const State &s) {
  if (seen_.insert({reinterpret_cast<const char *>(&s), sizeof s}).second) open_.push_back(s);
}

uint8_t Search::load(const State &s, const Thread &t, uint8_t cell) {
  for (unsigned i = t.buffered; i-- > 0;)
    if (t.buffer[2 * i] == cell) return t.buffer[2 * i + 1];
  return s.memory[cell];
}

void Search::store(Thread &t, uint8_t cell, uint8_t value) {
  t.buffer[2U * t.buffered] = cell;
  t.buffer[2U * t.buffered + 1] = value;
  t.buffered++;
}

void Search::flush(const State &s, unsigned n) {
  const Thread &t = s.thread[n];
  for (unsigned i = 0; i < t.buffered; i++) {
    bool first = true;
    for (unsigned k = 0; k < i; k++) first = first && t.buffer[2 * k] != t.buffer[2 * i];
    if (!first) continue;
    State next = s;
    Thread &mine = next.thread[n];
    next.memory[t.buffer[2 * i]] = t.buffer[2 * i + 1];
    for (unsigned k = 2 * i; k + 2 < mine.buffer.size(); k++) mine.buffer[k] = mine.buffer[k + 2];
    mine.buffer[2 * kBuffer - 2] = mine.buffer[2 * kBuffer - 1] = 0;
    mine.buffered--;
    add(next);
  }
}

/* True: the head was as expected, and is `pack` now. False: `old` is the head as seen. */
bool Search::swap(State &s, Thread &t, uint8_t stack, uint8_t pack) const {
  Head &head = s.head[stack];
  const bool same = head.pack == t.old.pack && (head.tag == t.old.tag || mutation_ == Mutation::no_tag);
  if (same) head = {pack, static_cast<uint8_t>(head.tag + 1)};
  else t.old = head;
  return same;
}

void Search::begin(State s, unsigned n) {
  Thread &t = s.thread[n];
  if (t.left == 0) return;
  t.left--;
  t.pc = kPopHead;
  t.puts = 0;
  add(s);
  t.puts = 1;
  if (t.held != 0) add(s);
}

void Search::use(State s, unsigned n) {
  Thread &t = s.thread[n];
  uint8_t block = 0;
  if (t.puts != 0) {
    for (block = 1; (t.held & bit_of(block)) == 0;) block++;
    t.held = static_cast<uint8_t>(t.held & ~bit_of(block));
  } else {
    const uint8_t found = load(s, t, block_cell(t.pack));
    bad += found == 0;
    t.held = static_cast<uint8_t>(t.held | bit_of(found));
  }
  store(t, block_cell(t.pack), block);
  t.pc = kPushHead;
  add(s);
}

void Search::step(State s, unsigned n) {
  Thread &t = s.thread[n];
  const uint8_t from = t.puts != 0 ? kEmpty : kFull, to = t.puts != 0 ? kFull : kEmpty;
  const bool waits = t.buffered != 0 && mutation_ != Mutation::no_release;
  switch (t.pc) {
    case kIdle: return begin(s, n);
    case kPopHead: t.old = s.head[from]; t.pc = t.old.pack == 0 ? kIdle : kPopNext; break;
    case kPopNext: t.pack = t.old.pack; t.next = load(s, t, next_cell(t.pack)); t.pc = kPopSwap; break;
    case kPopSwap:
      if (waits) return;
      t.pc = swap(s, t, from, t.next) ? kUse : t.old.pack == 0 ? kIdle : kPopNext;
      break;
    case kUse: return use(s, n);
    case kPushHead: t.old = s.head[to]; t.pc = kPushNext; break;
    case kPushNext:
      if (t.buffered == kBuffer) return;
      store(t, next_cell(t.pack), t.old.pack);
      t.pc = kPushSwap;
      break;
    default:
      if (waits) return;
      t.pc = swap(s, t, to, t.pack) ? kIdle : kPushNext;
  }
  if (t.pc == kIdle) t.pack = t.next = 0, t.old = {0, 0};
  add(s);
}

/* No block is held twice; at the end each is held, or lies in one full pack. */
void Search::judge(const State &s) {
  uint8_t all = 0;
  bool over = true;
  for (const Thread &t : s.thread) {
    bad += (all & t.held) != 0;
    all |= t.held;
    over = over && t.pc == kIdle && t.left == 0 && t.buffered == 0;
  }
  if (!over) return;
  unsigned packs = 0;
  for (uint8_t pack = s.head[kFull].pack; pack != 0 && packs <= kPacks; pack = s.memory[next_cell(pack)], packs++) {
    const uint8_t block = bit_of(s.memory[block_cell(pack)]);
    bad += (all & block) != 0;
    all |= block;
  }
  for (uint8_t pack = s.head[kEmpty].pack; pack != 0 && packs <= kPacks; pack = s.memory[next_cell(pack)]) packs++;
  bad += packs != kPacks || all != (bit_of(1) | bit_of(2));
}

void Search::run() {
  State first{};
  first.head[kFull] = {1, 0};
  first.memory = {2, 0, 1, 2}; /* pack 1 above pack 2; block n in pack n */
  for (Thread &t : first.thread) t.left = 2;
  add(first);
  while (!open_.empty() && bad == 0) {
    const State s = open_.back();
    open_.pop_back();
    judge(s);
    for (unsigned n = 0; n < kThreads; n++) {
      flush(s, n);
      step(s, n);
    }
  }
}

TEST(DepotModel, NoBlockIsLostOrInTwoPlaces) {
  Search search(Mutation::none);
  search.run();
  EXPECT_EQ(search.bad, 0U);
  std::printf("%zu states\n", search.states());
}

/* Each part of the protocol is needed. */
TEST(DepotModel, MutationsAreFound) {
  for (const Mutation m : {Mutation::no_release, Mutation::no_tag}) {
    Search search(m);
    search.run();
    EXPECT_GT(search.bad, 0U) << static_cast<int>(m);
  }
}

}  // namespace
