/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_test.cpp: a slab that is filled from, freed into by another thread, purged, closed and opened again by another
 * class, in every order of steps and of stores that AArch64 allows.
 *
 * what      One slab of two pages, as in blocks/slab.c and slab_purge.c, and four threads:
 *
 *               taker    lock A; open the slab if no class has it; take a slot; unlock; write the block; pass it on
 *               freer    read the block; lock A; set the slot's bit; close the slab if it is empty, or keep it; unlock
 *               purger   read the class, without a lock; lock that class; compare the class; hide the free slots;
 *                        unlock; purge their pages; lock; show the slots; close the slab if it is empty, or keep it;
 *                        unlock
 *               other    lock B; open the slab if no class has it; unlock; write both pages, read them; lock B; close;
 *                        unlock
 *
 *           A slot of class A is a page; the block of class B is both pages, and B's second bit, of a slot that is never
 *           used, stays set. Stores wait in a buffer and leave it in any order, except two to one cell; dropping a lock
 *           waits until the buffer is empty, as does a change of the slab's class, which happens under the lock of runs.
 * owner     The search.
 * failure   A block that loses a byte, a slot handed out twice or lost, a state without a successor; each mutation must
 *           show a failure.
 * not here  The lock itself (lock_test.cpp), more slabs, slots over two pages.
 */
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

constexpr unsigned kThreads = 4, kBuffer = 3;
constexpr uint8_t kTag = 1, kOtherTag = 2, kAll = 3;
constexpr uint8_t kNone = 0, kA = 1, kB = 2; /* a slab's class */

/* The part of the protocol that is left out, or wrong. */
enum class Mutation : uint8_t { none, no_release, no_hiding, no_comparison, no_lock, hidden_count_as_free, shown_early };
enum Who : uint8_t { kTaker, kFreer, kPurger, kOther };
enum Cell : uint8_t { kBits, kFirst, kSecond, kCells };

struct Thread {
  uint8_t pc, left, class_seen, slot; /* slot: its bit; of the purger: the hidden ones */
  std::array<uint8_t, 2 * kBuffer> buffer; /* cell, value; oldest first */
  uint8_t buffered;
};

struct State {
  std::array<uint8_t, kCells> memory;
  uint8_t owner, passed, held;    /* the slab's class; slots passed from taker to freer; slots handed out */
  std::array<uint8_t, 3> locked;  /* by class: 1 + the holder */
  std::array<Thread, kThreads> thread;
};

uint8_t page_of(uint8_t slot) { return slot == 1 ? kFirst : kSecond; }

class SlabSearch {
 public:
  explicit SlabSearch(Mutation mutation) : mutation_(mutation) {}
  void run();
  size_t states() const { return seen_.size(); }
  size_t bad = 0, purged = 0, reopened = 0;

 private:
  void add(const State &s);
  void go(State s, Who who, uint8_t next) { s.thread[who].pc = next, add(s); }
  void end_round(State s, Who who) { s.thread[who].left--, s.thread[who].class_seen = s.thread[who].slot = 0, go(s, who, 0); }
  void flush(const State &s, unsigned who);
  bool lock(State &s, Who who, uint8_t owner);
  bool unlock(State &s, Who who, uint8_t owner);
  void close_or_keep(State s, Who who, uint8_t next);
  void taker(State s);
  void take(const State &s);
  void freer(State s);
  void purger(State s);
  void purge(State s);
  void other(State s);
  static uint8_t load(const State &s, Who who, uint8_t cell);
  static bool store(State &s, Who who, uint8_t cell, uint8_t value);

  Mutation mutation_;
  size_t added_ = 0;
  std::unordered_set<std::string> seen_;
  std::vector<State> open_;
};

void SlabSearch::add(const State &s) {
  added_++;
  if (seen_.insert({reinterpret_cast<const char *>(&s), sizeof s}).second) open_.push_back(s);
}

uint8_t SlabSearch::load(const State &s, Who who, uint8_t cell) {
  const Thread &t = s.thread[who];
  for (unsigned i = t.buffered; i-- > 0;)
    if (t.buffer[2 * i] == cell) return t.buffer[2 * i + 1];
  return s.memory[cell];
}

/* False: the buffer is full. */
bool SlabSearch::store(State &s, Who who, uint8_t cell, uint8_t value) {
  Thread &t = s.thread[who];
  if (t.buffered == kBuffer) return false;
  t.buffer[2U * t.buffered] = cell;
  t.buffer[2U * t.buffered + 1] = value;
  t.buffered++;
  return true;
}

