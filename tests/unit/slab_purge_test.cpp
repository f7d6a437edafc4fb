/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_purge_test.cpp: pages inside slabs that hold no live block, rule by rule.
 *
 * what      blocks/slab_purge.c over the fake runs (fake_runs.h) with inaccessible memory; the fake kernel (fake_os.h)
 *           records the purged pages.
 * owner     Each case runs in a separate process.
 * locks     As in slab_purge_calls.h.
 * failure   A purged page with a live block, an empty page that stayed, slots that did not come back, a wrong sum.
 * not here  The same in random order: slab_purge_walk_test.cpp. The times of sweeps: entry_test.cpp.
 */
#include "slab_purge_calls.h"

namespace {

/* ---- single rules ---- */

TEST_F(Holes, ANewSlabHoldsNothingWhereNoBlockIs) {
  const unsigned c = 8; /* 128 bytes */
  const Blocks one = fill(c, 1);
  const uint32_t u = slabs()[0];
  EXPECT_EQ(said_empty(u), minus(all_pages(u), pages_of(c, one)));
  EXPECT_EQ(sweep(), 0u) << "known already";
  EXPECT_EQ(fake_os.calls[FAKE_PURGE], 0u);
  put(c, one);
  EXPECT_EQ(sweep(), page());
  EXPECT_EQ(said_empty(u), all_pages(u));
}

TEST_F(Holes, ADirtyRunMayHoldSomethingEverywhere) {
  fake_span.dirty = true;
  const Blocks one = fill(HAK_CLASS_128, 1);
  const uint32_t u = slabs()[0];
  EXPECT_EQ(said_empty(u), Pages{});
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES - page());
  EXPECT_EQ(g_gone, minus(all_pages(u), pages_of(8, one)));
}

TEST_F(Holes, NeighbouringPagesGoInOnePiece) {
  const Blocks kept = fill_and_keep(8, 1);
  const uint64_t before = fake_os.calls[FAKE_PURGE];
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES - page());
  EXPECT_EQ(fake_os.calls[FAKE_PURGE] - before, 1u);
}

TEST_F(Holes, SlabsThatWereFilledOfLateAreLeftAlone) {
  const unsigned c = 8;
  at(640);
  fill_and_keep(c, 1);
  for (const uint32_t ms : {640, 703, 704, 767}) {
    at(ms);
    EXPECT_EQ(sweep(2), 0u) << ms;
  }
  at(768);
  EXPECT_EQ(sweep(2), HAK_UNIT_BYTES - page());
  fill(c, 40);
  EXPECT_EQ(sweep(1), 0u);
}

TEST_F(Holes, WhatWasRefusedIsTriedAgain) {
  const unsigned c = 8;
  at(640);
  fill_and_keep(c, 64);
  at(6400);
  fake_os_refuse(FAKE_PURGE);
  EXPECT_EQ(sweep(1), 0u);
  fake_os_permit(FAKE_PURGE);
  EXPECT_EQ(sweep(1), HAK_UNIT_BYTES - 2 * page()) << "though nothing was freed since";
}

TEST_F(Holes, AsManyFreeSlotsMayLieOnOtherPages) {
  const unsigned c = 8;
  const size_t slots = g_class[c].slots;
  at(640);
  Blocks all = fill(c, slots), other;
  for (size_t i = 0; i < slots; i += 2) other.push_back(all[i]);
  put(c, other);
  at(6400);
  EXPECT_EQ(sweep(1), 0u) << "a block lies on each page";
  fill(c, other.size());
  put(c, Blocks(all.begin(), all.begin() + static_cast<ptrdiff_t>(other.size())));
  at(64000);
  EXPECT_EQ(sweep(1), HAK_UNIT_BYTES / 2);
}

TEST_F(Holes, WhatTheKernelRefusesIsNotEmpty) {
  const unsigned c = 8;
  fill_and_keep(c, 1);
  const uint32_t u = slabs()[0];
  fake_os_refuse(FAKE_PURGE);
  EXPECT_EQ(sweep(), 0u);
  EXPECT_EQ(said_empty(u), Pages{});
  EXPECT_EQ(out(c), 1u) << "the slots are back";
  check_sums();
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_hole_pages), 0u);
  fake_os_permit(FAKE_PURGE);
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES - page());
}

