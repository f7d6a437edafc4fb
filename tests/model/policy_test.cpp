/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* policy_test.cpp: a policy that several processes write, each of which a kill may end, in every order of steps.
 *
 * what      Three processes with a row each, as in learn/policy_write.c:
 *
 *               lock the folder; read the file and join its rows; write a draft, in two steps; rename it to the file's
 *               name; unlock
 *
 *           Each step is a call of the kernel, so the processes see each other's steps in one order. A kill drops the
 *           lock and leaves the draft. A fourth process reads the file at any time.
 * owner     The search.
 * failure   A file that is not whole, or a row that was in the file and is not any more; each mutation must show one.
 * not here  Threads of one process (a lock of os/lock.h), the file's text (tests/unit), other users' files.
 */
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <unordered_set>
#include <vector>

namespace {

constexpr unsigned kProcesses = 3;
constexpr uint8_t kTorn = 0x80; /* of the file: its end is not written yet */

/* The part of the protocol that is left out, or wrong. */
enum class Mutation : uint8_t { none, no_lock, no_join, no_draft, unlock_before_rename };
enum Pc : uint8_t { kLock, kJoin, kHalf, kWhole, kRename, kUnlock, kDone, kDead };

struct Process {
  uint8_t pc, rows;
};

struct State {
  uint8_t file, locked, written; /* rows, by bits; 1 + the holder of the lock; rows that a rename put into the file */
  std::array<Process, kProcesses> process;
};

class PolicySearch {
 public:
  explicit PolicySearch(Mutation mutation) : mutation_(mutation) {}
  void run();
  size_t states() const { return seen_.size(); }
  size_t bad = 0;

 private:
  void add(const State &s);
  void step(State s, unsigned n);
  void kill(State s, unsigned n);
  void write(State &s, Process &p, unsigned n) const;

  Mutation mutation_;
  std::unordered_set<std::string> seen_;
  std::vector<State> open_;
};

void PolicySearch::add(const State &s) {
  if (seen_.insert({reinterpret_cast<const char *>(&s), sizeof s}).second) open_.push_back(s);
}

/* Without a draft the file itself is cut, and written from the begin. */
void PolicySearch::write(State &s, Process &p, unsigned n) const {
  if (p.pc == kHalf && mutation_ == Mutation::no_draft) s.file = kTorn;
  if (p.pc == kWhole && mutation_ == Mutation::no_draft) s.file = p.rows;
  if (p.pc == kRename) s.file = p.rows;
  if (p.pc == kRename) s.written |= static_cast<uint8_t>(1U << n);
}

void PolicySearch::step(State s, unsigned n) {
  Process &p = s.process[n];
  const bool locks = mutation_ != Mutation::no_lock;
  if (p.pc >= kDone || (p.pc == kLock && locks && s.locked != 0)) return;
  if (p.pc == kLock && locks) s.locked = static_cast<uint8_t>(n + 1);
  if (p.pc == kJoin && mutation_ != Mutation::no_join) p.rows |= static_cast<uint8_t>(s.file & ~kTorn);
  if (p.pc == kWhole && mutation_ == Mutation::unlock_before_rename) s.locked = 0;
  if (p.pc == kUnlock && s.locked == n + 1) s.locked = 0;
  write(s, p, n);
  p.pc++;
  add(s);
}

void PolicySearch::kill(State s, unsigned n) {
  if (s.process[n].pc >= kDone) return;
  s.process[n] = {kDead, 0};
  if (s.locked == n + 1) s.locked = 0;
  add(s);
}

void PolicySearch::run() {
  State first{};
  for (unsigned n = 0; n < kProcesses; n++) first.process[n].rows = static_cast<uint8_t>(1U << n);
  add(first);
  while (!open_.empty() && bad == 0) {
    const State s = open_.back();
    open_.pop_back();
    bad += (s.file & kTorn) != 0 || (s.written & ~s.file) != 0;
    for (unsigned n = 0; n < kProcesses; n++) {
      step(s, n);
      kill(s, n);
    }
  }
}

TEST(PolicyModel, TheFileIsWholeAndLosesNoRow) {
  PolicySearch search(Mutation::none);
  search.run();
  EXPECT_EQ(search.bad, 0U);
  std::printf("%zu states\n", search.states());
}

/* Each part of the protocol is needed. */
TEST(PolicyModel, MutationsAreFound) {
  for (const Mutation m : {Mutation::no_lock, Mutation::no_join, Mutation::no_draft, Mutation::unlock_before_rename}) {
    PolicySearch search(m);
    search.run();
    EXPECT_GT(search.bad, 0U) << static_cast<int>(m);
  }
}

}  // namespace