/* Any store that is the oldest to its cell may be seen next. */
void SlabSearch::flush(const State &s, unsigned who) {
  const Thread &t = s.thread[who];
  for (unsigned i = 0; i < t.buffered; i++) {
    bool oldest = true;
    for (unsigned k = 0; k < i; k++) oldest = oldest && t.buffer[2 * k] != t.buffer[2 * i];
    if (!oldest) continue;
    State next = s;
    Thread &after = next.thread[who];
    next.memory[t.buffer[2 * i]] = t.buffer[2 * i + 1];
    for (unsigned k = 2 * i; k < 2 * kBuffer; k++) after.buffer[k] = k + 2 < 2 * kBuffer ? t.buffer[k + 2] : uint8_t{0};
    after.buffered--;
    add(next);
  }
}

bool SlabSearch::lock(State &s, Who who, uint8_t owner) {
  if (mutation_ == Mutation::no_lock && who == kPurger) return true;
  if (s.locked[owner] != 0) return false;
  s.locked[owner] = static_cast<uint8_t>(who + 1);
  return true;
}

bool SlabSearch::unlock(State &s, Who who, uint8_t owner) {
  if (s.thread[who].buffered != 0 && mutation_ != Mutation::no_release) return false;
  if (s.locked[owner] == who + 1) s.locked[owner] = 0;
  return true;
}

/* An empty slab may be one of those that a class keeps. A hidden slot is no free one. */
void SlabSearch::close_or_keep(State s, Who who, uint8_t next) {
  const uint8_t hidden = mutation_ == Mutation::hidden_count_as_free ? s.thread[kPurger].slot : uint8_t{0};
  if ((load(s, who, kBits) | hidden) == kAll && s.thread[who].buffered == 0) {
    State closed = s;
    closed.owner = kNone;
    closed.memory[kBits] = 0;
    go(closed, who, next);
  }
  go(s, who, next);
}

/* ---- the threads ---- */

void SlabSearch::take(const State &s) {
  for (const uint8_t slot : {uint8_t{1}, uint8_t{2}}) {
    State next = s;
    const uint8_t bits = load(s, kTaker, kBits);
    if ((bits & slot) == 0) continue;
    bad += (s.held & slot) != 0;
    next.held |= slot;
    next.thread[kTaker].slot = slot;
    if (store(next, kTaker, kBits, static_cast<uint8_t>(bits & ~slot))) go(next, kTaker, 3);
  }
}

void SlabSearch::taker(State s) {
  Thread &t = s.thread[kTaker];
  switch (t.pc) {
    case 0:
      if (t.left != 0 && lock(s, kTaker, kA)) go(s, kTaker, 1);
      return;
    case 1:
      if (s.owner == kNone) {
        if (t.buffered != 0) return;
        s.owner = kA;
        s.memory[kBits] = kAll;
      }
      return go(s, kTaker, s.owner == kA && load(s, kTaker, kBits) != 0 ? 2 : 6);
    case 2: return take(s);
    case 3:
      if (unlock(s, kTaker, kA)) go(s, kTaker, 4);
      return;
    case 4:
      if (store(s, kTaker, page_of(t.slot), kTag)) go(s, kTaker, 5);
      return;
    case 5:
      if (t.buffered != 0) return; /* the program's own release */
      s.passed |= t.slot;
      return end_round(s, kTaker);
    default:
      if (unlock(s, kTaker, kA)) end_round(s, kTaker);
  }
}

void SlabSearch::freer(State s) {
  Thread &t = s.thread[kFreer];
  switch (t.pc) {
    case 0:
      if (s.passed == 0) return;
      t.slot = static_cast<uint8_t>(s.passed & -s.passed);
      s.passed = static_cast<uint8_t>(s.passed & ~t.slot);
      bad += load(s, kFreer, page_of(t.slot)) != kTag;
      return go(s, kFreer, 1);
    case 1:
      if (lock(s, kFreer, kA)) go(s, kFreer, 2);
      return;
    case 2:
      s.held = static_cast<uint8_t>(s.held & ~t.slot);
      if (store(s, kFreer, kBits, load(s, kFreer, kBits) | t.slot)) go(s, kFreer, 3);
      return;
    case 3: return close_or_keep(s, kFreer, 4);
    default:
      if (!unlock(s, kFreer, kA)) return;
      t.slot = 0;
      go(s, kFreer, 0);
  }
}

/* The kernel takes the pages; its call orders all around it. */
void SlabSearch::purge(State s) {
  if (s.thread[kPurger].buffered != 0) return;
  for (const uint8_t slot : {uint8_t{1}, uint8_t{2}})
    if ((s.thread[kPurger].slot & slot) != 0) s.memory[page_of(slot)] = 0;
  purged += s.thread[kPurger].slot != 0;
  go(s, kPurger, mutation_ == Mutation::shown_early ? 10 : 5);
}

