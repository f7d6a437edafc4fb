/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* scripts.cpp: the fixed scripts; see scripts.h.
 *
 * what      Small enough to be run some hundred times, large enough to reach every kernel call of the block layer under
 *           test: first tables, growth of range and tables, both trims of an aligned mapping, eviction, mremap both
 *           ways.
 * locks     The scripts with threads let one run at a time. orders: those of join and of the futures.
 * not here  Checks (session.cpp).
 */
#include "scripts.h"

#include <future>
#include <thread>

#include "../idler.h"

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "os/fork.h"
#include "os/self.h"
#include "reclaim/background_thread.h"
#include "reclaim/drain_idle.h"
}

namespace fault {

namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;
constexpr size_t kSlabMax = 32 * kKiB;

/* The smallest request of the next class after n: eight classes to a doubling, at least 16 bytes apart. */
size_t next_class(size_t n) {
  size_t step = 16;
  while (n >= step * 16) step *= 2;
  return n + step;
}

void give_every(Session &session, const Session::Slots &slots, size_t stride) {
  for (size_t i = 0; i < slots.size(); i += stride) session.give(slots[i]);
}

}  // namespace

/* Every class: slab, bitmap, magazine. */
void slabs(Session &session) {
  Session::Slots slots;
  for (size_t n = 16; n <= kSlabMax; n = next_class(n)) slots.push_back(session.take(n));
  session.give_many(slots);
  for (size_t n = 16; n <= kSlabMax; n = next_class(n)) session.take_at(n - 1, &session);
}

/* A few classes until the magazines have full capacity: metadata grows, slabs open and close. */
void magazines(Session &session) {
  for (const size_t n : {16, 32, 64, 112, 320, 1024, 5000, 30000}) {
    const size_t batch = n <= 64 ? 500 : n <= 1024 ? 100 : 16;
    const Session::Slots first = session.take_many(batch, n, 16);
    const Session::Slots second = session.take_many(3 * batch, n, 16);
    session.give_many(first);
    session.give_many(session.take_many(2 * batch, n, 16));
    session.give_many(second);
    session.take(n);
  }
}

/* With a second thread alive, blocks beyond a magazine's capacity go through the depot. */
void depot(Session &session) {
  std::promise<void> ready, finish;
  std::thread bystander([&] {
    session.take(48);
    ready.set_value();
    finish.get_future().wait();
  });
  ready.get_future().wait();
  for (const size_t n : {16, 32, 48, 80}) {
    session.give_many(session.take_many(1500, n, 16));
    session.give_many(session.take_many(800, n, 16));
  }
  session.trim(0);
  session.give_many(session.take_many(800, 48, 16));
  finish.set_value();
  bystander.join();
}

/* Threads start, leave blocks behind, free other threads' blocks, and end. */
void threads(Session &session) {
  Session::Slots inherited;
  for (size_t round = 0; round < 4; round++) {
    std::thread([&] {
      session.give_many(inherited);
      inherited = session.take_many(200, 96, 96);
      for (const size_t n : {size_t{1}, 3 * kKiB, 20 * kKiB, 90 * kKiB, kMiB + round}) session.take(n);
      inherited.push_back(session.take_zeroed(round + 1, 200 * kKiB));
    }).join();
    session.resize(inherited.front(), 500);
  }
  session.give_many(inherited);
}

/* Runs of units: growing and shrinking in place, moving, becoming slab and big blocks. */
void large(Session &session) {
  const Session::Slot a = session.take(40 * kKiB);
  const Session::Slot b = session.take(100 * kKiB);
  const Session::Slot c = session.take(700 * kKiB);
  const Session::Slot d = session.take(1000 * kKiB);
  session.resize(a, 200 * kKiB);
  session.resize(d, 300 * kKiB);
  session.give(b);
  session.resize(c, 900 * kKiB);
  const Session::Slots many = session.take_many(12, 700 * kKiB, 2 * kKiB);
  session.resize(c, 3 * kMiB);
  session.resize(a, 10 * kKiB);
  give_every(session, many, 2);
  session.resize(a, 64 * kKiB);
  session.resize(c, 128 * kKiB);
  session.take(1020 * kKiB);
  session.give(d);
}

