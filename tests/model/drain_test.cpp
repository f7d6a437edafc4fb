/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* drain_test.cpp: a magazine is emptied beside its owner, in every order of steps and of memory that x86-64 and AArch64
 * allow.
 *
 * what      One class of one context, as in entry/fast_path.h, magazine.c and drain_idle.c, searched exhaustively:
 *
 *               owner    pops and pushes by the fast path, and by the slow path when floor or ceiling say so; the
 *                        owner's stores wait in a buffer (x86-TSO) until the owner flushes, a lock or fence flushes, or
 *                        the drainer's barrier
 *               drainer  lock, read kDoors, close, floor and ceiling, barrier, read kDoors again, unlock; lock, read
 *                        top, empty, unlock
 *               setter   counting on: sets floor and ceiling so that every call takes the slow path; off
 *
 *           The owner may end once: its slow path takes the class from a drain, by the lock if the class is closed, and
 *           gives its blocks to the slabs (hak_magazine_end_all). The next thread, which found the context under the
 *           registry's lock, goes on as its owner; a drain under way keeps the context, as contexts are never unmapped.
 *
 *           Stores of drainer and setter are seen at once: neither thread reads between a store and its flush, so a
 *           later step is equivalent. Compilers may exchange the two loads and the two stores of a fast path: all four
 *           variants are searched.
 *
 *           On a weak machine (AArch64) the owner's stores leave the buffer in any order, except that two stores to one
 *           cell keep theirs and that a release leaves after all before it; taking a lock flushes nothing, and a lock is
 *           dropped by a release. The drainer's three marks are seen in any order until its barrier, the setter's until
 *           its next fence. The barrier falls between two instructions of the owner there, too: the owner's stores
 *           before are seen, and its later loads see the marks. That a load is done before an earlier load of the owner
 *           comes to the same as a mark seen later.
 * owner     The search.
 * failure   A block in two places, a block lost at the end, or a state without a successor; each mutation must show a
 *           failure.
 * not here  Signal handlers that allocate, forks (tests/cuts), a class's budget (tests/unit/drain_idle_test.cpp).
 */
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

#include "model.h"

namespace {

constexpr uint8_t kCapacity = 4;
constexpr uint8_t kRaised = 100; /* floor of a closed class; the ceiling is 0, as no top is below 0 */
constexpr unsigned kBuffer = 8;

/* The part of the protocol that is left out, or wrong. */
enum class Mutation : uint8_t { none, no_barrier, no_margin, no_doors, no_lock, counting_opens,
                               end_without_lock, end_unseen };

struct Variant {
  bool weak;
  bool store_first; /* pop: top before the slot is read; push: top before the slot is written */
  bool marks_first; /* low or limit is loaded before top */
  bool counting, ends;
  uint8_t blocks, operations;
  Mutation mutation;
};

constexpr uint8_t kRelease = 0x80; /* of a buffered cell: leaves after all stores before it */

enum Cell : uint8_t { kTop, kLow, kLimit, kShut, kEmptied, kGuard, kDoors, kCount, kCounting, kLock, kSlots,
                      kCells = kSlots + kCapacity };

/* Steps of the owner: the fast paths, the slow path, setting floor and ceiling, opening. */
enum Pc : uint8_t { kIdle, kFast1, kFast2, kFast3, kFast4, kEnter, kLook, kCountMarkLow, kCountMarkLimit, kCountMarkFlag,
                    kCountMarkFence, kLimitLook, kShutLook, kTakeLock, kReopen, kReopenUnlock, kClose, kCloseTop, kCloseLock,
                    kCloseBits, kCloseBits2, kCloseUnlock, kMarkLow, kMarkLimit, kMarkFence, kAct, kActStore, kLeave,
                    kEndBlocks, kEndTop, kRetire };

constexpr uint8_t kEnds = 2;

struct State {
  std::array<uint8_t, kCells> memory;
  std::array<uint8_t, 2 * kBuffer> buffer; /* cell, value; oldest first */
  uint8_t buffered;
  uint8_t pc, pushes, top, mark, block, door, again, left; /* the owner's registers; pushes: kEnds at its end */
  uint8_t held, slab;                        /* blocks, by bits */
  uint8_t drainer, seen_doors, gone, rounds; /* the drainer's step and registers */
  uint8_t ended;                             /* owners */
  uint8_t marked;                            /* bits: the drainer's marks that are seen, on a weak machine */
  uint8_t setter, raised;                    /* bits: the setter's */
};

class Search {
 public:
  explicit Search(const Variant &variant) : variant_(variant) {}
  void run();
  size_t states() const { return seen_.size(); }
  size_t bad = 0, emptied = 0;