void SlabSearch::purger(State s) {
  Thread &t = s.thread[kPurger];
  const uint8_t bits = load(s, kPurger, kBits);
  switch (t.pc) {
    case 0:
      if (t.left == 0) return;
      t.class_seen = s.owner;
      return t.class_seen == kNone ? end_round(s, kPurger) : go(s, kPurger, 1);
    case 1:
      if (lock(s, kPurger, t.class_seen)) go(s, kPurger, 2);
      return;
    case 2:
      if (s.owner != t.class_seen && mutation_ != Mutation::no_comparison) return go(s, kPurger, 9);
      t.slot = t.class_seen == kA ? bits : uint8_t{0};
      if (t.slot == 0) return go(s, kPurger, 9);
      if (mutation_ == Mutation::no_hiding) return go(s, kPurger, 3);
      if (store(s, kPurger, kBits, static_cast<uint8_t>(bits & ~t.slot))) go(s, kPurger, 3);
      return;
    case 3:
      if (unlock(s, kPurger, t.class_seen)) go(s, kPurger, mutation_ == Mutation::shown_early ? 5 : 4);
      return;
    case 4: return purge(s);
    case 5:
      if (lock(s, kPurger, t.class_seen)) go(s, kPurger, 6);
      return;
    case 6:
      if (store(s, kPurger, kBits, bits | t.slot)) go(s, kPurger, 7);
      return;
    case 7: return close_or_keep(s, kPurger, 8);
    case 8:
      if (unlock(s, kPurger, t.class_seen)) go(s, kPurger, mutation_ == Mutation::shown_early ? 4 : 10);
      return;
    case 9:
      if (unlock(s, kPurger, t.class_seen)) go(s, kPurger, 10);
      return;
    default: return end_round(s, kPurger);
  }
}

void SlabSearch::other(State s) {
  Thread &t = s.thread[kOther];
  switch (t.pc) {
    case 0:
      if (t.left != 0 && lock(s, kOther, kB)) go(s, kOther, 1);
      return;
    case 1:
      if (s.owner != kNone || t.buffered != 0) return go(s, kOther, 8);
      s.owner = kB;
      s.memory[kBits] = 2;
      reopened++;
      return go(s, kOther, 2);
    case 2:
      if (unlock(s, kOther, kB)) go(s, kOther, 3);
      return;
    case 3:
    case 4:
      if (store(s, kOther, t.pc == 3 ? kFirst : kSecond, kOtherTag)) go(s, kOther, static_cast<uint8_t>(t.pc + 1));
      return;
    case 5:
      bad += load(s, kOther, kFirst) != kOtherTag || load(s, kOther, kSecond) != kOtherTag;
      return go(s, kOther, 6);
    case 6:
      if (lock(s, kOther, kB)) go(s, kOther, 7);
      return;
    case 7:
      if (t.buffered != 0) return;
      s.owner = kNone;
      s.memory[kBits] = 0;
      return go(s, kOther, 8);
    default:
      if (unlock(s, kOther, kB)) end_round(s, kOther);
  }
}

/* ---- the search ---- */

void SlabSearch::run() {
  State first{};
  first.thread[kTaker].left = 3;
  first.thread[kPurger].left = 2;
  first.thread[kOther].left = 1;
  add(first);
  while (!open_.empty() && bad == 0) {
    const State s = open_.back();
    open_.pop_back();
    const size_t before = added_;
    for (unsigned who = 0; who < kThreads; who++) flush(s, who);
    taker(s);
    freer(s);
    purger(s);
    other(s);
    if (added_ != before) continue;
    bool over = s.held == 0 && (s.owner == kNone || (s.owner == kA && s.memory[kBits] == kAll));
    for (const Thread &t : s.thread) over = over && t.pc == 0 && t.left == 0;
    bad += !over;
  }
}

TEST(SlabModel, NoByteIsLostAndNoSlotHasTwoOwners) {
  SlabSearch search(Mutation::none);
  search.run();
  EXPECT_EQ(search.bad, 0U);
  EXPECT_GT(search.purged, 0U);
  EXPECT_GT(search.reopened, 0U);
  std::printf("%zu states\n", search.states());
}

/* Each part of the protocol is needed. */
TEST(SlabModel, MutationsAreFound) {
  for (const Mutation m : {Mutation::no_release, Mutation::no_hiding, Mutation::no_comparison, Mutation::no_lock,
                           Mutation::hidden_count_as_free, Mutation::shown_early}) {
    SlabSearch search(m);
    search.run();
    EXPECT_GT(search.bad, 0U) << static_cast<int>(m);
  }
}

}  // namespace
