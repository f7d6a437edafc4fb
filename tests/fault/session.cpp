/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* session.cpp: operations and checks; see session.h.
 *
 * what      Each operation notes the number of earlier refusals, calls, and checks the result.
 * owner     Session.
 * failure   gtest failures.
 * not here  The scripts.
 */
#include "session.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "kernel.h"

namespace fault {

namespace {

/* No call of the library sets this value: errno was left alone if the value is still there. */
constexpr int kUntouched = EXDEV;

/* After this many refusals in one step, the rest of the step would be no different. */
constexpr size_t kEnough = 10;

/* The process was started for one case: after a finding the state tells nothing more. */
void end_when_failed() {
  if (!::testing::Test::HasFailure()) return;
  std::fflush(nullptr);
  _exit(1);
}

hak_stats stats_now() {
  hak_stats s{};
  s.version = HAK_STATS_VERSION;
  s.size = sizeof s;
  EXPECT_EQ(hak_get_stats(&s), 0);
  return s;
}

}  // namespace

uint64_t unexplained_bytes() {
  const uint64_t known = stats_now().mapped;
  return mapped() - known;
}

void Session::begin() {
  refused_before_ = refused_here();
  errno = kUntouched;
}

/* Enters the block, or the absence of a block, which needs a refusal and the right errno. */
Session::Slot Session::hold(void *p, size_t n, size_t watched, size_t alignment) {
  const int error = errno;
  const model::Block block{p, p != nullptr ? watched : 0, alignment, ++tags_};
  slots_.push_back(block);
  if (p == nullptr) {
    EXPECT_EQ(error, ENOMEM) << "step " << step_;
    EXPECT_GT(refused_here(), refused_before_) << "step " << step_ << ": no memory for " << n << ", nothing refused";
    return slots_.size() - 1;
  }
  EXPECT_TRUE(oracle_.took(block)) << "step " << step_;
  EXPECT_GE(hak_usable_size(p), n) << "step " << step_;
  model::fill(p, watched, block.tag);
  return slots_.size() - 1;
}

Session::Slot Session::take(size_t n) {
  begin();
  void *p = hak_malloc(n);
  const Slot slot = hold(p, n, n, 16);
  check();
  return slot;
}

Session::Slot Session::take_at(size_t n, const void *site) {
  begin();
  void *p = hak_alloc_at(n, site);
  const Slot slot = hold(p, n, n, 16);
  check();
  return slot;
}

Session::Slot Session::take_zeroed(size_t count, size_t size) {
  begin();
  void *p = hak_calloc(count, size);
  if (p != nullptr) {
    EXPECT_TRUE(model::all_zero(p, count * size)) << "step " << step_ << ": " << count * size << " B";
  }
  const Slot slot = hold(p, count * size, count * size, 16);
  check();
  return slot;
}

Session::Slot Session::take_aligned(size_t alignment, size_t n) {
  begin();
  void *p = hak_aligned_alloc(alignment, n);
  const Slot slot = hold(p, n, n, alignment);
  check();
  return slot;
}

Session::Slot Session::take_posix(size_t alignment, size_t n) {
  begin();
  void *const untouched = this;
  void *p = untouched;
  const int error = hak_posix_memalign(&p, alignment, n);
  EXPECT_EQ(errno, error == 0 ? kUntouched : ENOMEM) << "step " << step_;
  EXPECT_TRUE(error == 0 || (error == ENOMEM && p == untouched)) << "step " << step_ << ": " << error;
  errno = error;
  const Slot slot = hold(error == 0 ? p : nullptr, n, n, alignment);
  check();
  return slot;
}

/* If refused, the block is unchanged. */
void Session::resize(Slot slot, size_t n) {
  const model::Block old = slots_[slot];
  if (old.p != nullptr) {
    EXPECT_TRUE(oracle_.gives(old)) << "step " << step_;
  }
  begin();
  void *p = hak_realloc(old.p, n);
  if (p == nullptr) {
    EXPECT_EQ(errno, ENOMEM) << "step " << step_;
    EXPECT_GT(refused_here(), refused_before_) << "step " << step_ << ": " << old.asked << " to " << n;
    EXPECT_GT(n, hak_usable_size(old.p)) << "step " << step_ << ": a block could not shrink";
    if (old.p != nullptr) {
      EXPECT_TRUE(oracle_.took(old)) << "step " << step_;
    }
    return check();
  }
  EXPECT_TRUE(model::intact(p, old.asked, n, old.tag)) << "step " << step_ << ": " << old.asked << " became " << n;
  hold(p, n, n, 16);
  slots_[slot] = slots_.back();
  slots_.pop_back();
  check();
}

void Session::free_quietly(Slot slot) {
  model::Block &block = slots_[slot];
  if (block.p != nullptr) {
    EXPECT_TRUE(oracle_.gives(block)) << "step " << step_;
  }
  begin();
  hak_free(block.p);
  EXPECT_EQ(errno, kUntouched) << "step " << step_ << ": free changed errno";
  block = {};
}

void Session::give(Slot slot) {
  free_quietly(slot);
  check();
}

Session::Slots Session::take_many(size_t count, size_t n, size_t watched) {
  Slots slots;
  size_t lacking = 0;
  while (slots.size() < count && lacking < kEnough) {
    begin();
    slots.push_back(hold(hak_malloc(n), n, watched, 16));
    lacking += slots_.back().p == nullptr;
  }
  check();
  return slots;
}

void Session::give_many(const Slots &slots) {
  for (const Slot slot : slots) free_quietly(slot);
  check();
}

void Session::give_everything() {
  for (Slot slot = 0; slot < slots_.size(); slot++) free_quietly(slot);
  slots_.clear();
  check();
  EXPECT_EQ(oracle_.count(), 0U);
}

void Session::trim(size_t pad) {
  hak_trim(pad);
  check();
}

void Session::set(const char *name, const char *value) {
  EXPECT_EQ(hak_set(name, value), 0) << name;
  check();
}

void Session::check_units() {
  const hak_stats s = stats_now();
  const uint64_t range = s.mapped - s.metadata - s.big_live - s.big_cached;
  EXPECT_EQ(s.slab_bytes + s.large_live + s.span_dirty + s.span_clean, range) << "step " << step_ << ": units are lost";
  EXPECT_EQ(s.in_use, oracle_.usable()) << "step " << step_;
}

void Session::check() {
  end_when_failed();
  step_++;
  EXPECT_TRUE(oracle_.all_intact()) << "step " << step_;
  EXPECT_EQ(hak_bytes_in_use(), oracle_.usable()) << "step " << step_;
  check_units();
  end_when_failed();
}

}  // namespace fault