TEST_F(Holes, OneRefusalIsOneSlabsOnly) {
  const unsigned c = 8;
  const Blocks kept = two_holes_each(c, 3);
  fake_os_refuse_once(FAKE_PURGE, 4); /* the second page of the second slab */
  EXPECT_EQ(sweep(), 2 * (HAK_UNIT_BYTES - page()));
  EXPECT_EQ(said_empty(slabs()[0]).size(), HAK_UNIT_BYTES / page() - 1);
  EXPECT_EQ(said_empty(slabs()[1]).size(), 0u) << "all of it or nothing";
  EXPECT_EQ(said_empty(slabs()[2]).size(), HAK_UNIT_BYTES / page() - 1);
  EXPECT_EQ(out(c), kept.size());
}

TEST_F(Holes, ASweepGoesOnWhereItStopped) {
  const unsigned c = 8;
  const Blocks kept = two_holes_each(c, 40);
  EXPECT_EQ(sweep(), 40 * (HAK_UNIT_BYTES - page()));
  EXPECT_EQ(fake_os.calls[FAKE_PURGE], 80u) << "a piece at a time";
  put(c, kept);
  hak_sweep some = {.at = 0, .units = 3, .idle_ticks = 0};
  std::vector<uint32_t> stops;
  do {
    hak_slab_sweep(&some);
    stops.push_back(some.at);
  } while (some.at != 0);
  EXPECT_EQ(stops.front(), 4u);
  EXPECT_EQ(stops.size(), (g_range.units - 1 + 2) / 3);
}

TEST_F(Holes, HugePagesAreKeptExceptInNeed) {
  fill_and_keep(8, 1);
  fake_span.dense = true;
  at(100000);
  EXPECT_EQ(sweep(1), 0u);
  EXPECT_EQ(fake_span.breaks, 0u);
  EXPECT_EQ(out(HAK_CLASS_128), 1u);
  EXPECT_EQ(sweep(0), HAK_UNIT_BYTES - page());
  EXPECT_EQ(fake_span.breaks, 1u);
}

/* ---- used again ---- */

TEST_F(Holes, PagesUsedWithinASecondAreCounted) {
  const unsigned c = 8;
  const size_t a_page = page() / g_class[c].bytes;
  fill(c, 1);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_hole_again), 0u) << "a new slab's pages never went";
  fill(c, g_class[c].slots - 1);
  const Blocks kept = fill_and_keep(c, a_page);
  at(6400);
  sweep();
  at(6400 + 1023);
  fill(c, a_page + 1);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_hole_again), 2u);
  at(6400 + 1024);
  fill(c, 3 * a_page);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_hole_again), 2u) << "later it is no waste";
}

TEST_F(Holes, AWhollyEmptySlabGoesBackClean) {
  for (const unsigned c : {1u, 8u, 33u, 60u, 72u}) {
    put(c, fill(c, g_class[c].slots));
    release(c);
    const uint64_t clean = fake_span.clean_puts, puts = fake_span.puts;
    sweep();
    hak_slab_trim();
    EXPECT_EQ(fake_span.puts, puts + 1);
    EXPECT_EQ(fake_span.clean_puts, clean + 1) << g_class[c].bytes;
    put(c, fill(c, g_class[c].slots));
    release(c);
    hak_slab_trim();
    EXPECT_EQ(fake_span.puts, puts + 2);
    EXPECT_EQ(fake_span.clean_puts, clean + 1) << "it was used";
    EXPECT_EQ(g_footprint.empty, 0u);
  }
}

/* A first touch of a huge page may take milliseconds. */
TEST_F(Holes, ARegionIsFetchedWithoutTheLockAndItsSlabHasPages) {
  const unsigned c = 8;
  fake_span.opens = true;
  Blocks out(2 * g_class[c].slots);
  uint32_t current = HAK_NO_UNIT;
  EXPECT_EQ(hak_slab_fill(c, &current, out.data(), out.size()), g_class[c].slots) << "one region a fill";
  EXPECT_EQ(fake_span.fetches, 1u);
  EXPECT_EQ(g_footprint.empty, 0u);
  fill(c, 1);
  EXPECT_EQ(fake_span.fetches, 2u);
  EXPECT_EQ(g_footprint.empty, 0u);
  fake_span.opens = false;
  fill(c, g_class[c].slots);
  EXPECT_NE(g_footprint.empty, 0u) << "a slab of small pages begins without any";
}

/* ---- meanwhile ---- */