/* Single mappings: mremap up and down, the cache's hits, eviction, becoming runs. */
void big(Session &session) {
  const Session::Slot a = session.take(kMiB);
  const Session::Slot b = session.take(3 * kMiB + 1);
  const Session::Slot c = session.take(2 * kMiB);
  session.resize(b, 5 * kMiB);
  session.resize(b, 2 * kMiB);
  session.resize(a, 3 * kMiB / 2);
  session.give(c);
  const Session::Slot d = session.take(2 * kMiB);
  const Session::Slot e = session.take(6 * kMiB);
  session.give(a);
  session.give(e);
  session.take(kMiB + 4 * kKiB);
  session.resize(d, 600 * kKiB);
  session.set("big_cache_bytes", "2M");
  session.give(b);
  session.take(3 * kMiB);
  session.resize(d, 2 * kMiB);
  session.give(d);
  session.set("big_cache_bytes", "32M");
}

/* Almost as many live blocks as the first table has room for, and then more. */
void fill_big_table(Session &session) { session.take_many(185, kMiB, 16); }

void big_table(Session &session) {
  const Session::Slots slots = session.take_many(15, kMiB + 4 * kKiB, 16);
  session.give(slots.front());
  session.resize(slots.back(), 2 * kMiB);
  session.give_many(slots);
}

/* A full big cache, and more. */
void fill_big_cache(Session &session) {
  session.set("lab_big_cache_blocks", "64");
  session.set("big_cache_bytes", "1G");
  session.take_many(70, kMiB, 16);
}

void big_cache(Session &session) {
  session.give_everything();
  session.give_many(session.take_many(66, kMiB, 16));
  session.trim(60 * kMiB);
  session.set("lab_big_cache_blocks", "32");
  session.set("big_cache_bytes", "32M");
  session.give_many(session.take_many(12, 3 * kMiB, 16));
}

/* Blocks of a slab, of runs, and of mappings with cut ends. */
void aligned(Session &session) {
  const Session::Slots slots = {
      session.take_aligned(64, 100),          session.take_posix(4 * kKiB, 200),
      session.take_aligned(kSlabMax, 10),     session.take_posix(2 * kSlabMax, 100),
      session.take_aligned(128 * kKiB, 1),    session.take_posix(512 * kKiB, 100 * kKiB),
      session.take_aligned(kMiB, kMiB),       session.take_posix(2 * kMiB, 3 * kMiB),
      session.take_aligned(4 * kMiB, 100),    session.take_posix(2 * kMiB, 64 * kKiB),
  };
  session.resize(slots[6], 2 * kMiB);
  session.resize(slots[5], 400 * kKiB);
  give_every(session, slots, 2);
  session.take_posix(4 * kMiB, 64);
  session.take_aligned(2 * kMiB, 2 * kMiB);
  give_every(session, slots, 3);
  session.take_aligned(256 * kKiB, 600 * kKiB);
}

/* Memory that was written before is zero again, memory known to be zero is not cleared. */
void zeroed(Session &session) {
  for (int round = 0; round < 3; round++) {
    const Session::Slots slots = {
        session.take_zeroed(3, 5),          session.take_zeroed(1, 2000),     session.take_zeroed(7, 4000),
        session.take_zeroed(1, 50 * kKiB),  session.take_zeroed(5, 100 * kKiB), session.take_zeroed(1, kMiB),
        session.take_zeroed(2, kMiB + 9000)};
    give_every(session, slots, 1);
    if (round == 1) session.trim(0);
  }
  session.take(300 * kKiB);
  session.take_zeroed(1, 300 * kKiB);
}

