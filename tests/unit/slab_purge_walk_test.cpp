/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* slab_purge_walk_test.cpp: pages inside slabs that hold no live block, against a model.
 *
 * what      Fills, puts, sweeps, trims in random order in every class. The model knows of every page whether a block
 *           was handed out there since the last purge, and computes the empty pages and the pages that must go.
 * owner     The case runs in a separate process.
 * failure   A purged page with a live block, an empty page that stayed, a wrong sum.
 * not here  Single rules: slab_purge_test.cpp.
 */
#include <map>
#include <random>

#include "slab_purge_calls.h"

namespace {

class HolesModel : public Holes {
 protected:
  void run(unsigned c, unsigned steps, std::mt19937 &random) {
    for (unsigned i = 0; i < steps; i++) {
      step(c, random);
      check(c);
      if (HasFailure()) FAIL() << "class " << c << " of " << g_class[c].bytes << " bytes, step " << i;
    }
    release(c);
    follow();
    put_all(c);
    sweep_all(c);
    hak_slab_trim();
    follow();
    ASSERT_EQ(fake_span.runs_out, 0u);
    ASSERT_EQ(g_footprint.empty, 0u);
  }

 private:
  void step(unsigned c, std::mt19937 &random) {
    const size_t slots = g_class[c].slots;
    fake_span.dirty = random() % 4 == 0;
    switch (random() % 8) {
      case 0: case 1: take(c, 1 + random() % (slots + slots / 2)); break;
      case 2: take(c, 1 + random() % 8); break;
      case 3: case 4: put_stretch(c, random); break;
      case 5: sweep_all(c); break;
      case 6: put_some(c, random); break;
      default: random() % 2 ? release(c) : hak_slab_trim(); break;
    }
    follow();
  }

  void check(unsigned c) {
    ASSERT_EQ(out(c), live_.size());
    ASSERT_STREQ(hak_inside_slab_wrong(c), nullptr);
    size_t empty = 0;
    for (const uint32_t u : slabs()) {
      const Pages expected = minus(all_pages(u), used_);
      ASSERT_EQ(said_empty(u), expected);
      empty += expected.size();
    }
    ASSERT_EQ(g_footprint.empty, empty * page());
    ASSERT_EQ(fake_span.clean_puts, clean_puts_);
  }

  /* Slabs were opened or closed. */
  void follow() {
    std::map<uint32_t, Pages> now;
    for (const uint32_t u : slabs()) now[u] = all_pages(u);
    for (const auto &[u, pages] : open_) {
      if (now.count(u) != 0) continue;
      clean_puts_ += minus(pages, used_) == pages;
      used_ = minus(used_, pages);
    }
    open_ = now;
  }

  void take(unsigned c, size_t want) {
    for (size_t n = 0; n < want;) {
      Blocks some = fill(c, std::min<size_t>(want - n, 300));
      note_opened();
      for (void *p : some) {
        ASSERT_TRUE(live_.insert(p).second);
        pages_of(c, p, &used_);
      }
      n += some.size();
    }
  }

  void note_opened() {
    for (const uint32_t u : slabs()) {
      if (open_.count(u) != 0) continue;
      open_[u] = all_pages(u);
      if (fake_span.dirty) used_.insert(open_[u].begin(), open_[u].end());
    }
  }

  void give(unsigned c, const Blocks &some) {
    put(c, some);
    for (void *p : some) live_.erase(p);
  }

  /* Neighbours, so that whole pages become free. */
  void put_stretch(unsigned c, std::mt19937 &random) {
    if (live_.empty()) return;
    auto from = live_.lower_bound(hak_range_address(slabs()[random() % slabs().size()]));
    if (from == live_.end()) from = live_.begin();
    const auto left = static_cast<size_t>(std::distance(from, live_.end()));
    std::advance(from, random() % std::min<size_t>(g_class[c].slots, left));
    const uintptr_t end = number(*from) + random() % (2 * HAK_UNIT_BYTES) + 1;
    give(c, Blocks(from, live_.lower_bound(reinterpret_cast<void *>(end))));
  }

  void put_some(unsigned c, std::mt19937 &random) {
    Blocks some;
    for (void *p : live_) {
      if (random() % 8 == 0) some.push_back(p);
    }
    give(c, some);
  }

  void put_all(unsigned c) {
    give(c, Blocks(live_.begin(), live_.end()));
    follow();
  }

  /* Pages that must stay: pages of live blocks, and the pages behind a slab's last slot if no other page is empty. */
  Pages staying(unsigned c) {
    const Pages live = pages_of(c, Blocks(live_.begin(), live_.end()));
    Pages out = live;
    for (const auto &[u, pages] : open_) {
      const Pages holes = minus(pages, minus(pages, minus(used_, live)));
      const uintptr_t end = number(hak_range_address(u)) + size_t{g_class[c].slots} * g_class[c].bytes;
      if (!holes.empty() && *holes.begin() >= end) out.insert(holes.begin(), holes.end());
    }
    return out;
  }

  void sweep_all(unsigned c) {
    const Pages stay = staying(c), expected = minus(used_, stay);
    const uint64_t before = hak_counter_value(HAK_COUNTER_hole_pages);
    ASSERT_EQ(sweep(), expected.size() * page());
    ASSERT_EQ(g_gone, expected);
    ASSERT_EQ(hak_counter_value(HAK_COUNTER_hole_pages) - before, expected.size());
    used_ = minus(used_, expected);
  }

  std::set<void *> live_;
  Pages used_; /* pages of open slabs that may hold something */
  std::map<uint32_t, Pages> open_;
  uint64_t clean_puts_ = 0;
};

TEST_F(HolesModel, JustThePagesWithoutALiveBlockGoInEveryClass) {
  std::mt19937 random(11);
  for (unsigned c = 1; c < HAK_CLASSES_NUMBERED; c++) run(c, 40, random);
}

}  // namespace