 private:
  static std::string key(const State &s) { return {reinterpret_cast<const char *>(&s), sizeof s}; }
  void add(const State &s);
  void judge(const State &s);
  void flush(const State &s);
  void owner(const State &s);
  void begin(State s);
  void fast(State s);
  void fast_pop(State s);
  void fast_push(State s);
  void door(State s);
  void look(State s);
  void open(State s);
  void close(State s);
  void mark(State s);
  void act(State s);
  void end(State s);
  void drainer(State s);
  void empty(State s);
  void setter(State s);
  void store(State s, uint8_t cell, uint8_t value, uint8_t next);
  void release(State s, uint8_t cell, uint8_t value, uint8_t next) {
    store(s, variant_.weak ? cell | kRelease : cell, value, next);
  }
  bool leaves(const State &s, unsigned i) const;
  void marks(State s);
  void go(State s, uint8_t next) { s.pc = next, add(s); }
  bool raised(const State &s) const {
    return load(s, kCount) != 0 || (load(s, kShut) != 0 && variant_.mutation != Mutation::counting_opens);
  }
  static uint8_t load(const State &s, uint8_t cell);
  static void flush_all(State &s);

  Variant variant_;
  size_t next_count_ = 0;
  std::unordered_set<std::string> seen_;
  std::vector<State> open_;
};

constexpr uint8_t bit(uint8_t block) { return static_cast<uint8_t>(1U << block); }
uint8_t plus(unsigned a, int b) { return static_cast<uint8_t>(static_cast<int>(a) + b); }

void Search::add(const State &s) {
  next_count_++;
  if (seen_.insert(key(s)).second) open_.push_back(s);
}

/* The owner sees the owner's buffered stores first. */
uint8_t Search::load(const State &s, uint8_t cell) {
  for (unsigned i = s.buffered; i-- > 0;)
    if ((s.buffer[2 * i] & ~kRelease) == cell) return s.buffer[2 * i + 1];
  return s.memory[cell];
}

void Search::store(State s, uint8_t cell, uint8_t value, uint8_t next) {
  if (s.buffered == kBuffer) return;
  s.buffer[2U * s.buffered] = cell;
  s.buffer[2U * s.buffered + 1] = value;
  s.buffered++;
  go(s, next);
}

void Search::flush_all(State &s) {
  for (unsigned i = 0; i < s.buffered; i++) s.memory[s.buffer[2 * i] & ~kRelease] = s.buffer[2 * i + 1];
  s.buffer.fill(0);
  s.buffered = 0;
}

/* True if the ith store of the buffer may be seen next. */
bool Search::leaves(const State &s, unsigned i) const {
  if (i == 0) return true;
  if (!variant_.weak || (s.buffer[2 * i] & kRelease) != 0) return false;
  for (unsigned k = 0; k < i; k++)
    if ((s.buffer[2 * k] & ~kRelease) == s.buffer[2 * i]) return false;
  return true;
}

void Search::flush(const State &s) {
  for (unsigned i = 0; i < s.buffered; i++) {
    if (!leaves(s, i)) continue;
    State next = s;
    next.memory[s.buffer[2 * i] & ~kRelease] = s.buffer[2 * i + 1];
    std::memmove(next.buffer.data() + 2 * i, next.buffer.data() + 2 * i + 2, 2 * kBuffer - 2 - 2 * i);
    next.buffer[2 * kBuffer - 2] = next.buffer[2 * kBuffer - 1] = 0;
    next.buffered--;
    add(next);
  }
}

/* ---- the owner ---- */

void Search::begin(State s) {
  if (s.left == 0) return;
  s.left--;
  if (variant_.ends && s.ended == 0) {
    State next = s;
    next.ended = 1;
    next.pushes = kEnds;
    next.door = load(s, kDoors);
    go(next, variant_.mutation == Mutation::end_unseen ? kShutLook : kEnter);
  }
  s.pc = kFast1;
  s.pushes = 0;
  add(s);
  s.pushes = 1;
  for (uint8_t block = 0; block < 8; block++) {
    if ((s.held & bit(block)) == 0) continue;
    State next = s;
    next.held = static_cast<uint8_t>(s.held & ~bit(block));
    next.block = block;
    add(next);
  }
}

void Search::fast(State s) {
  const bool first = s.pc == kFast1;
  if (first == variant_.marks_first) s.mark = load(s, s.pushes != 0 ? kLimit : kLow);
  else s.top = load(s, kTop);
  if (first) return go(s, kFast2);
  const bool passes = s.pushes != 0 ? s.top < s.mark : s.top > s.mark;
  go(s, passes ? kFast3 : kEnter);
}

void Search::fast_pop(State s) {
  if ((s.pc == kFast3) == variant_.store_first) {
    if (s.pc == kFast4) s.held |= bit(s.block);
    return store(s, kTop, plus(s.top, -1), s.pc == kFast3 ? kFast4 : kIdle);
  }
  s.block = load(s, plus(kSlots + s.top, -1));
  if (s.pc == kFast4) s.held |= bit(s.block);
  go(s, s.pc == kFast3 ? kFast4 : kIdle);
}

void Search::fast_push(State s) {
  const uint8_t next = s.pc == kFast3 ? kFast4 : kIdle;
  if ((s.pc == kFast3) == variant_.store_first) store(s, kTop, plus(s.top, 1), next);
  else store(s, plus(kSlots, s.top), s.block, next);
}

void Search::look(State s) {
  switch (s.pc) {
    case kEnter: s.door = (load(s, kDoors) + 1) | 1; return store(s, kDoors, s.door, kLook);
    case kLook: return go(s, load(s, kCounting) != load(s, kCount) ? kCountMarkLow : kLimitLook);
    case kCountMarkLow:
      s.again = load(s, kCount);
      return store(s, kLow, raised(s) ? kRaised : 0, kCountMarkLimit);
    case kCountMarkLimit: return store(s, kLimit, raised(s) ? 0 : kCapacity, kCountMarkFlag);
    case kCountMarkFlag: return store(s, kCounting, s.again, kCountMarkFence);
    case kCountMarkFence:
      flush_all(s);
      return go(s, load(s, kCount) != s.again ? kCountMarkLow : kLimitLook);
    case kLimitLook: return go(s, load(s, kLimit) == 0 || s.pushes == kEnds ? kShutLook : kAct);
    default: break;
  }
  const bool shut = load(s, kShut) != 0 && (s.pushes != kEnds || variant_.mutation != Mutation::end_without_lock);
  go(s, shut ? kTakeLock : s.pushes == kEnds ? kEndBlocks : kAct);
}

/* All blocks to the slabs; then the context is another thread's, which sees the stores before the registry's lock was
 * dropped. */
void Search::end(State s) {
  if (s.pc == kEndTop) return store(s, kTop, 0, kMarkLow);
  if (s.pc == kRetire) {
    if (s.buffered != 0) return;
    s.pushes = s.top = s.mark = s.block = s.door = s.again = 0;
    return go(s, kIdle);
  }
  for (uint8_t i = 0; i < load(s, kTop); i++) {
    const uint8_t block = load(s, plus(kSlots, i));
    bad += (s.slab & bit(block)) != 0;
    s.slab |= bit(block);
  }
  go(s, kEndTop);
}

void Search::open(State s) {
  const bool locks = variant_.mutation != Mutation::no_lock;
  if (s.pc == kTakeLock || s.pc == kCloseLock) {
    if (!variant_.weak) flush_all(s);
    if (locks && s.memory[kLock] != 0) return;
    s.memory[kLock] = locks;
    return go(s, s.pc == kTakeLock ? kReopen : kCloseBits);
  }
  if (s.pc == kReopen) {
    s.again = load(s, kEmptied);
    return s.again != 0 ? go(s, kReopenUnlock) : release(s, kShut, 0, kReopenUnlock);
  }
  Pc next = kMarkLow;
  if (s.pc == kReopenUnlock) next = s.again != 0 ? kClose : s.pushes == kEnds ? kEndBlocks : kMarkLow;
  if (variant_.weak && locks) return release(s, kLock, 0, next);
  flush_all(s);
  if (locks) s.memory[kLock] = 0;
  go(s, next);
}

/* The remaining blocks go to the slabs; the class starts anew, with the same array. */
void Search::close(State s) {
  if (s.pc == kCloseTop) return store(s, kTop, 0, kCloseLock);
  if (s.pc == kCloseBits) return release(s, kEmptied, 0, kCloseBits2);
  if (s.pc == kCloseBits2) return release(s, kShut, 0, kCloseUnlock);
  for (uint8_t i = load(s, kGuard); i < load(s, kTop); i++) {
    const uint8_t block = load(s, plus(kSlots, i));
    bad += (s.slab & bit(block)) != 0;
    s.slab |= bit(block);
  }
  go(s, kCloseTop);
}

void Search::mark(State s) {
  if (s.pc == kMarkLow) return store(s, kLow, raised(s) ? kRaised : 0, kMarkLimit);
  if (s.pc == kMarkLimit) return store(s, kLimit, raised(s) ? 0 : kCapacity, kMarkFence);
  flush_all(s);
  const bool overwrote = load(s, kCount) != 0 && (load(s, kLow) != kRaised || load(s, kLimit) != 0);
  go(s, overwrote ? kMarkLow : kAct);
}

void Search::act(State s) {
  if (s.pc == kLeave) return release(s, kDoors, plus(s.door, 1), s.pushes == kEnds ? kRetire : kIdle);
  if (s.pushes == kEnds) return go(s, kLeave);
  if (s.pc == kActStore && s.pushes != 0) return release(s, kTop, plus(s.top, 1), kLeave);
  if (s.pc == kActStore) return store(s, kTop, plus(s.top, -1), kLeave);
  s.top = load(s, kTop);
  if (s.pushes != 0) {
    if (s.top < kCapacity) return store(s, plus(kSlots, s.top), s.block, kActStore);
    s.slab |= bit(s.block);
    return go(s, kLeave);
  }
  if (s.top > 0) {
    s.held |= bit(load(s, plus(kSlots + s.top, -1)));
    return go(s, kActStore);
  }
  const auto lowest = static_cast<uint8_t>(s.slab & -s.slab);
  s.slab = static_cast<uint8_t>(s.slab & ~lowest);
  s.held |= lowest;
  go(s, kLeave);
}

void Search::door(State s) {
  if (s.pc <= kShutLook) look(s);
  else if (s.pc >= kEndBlocks) end(s);
  else if (s.pc >= kAct) act(s);
  else if (s.pc >= kMarkLow) mark(s);
  else if (s.pc == kTakeLock || s.pc == kReopen || s.pc == kReopenUnlock || s.pc == kCloseLock || s.pc == kCloseUnlock) open(s);
  else close(s);
}

void Search::owner(const State &s) {
  if (s.pc == kIdle) begin(s);
  else if (s.pc <= kFast2) fast(s);
  else if (s.pc <= kFast4) s.pushes != 0 ? fast_push(s) : fast_pop(s);
  else door(s);
}

/* ---- the drainer ---- */

void Search::empty(State s) {
  const uint8_t top = s.memory[kTop];
  const int margin = variant_.mutation == Mutation::no_margin ? 0 : 1;
  switch (s.drainer) {
    case 10: s.gone = top > margin ? plus(top, -margin) : 0; break;
    case 11: s.memory[kGuard] = s.gone; break;
    case 12: s.memory[kEmptied] = 1; break;
    default:
      emptied += s.gone != 0;
      for (uint8_t i = 0; i < s.gone; i++) {
        const uint8_t block = s.memory[plus(kSlots, i)];
        bad += (s.slab & bit(block)) != 0;
        s.slab |= bit(block);
      }
  }
  s.drainer++;
  add(s);
}

/* On a weak machine: the drainer's marks, in any order. */
void Search::marks(State s) {
  constexpr std::array<uint8_t, 3> cells = {kShut, kLow, kLimit}, values = {1, kRaised, 0};
  for (unsigned i = 0; i < 3; i++) {
    if ((s.marked & 1U << i) != 0) continue;
    State next = s;
    next.memory[cells[i]] = values[i];
    next.marked = static_cast<uint8_t>(s.marked | 1U << i);
    if (next.marked == 7) next.marked = 0, next.drainer = 5;
    add(next);
  }
}

void Search::drainer(State s) {
  const Mutation m = variant_.mutation;
  const uint8_t step = s.drainer;
  if (step >= 10 && step <= 13) return empty(s);
  if (variant_.weak && step == 2 && s.seen_doors % 2 == 0) return marks(s);
  switch (step) {
    case 0:
    case 8:
      if (s.memory[kLock] != 0) return;
      s.memory[kLock] = 1;
      break;
    case 1: s.seen_doors = s.memory[kDoors]; break;
    case 2: s.memory[kShut] |= s.seen_doors % 2 == 0; break;
    case 3: s.memory[kLow] = s.seen_doors % 2 == 0 ? kRaised : s.memory[kLow]; break;
    case 4: s.memory[kLimit] = s.seen_doors % 2 == 0 ? 0 : s.memory[kLimit]; break;
    case 5:
      if (m != Mutation::no_barrier) flush_all(s);
      break;
    case 6: s.gone = s.seen_doors % 2 == 0 && (m == Mutation::no_doors || s.seen_doors == s.memory[kDoors]); break;
    case 7:
      s.memory[kLock] = 0;
      if (s.gone == 0) s.drainer = 14;
      break;
    case 9:
      if (s.memory[kShut] == 0 || s.memory[kEmptied] != 0) s.drainer = 13;
      break;
    case 14: s.memory[kLock] = 0; break;
    case 15:
      if (s.rounds == 0) return;
      s.rounds--;
      s.drainer = static_cast<uint8_t>(-1);
      s.gone = s.seen_doors = 0;
      break;
    default: return;
  }
  s.drainer++;
  add(s);
}

/* ---- counting ---- */

void Search::setter(State s) {
  if (!variant_.counting) return;
  if (variant_.weak && s.setter == 1) {
    constexpr std::array<uint8_t, 3> cells = {kLow, kLimit, kCounting}, values = {kRaised, 0, 1};
    for (unsigned i = 0; i < 3; i++) {
      if ((s.raised & 1U << i) != 0) continue;
      State next = s;
      next.memory[cells[i]] = values[i];
      next.raised = static_cast<uint8_t>(s.raised | 1U << i);
      if (next.raised == 7) next.setter = 4;
      add(next);
    }
    return;
  }
  switch (s.setter) {
    case 0: s.memory[kCount] = 1; break;
    case 1: s.memory[kLow] = kRaised; break;
    case 2: s.memory[kLimit] = 0; break;
    case 3: s.memory[kCounting] = 1; break;
    case 4: s.memory[kCount] = 0; break;
    default: return;
  }
  s.setter++;
  add(s);
}

/* ---- the search ---- */

/* No step is under way: every block is in exactly one place. */
void Search::judge(const State &s) {
  bad += (s.held & s.slab) != 0;
  if (s.pc != kIdle || s.left != 0 || s.buffered != 0 || s.drainer != 15 || s.rounds != 0) return;
  uint8_t all = s.held | s.slab;
  for (uint8_t i = s.memory[kEmptied] != 0 ? s.memory[kGuard] : 0; i < s.memory[kTop]; i++) {
    const uint8_t block = s.memory[plus(kSlots, i)];
    bad += (all & bit(block)) != 0;
    all |= bit(block);
  }
  bad += all != bit(variant_.blocks) - 1;
}

void Search::run() {
  State first{};
  for (uint8_t i = 0; i < variant_.blocks; i++) first.memory[plus(kSlots, i)] = i;
  first.memory[kTop] = variant_.blocks;
  first.memory[kLimit] = kCapacity;
  first.left = variant_.operations;
  first.rounds = 1;
  add(first);
  while (!open_.empty() && bad == 0) {
    const State s = open_.back();
    open_.pop_back();
    judge(s);
    const size_t before = next_count_;
    flush(s);
    owner(s);
    drainer(s);
    setter(s);
    const bool over = s.pc == kIdle && s.left == 0 && s.drainer == 15 && s.rounds == 0;
    bad += next_count_ == before && !over;
  }
}

/* ---- expectations ---- */

Search searched(Variant variant, Mutation mutation) {
  variant.mutation = mutation;
  Search search(variant);
  search.run();
  return search;
}

std::vector<Variant> variants() {
  const auto most = static_cast<uint8_t>(model::scaled(1) > 1 ? 4 : 3);
  std::vector<Variant> all;
  for (const unsigned kind : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U}) {
    const bool weak = (kind & 1) != 0, store_first = (kind & 2) != 0, marks_first = (kind & 4) != 0;
    for (const uint8_t blocks : {2, 3, 4}) {
      all.push_back({weak, store_first, marks_first, false, false, blocks, most, Mutation::none});
      const bool ends = store_first == marks_first || most > 3;
      if (ends) all.push_back({weak, store_first, marks_first, false, true, blocks, plus(most, weak ? -1 : 0), Mutation::none});
      const int fewer = weak && most == 3 ? -2 : -1; /* `make stress` searches as far there, too */
      all.push_back({weak, store_first, marks_first, true, false, blocks, plus(most, fewer), Mutation::none});
    }
  }
  return all;
}

TEST(DrainModel, NoBlockIsLostOrInTwoPlaces) {
  size_t states = 0;
  for (const Variant &variant : variants()) {
    const Search search = searched(variant, Mutation::none);
    EXPECT_EQ(search.bad, 0U) << variant.weak << variant.store_first << variant.marks_first << variant.counting
                              << variant.ends << +variant.blocks;
    EXPECT_GT(search.emptied, 0U);
    states += search.states();
  }
  std::printf("%zu states\n", states);
}

/* Each part of the protocol is needed. */
TEST(DrainModel, MutationsAreFound) {
  for (const Mutation m : {Mutation::no_barrier, Mutation::no_margin, Mutation::no_doors, Mutation::no_lock,
                           Mutation::counting_opens, Mutation::end_without_lock, Mutation::end_unseen}) {
    size_t found = 0;
    for (const Variant &variant : variants()) found += searched(variant, m).bad != 0;
    EXPECT_GT(found, 0U) << static_cast<int>(m);
    std::printf("mutation %d: found in %zu of %zu variants\n", static_cast<int>(m), found, variants().size());
  }
}

}  // namespace