/* Trim between everything. */
void trimmed(Session &session) {
  session.trim(0);
  const Session::Slots small = session.take_many(300, 700, 700);
  const Session::Slots runs = session.take_many(6, 200 * kKiB, 2 * kKiB);
  const Session::Slots mappings = session.take_many(3, 2 * kMiB, 2 * kKiB);
  session.trim(0);
  give_every(session, runs, 2);
  session.give(mappings[1]);
  session.trim(64 * kKiB);
  session.give_many(small);
  session.trim(0);
  session.take_zeroed(1, 500 * kKiB);
  session.give_many(runs);
  session.give(mappings[0]);
  session.trim(kMiB);
  session.take_zeroed(3, kMiB);
  session.trim(0);
}

/* Every limit at its minimum and back, and counting switched on in between. */
void settings(Session &session) {
  static constexpr const char *kBounds[][3] = {
      {"lab_thread_small_bytes", "0", "256K"}, {"lab_thread_cache_bytes", "0", "1M"}, {"lab_cache_heap_percent", "0", "50"},
      {"process_cache_bytes", "0", "64M"}, {"lab_big_cache_blocks", "0", "32"},   {"count_calls", "on", "off"}};
  for (const int column : {1, 2}) {
    for (const auto &bound : kBounds) {
      session.set(bound[0], bound[column]);
      const Session::Slots small = session.take_many(120, 200, 64);
      const Session::Slots mid = session.take_many(8, 9000, 64);
      const Session::Slot run = session.take(70 * kKiB);
      const Session::Slot mapping = session.take(kMiB);
      session.give_many(small);
      session.resize(mid.front(), 100);
      session.give(run);
      session.give(mapping);
      session.give_many(mid);
    }
  }
}

/* Moves pay, whatever this machine's costs are: a block here has few pages where pages are long. */
void make_pages_dear(Session &) { ASSERT_EQ(hak_set("lab_cost_page", "1000000"), 0); }

/* Each block is longer than all live bytes before, so pages of freed blocks move into the new block: whole mappings,
 * two adjacent mappings that moved before, halves; a block of several mappings is copied; a tail is cut off and
 * regained. */
void moved(Session &session) {
  constexpr size_t kHalf = kMiB / 2;
  const Session::Slots apart = session.take_many(5, kMiB + kHalf, kMiB);
  give_every(session, apart, 2);
  const Session::Slot a = session.take(5 * kMiB);
  session.give(a);
  session.give(apart[1]);
  const Session::Slot b = session.take(9 * kMiB);
  session.resize(b, 12 * kMiB);
  session.give(apart[3]);
  session.resize(b, 4 * kMiB);
  session.resize(b, 6 * kMiB);
  const Session::Slot c = session.take_aligned(4 * kMiB, 15 * kMiB);
  session.give(b);
  session.resize(c, kHalf);
  session.take_zeroed(1, 3 * kMiB);
  session.take(2 * kMiB);
}

/* Draining needs a library that stands in front of libc's names, in a process that owns its memory; the background
 * thread's work is done by hand. */
void allow_draining(Session &) {
  hak_fork_remember_process();
  hak_background_allow();
  hak_background_hold();
}

namespace {

void fill_magazines(Session &session) {
  for (const size_t n : {16, 64, 320, 5000}) session.give_many(session.take_many(120, n, 16));
}

/* As the background thread does at its sweeps. */
void look_for_idle_classes(Session &session) {
  constexpr int kLooks = 5;
  struct hak_fault fault = {HAK_ERROR_none, nullptr};
  hak_self.in_allocator = 1;
  for (int i = 0; i < kLooks; i++) hak_drain_idle(&fault, false);
  hak_self.in_allocator = 0;
  EXPECT_EQ(fault.error, HAK_ERROR_none);
  session.check();
}

}  // namespace

/* Magazines are emptied by a trim and after idling; the owner starts anew, ends, and a new owner starts. */
void drained(Session &session) {
  for (int round = 0; round < 2; round++) {
    Idler idler, other;
    idler.run([&] { fill_magazines(session); });
    other.run([&] { fill_magazines(session); });
    session.trim(0);
    fill_magazines(session);
    idler.run([&] { fill_magazines(session); });
    look_for_idle_classes(session);
    idler.run([&] { session.take(64); });
    session.take(64);
  }
}

}  // namespace fault
