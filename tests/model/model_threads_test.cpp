/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* model_threads_test.cpp: 2 to 16 threads allocate, check, pass on and free blocks at random.
 *
 * what      Contents reveal a block handed out twice; blocks are exchanged through mailboxes, so that most blocks are
 *           freed by a thread that did not allocate the block; threads end and start between the rounds.
 * owner     A block belongs to a worker or a mailbox; at the end the main thread owns the remaining blocks.
 * locks     none: a mailbox is an atomic pointer.
 * orders    exchange with acq_rel passes a block's content on, as a program's queue does.
 * failure   Each worker reports the first finding and stops; the seed is in the trace.
 * not here  One thread against the full oracle (model_test.cpp).
 */
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "model.h"

namespace {

using model::Block;

constexpr size_t kMailboxes = 64;
using Mailboxes = std::array<std::atomic<Block *>, kMailboxes>;

/* Parameters of a crowd: threads, size of blocks, blocks per thread, share of blocks passed on. */
struct Crowd {
  const char *name;
  unsigned threads;
  unsigned limit_log2;
  size_t held;
  unsigned pass_one_in;
  unsigned steps;
};

class Worker {
 public:
  Worker(const Crowd &crowd, Mailboxes &mail, uint64_t seed) : crowd_(crowd), mail_(mail), random_(seed), tag_(seed << 32) {}
  void run();

 private:
  void check(const Block &block);
  void keep(void *p, size_t n, size_t alignment);
  void allocate();
  void reallocate();
  void release();
  void pass_on();
  Block take_any();

  const Crowd &crowd_;
  Mailboxes &mail_;
  model::Random random_;
  uint64_t tag_;
  std::vector<Block> mine_;
};

void Worker::check(const Block &block) {
  ASSERT_TRUE(model::block_ok(block));
  ASSERT_TRUE(model::intact(block.p, block.asked, block.asked, block.tag)) << block.p << " of " << block.asked << " B";
}

void Worker::keep(void *p, size_t n, size_t alignment) {
  const Block block{p, n, alignment, ++tag_};
  ASSERT_TRUE(model::block_ok(block));
  model::fill(p, n, block.tag);
  mine_.push_back(block);
}

Block Worker::take_any() {
  std::swap(mine_[random_.below(mine_.size())], mine_.back());
  const Block block = mine_.back();
  mine_.pop_back();
  return block;
}

void Worker::allocate() {
  const size_t n = model::random_size(random_, crowd_.limit_log2);
  const size_t alignment = size_t{16} << random_.below(9);
  void *zeroed = nullptr;
  switch (random_.below(4)) {
    case 0: return keep(hak_aligned_alloc(alignment, n), n, alignment);
    case 1:
      zeroed = hak_calloc(1, n);
      ASSERT_TRUE(zeroed != nullptr && model::all_zero(zeroed, n)) << zeroed << " of " << n;
      return keep(zeroed, n, 16);
    default: return keep(hak_malloc(n), n, 16);
  }
}

void Worker::reallocate() {
  const Block old = take_any();
  check(old);
  const size_t n = model::random_size(random_, crowd_.limit_log2) + 1;
  void *p = hak_realloc(old.p, n);
  ASSERT_TRUE(model::intact(p, old.asked, n, old.tag)) << old.asked << " B became " << n;
  keep(p, n, 16);
}

void Worker::release() {
  const Block block = take_any();
  check(block);
  hak_free(block.p);
}

/* Puts a block into a mailbox and takes the block found there. */
void Worker::pass_on() {
  auto parcel = std::make_unique<Block>(take_any());
  std::atomic<Block *> &box = mail_[random_.below(kMailboxes)];
  const std::unique_ptr<Block> received(box.exchange(parcel.release(), std::memory_order_acq_rel));
  if (received == nullptr) return;
  check(*received);
  mine_.push_back(*received);
}

void Worker::run() {
  for (unsigned i = 0; i < crowd_.steps && !::testing::Test::HasFatalFailure(); i++) {
    if (mine_.empty() || random_.below(2 * crowd_.held) >= mine_.size()) {
      allocate();
    } else if (random_.one_in(8)) {
      reallocate();
    } else {
      release();
    }
    if (!mine_.empty() && random_.one_in(crowd_.pass_one_in)) pass_on();
  }
  while (!mine_.empty() && !::testing::Test::HasFatalFailure()) release();
}

void empty_mailboxes(Mailboxes &mail) {
  for (auto &box : mail) {
    const std::unique_ptr<Block> left(box.exchange(nullptr, std::memory_order_acq_rel));
    if (left == nullptr) continue;
    EXPECT_TRUE(model::intact(left->p, left->asked, left->asked, left->tag)) << left->p;
    hak_free(left->p);
  }
}

class Threads : public ::testing::TestWithParam<Crowd> {};

void run_crowd(const Crowd &crowd, Mailboxes &mail, uint64_t seed) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < crowd.threads; i++)
    threads.emplace_back([&crowd, &mail, seed, i] { Worker(crowd, mail, seed * 100 + i).run(); });
  for (std::thread &thread : threads) thread.join();
}

TEST_P(Threads, LoseAndShareNothing) {
  Mailboxes mail{};
  const size_t before = hak_bytes_in_use();
  const unsigned rounds = model::scaled(8);
  for (uint64_t seed = 1; seed <= rounds && !HasFailure(); seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_crowd(GetParam(), mail, seed);
  }
  empty_mailboxes(mail);
  EXPECT_EQ(hak_bytes_in_use(), before);
}

INSTANTIATE_TEST_SUITE_P(Crowds, Threads,
                         ::testing::Values(Crowd{"two_tiny", 2, 6, 2000, 2, 40000},
                                           Crowd{"four_small", 4, 10, 300, 3, 15000},
                                           Crowd{"four_slabs", 4, 15, 60, 3, 5000},
                                           Crowd{"four_large", 4, 20, 10, 3, 1500},
                                           Crowd{"two_big", 2, 22, 5, 3, 800},
                                           Crowd{"sixteen", 16, 12, 100, 3, 3000},
                                           Crowd{"sixteen_mixed", 16, 21, 6, 2, 400}),
                         [](const auto &instance) { return std::string(instance.param.name); });

}  // namespace
