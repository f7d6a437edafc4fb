/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* page_test.cpp: the statistics page's sequence, in every order of steps and of stores that AArch64 allows.
 *
 * what      Two words of a page, which a writer changes together again and again, and a reader in another process:
 *
 *               writer   sequence odd; fence; words, relaxed; sequence even, with release (observe/stats_page.c)
 *               reader   sequence, words, sequence; each read is a call of the kernel, so a full barrier
 *                        (cli/hakmem/reading/stats_page.py)
 *
 *           The writer's stores wait in a buffer and leave it in any order, except two to one cell, a store behind a
 *           fence, and a release, which leaves after all before it. A kill ends the writer at some step: its buffer
 *           still empties, and a reader of that state is among those searched.
 * owner     The search.
 * failure   A page that a reader takes for whole has words of two writes; each mutation must show one.
 * not here  The claim, by which one thread writes: a lock.
 */
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

constexpr unsigned kBuffer = 6;
constexpr uint8_t kWrites = 3;
constexpr uint8_t kFence = 0x40, kRelease = 0x80; /* of a buffered cell: leaves after all stores before it */

enum class Mutation : uint8_t { none, no_fence, no_release, no_odd, no_second_look };
enum Cell : uint8_t { kSequence, kFirst, kSecond, kCells };

struct State {
  std::array<uint8_t, kCells> memory;
  std::array<uint8_t, 2 * kBuffer> buffer; /* cell, value; oldest first */
  uint8_t buffered;
  uint8_t writer, written, fenced; /* the writer's step and registers; fenced: the next store stands behind a fence */
  uint8_t reader, before, first, second;
};

class PageSearch {
 public:
  explicit PageSearch(Mutation mutation) : mutation_(mutation) {}
  void run();
  size_t states() const { return seen_.size(); }
  size_t bad = 0, whole = 0;

 private:
  void add(const State &s);
  void flush(const State &s);
  void writer(State s);
  void reader(State s);
  bool leaves(const State &s, unsigned i) const;
  static void store(State &s, uint8_t cell, uint8_t value);

  Mutation mutation_;
  std::unordered_set<std::string> seen_;
  std::vector<State> open_;
};

void PageSearch::add(const State &s) {
  if (seen_.insert({reinterpret_cast<const char *>(&s), sizeof s}).second) open_.push_back(s);
}

void PageSearch::store(State &s, uint8_t cell, uint8_t value) {
  s.buffer[2U * s.buffered] = static_cast<uint8_t>(cell | s.fenced);
  s.buffer[2U * s.buffered + 1] = value;
  s.buffered++;
}

uint8_t cell_of(uint8_t tagged) { return static_cast<uint8_t>(tagged & ~(kFence | kRelease)); }

/* A fence orders: what stands behind it leaves after all before it. */
bool PageSearch::leaves(const State &s, unsigned i) const {
  for (unsigned k = 0; k < i; k++) {
    if (cell_of(s.buffer[2 * k]) == cell_of(s.buffer[2 * i])) return false;
    if ((s.buffer[2 * i] & kRelease) != 0) return false;
    /* cells tagged by the fence leave after the first store of their write, the odd sequence */
    if ((s.buffer[2 * i] & kFence) != 0 && cell_of(s.buffer[2 * k]) == kSequence) return false;
  }
  return true;
}

void PageSearch::flush(const State &s) {
  for (unsigned i = 0; i < s.buffered; i++) {
    if (!leaves(s, i)) continue;
    State next = s;
    next.memory[cell_of(s.buffer[2 * i])] = s.buffer[2 * i + 1];
    std::memmove(next.buffer.data() + 2 * i, next.buffer.data() + 2 * i + 2, 2 * kBuffer - 2 - 2 * i);
    next.buffer[2 * kBuffer - 2] = next.buffer[2 * kBuffer - 1] = 0;
    next.buffered--;
    add(next);
  }
}

void PageSearch::writer(State s) {
  if (s.written == kWrites || s.buffered == kBuffer) return;
  const auto sequence = static_cast<uint8_t>(2 * s.written), value = static_cast<uint8_t>(s.written + 1);
  switch (s.writer) {
    case 0:
      if (mutation_ != Mutation::no_odd) store(s, kSequence, static_cast<uint8_t>(sequence + 1));
      s.fenced = mutation_ == Mutation::no_fence ? 0 : kFence;
      break;
    case 1: store(s, kFirst, value); break;
    case 2: store(s, kSecond, value); break;
    default:
      s.fenced = 0;
      store(s, kSequence | (mutation_ == Mutation::no_release ? 0 : kRelease), static_cast<uint8_t>(sequence + 2));
      s.written++;
  }
  s.writer = static_cast<uint8_t>((s.writer + 1) % 4);
  add(s);
}

/* Reads again where the page is being written. */
void PageSearch::reader(State s) {
  switch (s.reader) {
    case 0: s.before = s.memory[kSequence]; s.reader = s.before % 2 == 0 ? 1 : 0; break;
    case 1: s.first = s.memory[kFirst]; s.reader = 2; break;
    case 2: s.second = s.memory[kSecond]; s.reader = 3; break;
    default:
      if (s.memory[kSequence] == s.before || mutation_ == Mutation::no_second_look) {
        whole++;
        bad += s.first != s.second || s.first != s.before / 2;
      }
      s.reader = s.before = s.first = s.second = 0;
  }
  add(s);
}

void PageSearch::run() {
  add(State{});
  while (!open_.empty() && bad == 0) {
    const State s = open_.back();
    open_.pop_back();
    flush(s);
    writer(s);
    reader(s);
  }
}

TEST(PageModel, NoReaderTakesATornPageForWhole) {
  PageSearch search(Mutation::none);
  search.run();
  EXPECT_EQ(search.bad, 0U);
  EXPECT_GT(search.whole, 0U);
  std::printf("%zu states\n", search.states());
}

/* Each part of the protocol is needed. */
TEST(PageModel, MutationsAreFound) {
  for (const Mutation m : {Mutation::no_fence, Mutation::no_release, Mutation::no_odd, Mutation::no_second_look}) {
    PageSearch search(m);
    search.run();
    EXPECT_GT(search.bad, 0U) << static_cast<int>(m);
  }
}

}  // namespace
