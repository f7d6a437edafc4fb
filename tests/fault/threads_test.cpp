/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* threads_test.cpp: a kernel that refuses by chance, among threads.
 *
 * what      Four threads allocate, resize, pass on and free blocks while one kernel call in a hundred is refused, for
 *           each thread by its own seed. Then one thread meets a lock held by a second thread, and cannot sleep, or is
 *           not woken.
 *
 *               thread 1 .. 4:  allocate | resize | release | exchange with a mailbox     content checked at each
 *               grower: runs lock, mmap ......... waits ............ goes on
 *               waiter:                   futex refused, refused, refused, lock
 *
 * owner     A block belongs to one worker or one mailbox; at the end the main thread owns the remaining blocks.
 * locks     none: a mailbox is an atomic pointer.
 * orders    exchange with acq_rel passes a block's content on; the grower's state is passed with release and acquire.
 * failure   Each worker reports the first finding and stops; the seed is in the trace.
 * not here  Every single call (scripts_test.cpp); threads without faults (tests/model).
 */
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "../model/model.h"
#include "kernel.h"

namespace {

using fault::Call;
using model::Block;

constexpr unsigned kThreads = 4;
constexpr unsigned kSteps = 4000;
constexpr uint64_t kRefusedOneIn = 100;
constexpr size_t kHeld = 60;
constexpr size_t kHeldBytes = size_t{16} << 20;
using Mailboxes = std::array<std::atomic<Block *>, 32>;

class Worker {
 public:
  Worker(Mailboxes &mail, uint64_t seed) : mail_(mail), random_(seed), seed_(seed) {}
  void run();

 private:
  size_t choose_size();
  void begin();
  void keep(void *p, size_t n, size_t alignment);
  void lacks(size_t n);
  void check(const Block &block);
  void allocate();
  void reallocate();
  void release();
  void pass_on();
  Block take_any();
  void step();

  Mailboxes &mail_;
  model::Random random_;
  uint64_t seed_;
  uint64_t refused_before_ = 0;
  uint64_t tags_ = 0;
  size_t bytes_ = 0;
  std::vector<Block> mine_;
};

/* Mostly sizes that need kernel calls: runs and single mappings; in all no more than a small machine has. */
size_t Worker::choose_size() {
  const size_t n = model::random_size(random_, random_.one_in(3) ? 14 : 21);
  return bytes_ + n > kHeldBytes ? n % 4096 : n;
}

void Worker::begin() {
  refused_before_ = fault::refused_here();
  errno = 0;
}

/* A failed allocation needs a refusal of the kernel to this thread, in this call. */
void Worker::lacks(size_t n) {
  ASSERT_EQ(errno, ENOMEM) << n;
  ASSERT_GT(fault::refused_here(), refused_before_) << "no memory for " << n << ", yet nothing refused";
}

void Worker::keep(void *p, size_t n, size_t alignment) {
  if (p == nullptr) return lacks(n);
  const Block block{p, n, alignment, seed_ << 32 | ++tags_};
  ASSERT_TRUE(model::block_ok(block));
  model::fill(p, n, block.tag);
  mine_.push_back(block);
  bytes_ += n;
}

Block Worker::take_any() {
  std::swap(mine_[random_.below(mine_.size())], mine_.back());
  const Block block = mine_.back();
  mine_.pop_back();
  bytes_ -= block.asked;
  return block;
}

void Worker::check(const Block &block) {
  ASSERT_TRUE(model::block_ok(block));
  ASSERT_TRUE(model::intact(block.p, block.asked, block.asked, block.tag)) << block.p << " of " << block.asked << " B";
}

void Worker::allocate() {
  const size_t n = choose_size();
  const size_t alignment = size_t{16} << random_.below(18);
  void *zeroed = nullptr;
  begin();
  switch (random_.below(4)) {
    case 0: return keep(hak_aligned_alloc(alignment, n), n, alignment);
    case 1:
      zeroed = hak_calloc(1, n);
      ASSERT_TRUE(zeroed == nullptr || model::all_zero(zeroed, n)) << zeroed << " of " << n;
      return keep(zeroed, n, 16);
    default: return keep(hak_malloc(n), n, 16);
  }
}

/* If refused, the block is unchanged. */
void Worker::reallocate() {
  const Block old = take_any();
  check(old);
  const size_t n = choose_size() + 1;
  begin();
  void *p = hak_realloc(old.p, n);
  if (p == nullptr) {
    lacks(n);
    check(old);
    mine_.push_back(old);
    bytes_ += old.asked;
    return;
  }
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
  const std::unique_ptr<Block> received(
      mail_[random_.below(mail_.size())].exchange(parcel.release(), std::memory_order_acq_rel));
  if (received == nullptr) return;
  check(*received);
  mine_.push_back(*received);
  bytes_ += received->asked;
}

void Worker::step() {
  if (random_.one_in(500)) hak_trim(random_.below(1 << 20));
  if (mine_.empty() || random_.below(2 * kHeld) >= mine_.size()) return allocate();
  switch (random_.below(4)) {
    case 0: return reallocate();
    case 1: return pass_on();
    default: return release();
  }
}

void Worker::run() {
  SCOPED_TRACE(seed_);
  fault::seed_this_thread(seed_);
  for (unsigned i = 0; i < model::scaled(kSteps) && !::testing::Test::HasFatalFailure(); i++) step();
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

void run_workers(Mailboxes &mail, uint64_t seed) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; i++) {
    threads.emplace_back([&mail, seed, i] { Worker(mail, seed * kThreads + i + 1).run(); });
  }
  for (std::thread &thread : threads) thread.join();
}

