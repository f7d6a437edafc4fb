/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* made.h: events made by hand, as a trace's reader delivers events.
 *
 * what      A process whose events are added singly, in order of time.
 * owner     The object; events() is good until the next event is added.
 */
#ifndef HAK_TESTS_MADE_H
#define HAK_TESTS_MADE_H

#include <vector>

extern "C" {
#include "gaps.h"
}

constexpr uint64_t kPiece = 64 << 10;
constexpr hak_cut kCut = {kPiece, 4, true};

class Made {
 public:
  uint32_t get(uint64_t ns, uint64_t size = kPiece, uint32_t site = 0) {
    return add({ns, size, ++blocks_, 0, site, 0, 0, HAK_OP_ALLOC, 0});
  }
  void put(uint64_t ns, uint32_t block) { add({ns, 0, block, 0, 0, 0, 0, HAK_OP_FREE, 0}); }
  uint32_t resize(uint64_t ns, uint32_t old, uint64_t size, uint32_t site = 0) {
    return add({ns, size, ++blocks_, old, site, 0, 0, HAK_OP_RESIZE, 0});
  }
  void fail(uint64_t ns, uint64_t size) { add({ns, size, 0, 0, 0, 0, 0, HAK_OP_ALLOC, 0}); }
  void fail_resize(uint64_t ns, uint32_t old, uint64_t size) {
    add({ns, size, 0, old, 0, 0, 0, HAK_OP_RESIZE, 0});
  }
  void end(uint64_t ns) { get(ns, 1); }

  /* One block that waits for each of `gaps` in turn; the last gap is closed. */
  void wait(const std::vector<uint64_t> &gaps, uint32_t site = 0, uint64_t size = kPiece) {
    uint64_t now = event_.empty() ? 0 : event_.back().ns;
    for (uint64_t ns : gaps) {
      put(now, get(now, size, site));
      now += ns;
    }
    get(now, size, site);
  }

  hak_process process() {
    hak_process process = {};
    process.event = event_.data();
    process.events = event_.size();
    process.blocks = blocks_;
    process.sites = 100;
    return process;
  }
  const std::vector<hak_event> &events() const { return event_; }

 private:
  uint32_t add(const hak_event &event) {
    event_.push_back(event);
    return event.block;
  }
  std::vector<hak_event> event_;
  uint32_t blocks_ = 0;
};

class Gaps {
 public:
  explicit Gaps(Made &made, hak_cut cut = kCut) {
    const hak_process process = made.process();
    collected = hak_gaps_collect(&process, cut, &gaps);
  }
  ~Gaps() { hak_gaps_drop(&gaps); }
  Gaps(const Gaps &) = delete;
  Gaps &operator=(const Gaps &) = delete;

  const hak_gaps *operator->() const { return &gaps; }
  const hak_gaps *get() const { return &gaps; }
  hak_gaps gaps;
  bool collected;
};

#endif
