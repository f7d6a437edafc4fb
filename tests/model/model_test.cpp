/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* model_test.cpp: random operations on one thread against the naive oracle of model.h.
 *
 * what      Seeded sequences of every operation: no overlap, alignment, content, usable size, zeroing, and
 *           hak_bytes_in_use equal to the sum of the usable sizes.
 * owner     Session holds the live blocks of one seed and frees every block at its end.
 * failure   The seed and the step are in the trace: the same seed fails again.
 * not here  Threads (model_threads_test.cpp).
 */
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "model.h"

namespace {

using model::Block;

/* Parameters of a run: largest block, number of live blocks, bytes of all live blocks. */
struct Taste {
  const char *name;
  unsigned limit_log2;
  size_t blocks;
  size_t bytes;
  unsigned steps;
};

class Session {
 public:
  Session(const Taste &taste, uint64_t seed) : taste_(taste), random_(seed), base_(hak_bytes_in_use()) {}
  void run();

 private:
  using Step = void (Session::*)();

  void allocate();
  void allocate_zeroed();
  void allocate_aligned();
  void reallocate();
  void release();
  void release_sized();
  void ask_for_too_much();
  void trim();
  void check_books();

  size_t choose_size();
  void keep(Block block);
  Block take_any();
  void step();

  const Taste &taste_;
  model::Random random_;
  model::Oracle oracle_;
  std::vector<Block> live_;
  size_t base_;
  uint64_t next_tag_ = 1;
};

size_t Session::choose_size() {
  if (random_.one_in(50)) return 0;
  const size_t n = model::random_size(random_, taste_.limit_log2);
  return oracle_.usable() + n > taste_.bytes ? n % 512 : n;
}

void Session::keep(Block block) {
  ASSERT_TRUE(oracle_.took(block));
  block.tag = next_tag_++;
  model::fill(block.p, block.asked, block.tag);
  live_.push_back(block);
  oracle_.gives(block);
  ASSERT_TRUE(oracle_.took(block));
}

Block Session::take_any() {
  std::swap(live_[random_.below(live_.size())], live_.back());
  const Block block = live_.back();
  live_.pop_back();
  return block;
}

void Session::allocate() {
  const size_t n = choose_size();
  keep({random_.one_in(4) ? hak_alloc_at(n, &live_) : hak_malloc(n), n, 16, 0});
}

void Session::allocate_zeroed() {
  const size_t n = choose_size();
  const size_t count = 1 + random_.below(4);
  void *p = hak_calloc(count, n / count);
  ASSERT_NE(p, nullptr);
  ASSERT_TRUE(model::all_zero(p, n / count * count)) << p << " of " << n << " B";
  keep({p, n / count * count, 16, 0});
}

void Session::allocate_aligned() {
  const size_t n = choose_size();
  const size_t alignment = size_t{16} << random_.below(13);
  void *p = nullptr;
  switch (random_.below(3)) {
    case 0: p = hak_aligned_alloc(alignment, n); break;
    case 1: p = hak_memalign(alignment, n); break;
    default: ASSERT_EQ(hak_posix_memalign(&p, alignment, n), 0);
  }
  keep({p, n, alignment, 0});
}

void Session::reallocate() {
  const Block old = take_any();
  const size_t n = 1 + choose_size();
  ASSERT_TRUE(oracle_.gives(old));
  void *p = random_.one_in(2) ? hak_realloc(old.p, n) : hak_reallocarray(old.p, n, 1);
  ASSERT_NE(p, nullptr);
  ASSERT_TRUE(model::intact(p, old.asked, n, old.tag)) << old.p << " of " << old.asked << " B became " << p << " of " << n;
  keep({p, n, 16, 0});
}

void Session::release() {
  const Block block = take_any();
  ASSERT_TRUE(oracle_.gives(block));
  if (random_.one_in(4)) {
    ASSERT_EQ(hak_realloc(block.p, 0), nullptr);
  } else {
    hak_free(block.p);
  }
}

void Session::release_sized() {
  const Block block = take_any();
  ASSERT_TRUE(oracle_.gives(block));
  if (random_.one_in(2)) {
    hak_free_sized(block.p, block.asked);
  } else {
    hak_free_aligned_sized(block.p, block.alignment, block.asked);
  }
}

void Session::ask_for_too_much() {
  const size_t n = SIZE_MAX / 2 + 1 + random_.below(SIZE_MAX / 2);
  errno = 0;
  ASSERT_EQ(hak_malloc(n), nullptr);
  ASSERT_EQ(errno, ENOMEM);
  const Block &block = live_[random_.below(live_.size())];
  ASSERT_EQ(hak_realloc(block.p, n), nullptr);
  ASSERT_TRUE(model::intact(block.p, block.asked, block.asked, block.tag));
}

void Session::trim() {
  hak_trim(random_.below(1 << 20));
  ASSERT_TRUE(oracle_.all_intact());
}

void Session::check_books() { ASSERT_EQ(hak_bytes_in_use() - base_, oracle_.usable()); }

/* Mostly allocates below the target number of blocks, mostly frees above: the number wanders around the target. */
void Session::step() {
  static constexpr Step kGrow[] = {&Session::allocate, &Session::allocate, &Session::allocate_zeroed,
                                   &Session::allocate_aligned};
  static constexpr Step kShrink[] = {&Session::release, &Session::release, &Session::release_sized};
  if (live_.empty() || random_.one_in(taste_.blocks)) return allocate();
  if (random_.one_in(1000)) return trim();
  if (random_.one_in(200)) return ask_for_too_much();
  if (random_.one_in(5)) return reallocate();
  const bool grow = random_.below(2 * taste_.blocks) >= live_.size();
  (this->*(grow ? kGrow[random_.below(4)] : kShrink[random_.below(3)]))();
}

void Session::run() {
  for (unsigned i = 0; i < taste_.steps && !::testing::Test::HasFatalFailure(); i++) {
    SCOPED_TRACE(i);
    step();
    if (i % 64 == 0) check_books();
  }
  if (::testing::Test::HasFatalFailure()) return;
  while (!live_.empty() && !::testing::Test::HasFatalFailure()) release();
  EXPECT_EQ(hak_bytes_in_use(), base_);
  EXPECT_EQ(oracle_.count(), 0U);
}

class Model : public ::testing::TestWithParam<Taste> {};

/* HAK_TEST_SEED starts the seeds elsewhere. */
uint64_t first_seed() {
  const char *text = std::getenv("HAK_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

TEST_P(Model, AgreesWithTheOracle) {
  const unsigned seeds = model::scaled(16);
  for (uint64_t seed = first_seed(); seed < first_seed() + seeds; seed++) {
    SCOPED_TRACE("HAK_TEST_SEED=" + std::to_string(seed));
    Session(GetParam(), seed).run();
    if (HasFatalFailure()) return;
  }
}

constexpr size_t kMiB = size_t{1} << 20;
INSTANTIATE_TEST_SUITE_P(Tastes, Model,
                         ::testing::Values(Taste{"tiny", 7, 3000, 8 * kMiB, 12000},
                                           Taste{"small", 10, 1000, 8 * kMiB, 12000},
                                           Taste{"slabs", 15, 400, 16 * kMiB, 8000},
                                           Taste{"large", 20, 60, 32 * kMiB, 4000},
                                           Taste{"big", 23, 20, 64 * kMiB, 700},
                                           Taste{"few", 21, 4, 32 * kMiB, 3000}),
                         [](const auto &instance) { return std::string(instance.param.name); });

}  // namespace