hak_stats stats_now() {
  hak_stats s{};
  s.version = HAK_STATS_VERSION;
  s.size = sizeof s;
  EXPECT_EQ(hak_get_stats(&s), 0);
  return s;
}

/* Bytes that the kernel gave and the library does not account for. */
uint64_t unexplained_bytes() {
  const uint64_t known = stats_now().mapped;
  return fault::mapped() - known;
}

TEST(FaultsAmongThreads, OneCallInAHundred) {
  Mailboxes mail{};
  const size_t before = hak_bytes_in_use();
  const uint64_t unexplained = unexplained_bytes();
  for (uint64_t seed = 1; seed <= 2 && !HasFailure(); seed++) {
    fault::arm_by_chance(kRefusedOneIn);
    run_workers(mail, seed);
    fault::disarm();
  }
  EXPECT_GT(fault::refused(), 0U);
  empty_mailboxes(mail);
  EXPECT_EQ(hak_bytes_in_use(), before);
  hak_trim(0);
  const hak_stats s = stats_now();
  EXPECT_EQ(s.slab_bytes + s.span_dirty + s.span_clean, s.mapped - s.metadata - s.big_live - s.big_cached);
  EXPECT_EQ(unexplained_bytes(), unexplained) << "mappings are lost";
  run_workers(mail, 3);
  empty_mailboxes(mail);
  EXPECT_EQ(hak_bytes_in_use(), before);
}

/* ---- the futex ---- */

constexpr size_t kRun = 1000 << 10;

int g_sleeps_wanted;
std::atomic<bool> g_grower_maps{false};
std::atomic<int> g_sleeps{0};
thread_local bool t_grower = false;

/* Keeps the grower inside mmap, and so inside the lock of runs, until the second thread sleeps on the lock. */
void hold_the_grower(Call call) {
  if (call == Call::wait && !t_grower) g_sleeps.fetch_add(1, std::memory_order_release);
  if (call != Call::place || !t_grower || g_grower_maps) return;
  g_grower_maps.store(true, std::memory_order_release);
  while (g_sleeps.load(std::memory_order_acquire) < g_sleeps_wanted) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

void *take_run() {
  void *p = hak_malloc(kRun);
  EXPECT_NE(p, nullptr);
  model::fill(p, kRun, 1);
  return p;
}

/* Until the range must grow. */
void grow(std::vector<void *> *runs) {
  t_grower = true;
  while (!g_grower_maps) runs->push_back(take_run());
}

void wait_for_the_grower(std::vector<void *> *runs) {
  while (!g_grower_maps.load(std::memory_order_acquire)) std::this_thread::yield();
  runs->push_back(take_run());
}

void free_runs(const std::vector<void *> &runs) {
  for (void *p : runs) {
    EXPECT_TRUE(model::intact(p, kRun, kRun, 1));
    hak_free(p);
  }
}

void meet_at_the_lock(Call refused, int sleeps) {
  const size_t before = hak_bytes_in_use();
  std::vector<void *> grown, waited_for;
  g_grower_maps = false;
  g_sleeps = 0;
  g_sleeps_wanted = sleeps;
  fault::arm({1, UINT64_MAX, fault::Answer::refuse, only(refused)});
  fault::watch(hold_the_grower);
  std::thread grower([&grown] { grow(&grown); });
  std::thread waiter([&waited_for] { wait_for_the_grower(&waited_for); });
  grower.join();
  waiter.join();
  fault::watch(nullptr);
  fault::disarm();
  EXPECT_GE(g_sleeps, sleeps);
  free_runs(grown);
  free_runs(waited_for);
  EXPECT_EQ(hak_bytes_in_use(), before);
}

/* A thread that cannot sleep reads the lock again and again. */
TEST(FaultsAmongThreads, ALockIsHadWithoutSleep) { meet_at_the_lock(Call::wait, 3); }

/* A thread whose wake is lost wakes itself. */
TEST(FaultsAmongThreads, ALostWakeIsNoEnd) { meet_at_the_lock(Call::wake, 1); }

}  // namespace