TEST_F(Holes, SlotsThatAreOutAreNotHandedOut) {
  for (const unsigned c : {1u, 8u, 24u, 57u, 72u}) {
    const Blocks kept = fill_and_keep(c, 1);
    Blocks meanwhile;
    g_meanwhile = [&] { meanwhile = fill(c, g_class[c].slots); };
    EXPECT_GT(sweep(), 0u);
    ASSERT_EQ(meanwhile.size(), g_class[c].slots);
    const Pages theirs = pages_of(c, meanwhile);
    EXPECT_EQ(minus(theirs, g_gone), theirs) << g_class[c].bytes;
    EXPECT_EQ(out(c), 1 + meanwhile.size());
    check_sums();
    put(c, meanwhile);
    put(c, kept);
    release(c);
    hak_slab_trim();
  }
}

TEST_F(Holes, BlocksMayBePutWhileSlotsAreOut) {
  const unsigned c = 8;
  const size_t a_page = page() / g_class[c].bytes;
  const Blocks kept = fill_and_keep(c, 2 * a_page);
  const uint32_t u = slabs()[0];
  release(c);
  g_meanwhile = [&] { put(c, Blocks(kept.begin(), kept.end() - 1)); };
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES - 2 * page());
  EXPECT_EQ(out(c), 1u);
  EXPECT_EQ(said_empty(u), minus(all_pages(u), pages_of(c, kept))) << "what came later did not go";
  check_sums();
  EXPECT_EQ(sweep(), page());
  EXPECT_EQ(said_empty(u), minus(all_pages(u), pages_of(c, {kept.back()})));
}

TEST_F(Holes, TheLastBlockMayBePutWhileSlotsAreOut) {
  const unsigned c = 8;
  const size_t slots = g_class[c].slots;
  Blocks blocks = fill(c, 2 * slots);
  const Blocks last = {blocks[0]}, other(blocks.begin() + static_cast<long>(slots), blocks.end());
  put(c, Blocks(blocks.begin() + 1, blocks.begin() + static_cast<long>(slots)));
  g_meanwhile = [&] {
    put(c, other);
    EXPECT_EQ(hak_inside_slab_empties(c), 1u) << "the other slab is kept";
    put(c, last);
    EXPECT_EQ(fake_span.runs_out, 2u) << "not closed while slots are out";
  };
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES - page());
  check_sums();
  EXPECT_EQ(out(c), 0u);
  EXPECT_EQ(fake_span.runs_out, 1u) << "one empty slab too many went when its slots came back";
  EXPECT_EQ(fake_span.clean_puts, 0u) << "with the page of the last block";
  EXPECT_EQ(slabs(), std::vector<uint32_t>{static_cast<uint32_t>(hak_range_unit_of(other[0]))});
}

TEST_F(Holes, ATrimSparesASlabWhoseSlotsAreOut) {
  const unsigned c = 8;
  put(c, fill(c, g_class[c].slots));
  release(c);
  g_meanwhile = [] {
    hak_slab_trim();
    EXPECT_EQ(fake_span.runs_out, 1u);
  };
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES);
  check_sums();
  hak_slab_trim();
  EXPECT_EQ(fake_span.runs_out, 0u);
}

TEST_F(Holes, AnOwnedSlabMayBeGivenUpWhileSlotsAreOut) {
  const unsigned c = 8;
  const Blocks kept = fill_and_keep(c, 1);
  g_meanwhile = [&] { release(c); };
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES - page());
  check_sums();
  EXPECT_EQ(out(c), 1u);
  const Blocks again = fill(c, 5);
  EXPECT_EQ(fake_span.runs_out, 1u) << "it is on its list";
  EXPECT_EQ(number(again[0]), number(kept[0]) + g_class[c].bytes);
}

TEST_F(Holes, ASlabThatIsOutAsAWholeIsNotLost) {
  const unsigned c = 8;
  put(c, fill(c, g_class[c].slots));
  g_meanwhile = [&] {
    EXPECT_EQ(fill(c, 1).size(), 1u) << "from another slab";
    EXPECT_EQ(fake_span.runs_out, 2u);
  };
  EXPECT_EQ(sweep(), HAK_UNIT_BYTES);
  check_sums();
  EXPECT_EQ(hak_inside_slab_empties(c), 1u);
  hak_slab_trim();
  EXPECT_EQ(fake_span.runs_out, 1u);
  EXPECT_EQ(fake_span.clean_puts, 1u);
}

}  // namespace
