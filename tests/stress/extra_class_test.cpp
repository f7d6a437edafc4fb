/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* extra_class_test.cpp: size classes are added while threads use the split sizes, and while the process forks.
 *
 * what      Threads take, check, resize and free blocks from 200 to 9,000 bytes and exchange some; meanwhile one more
 *           thread adds four classes. Each thread marks both ends of the thread's blocks.
 * failure   A block that is too small or owned by two threads, a wrong end of a process, or a finding of
 *           ThreadSanitizer fails the test.
 * not here  The choice of classes: tests/unit/extra_class_test.cpp.
 */
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "hakmem/hakmem.h"
extern "C" {
#include "tables/classes.h"
}

namespace {

constexpr std::array<size_t, HAK_EXTRA_CLASSES> kAdded = {5376, 272, 2176, 560};

struct Block {
  unsigned char *p = nullptr;
  size_t n = 0;
  unsigned char mark = 0;
};

std::array<std::atomic<Block *>, 64> g_handed;
std::atomic<bool> g_stop;

bool is_whole(const Block &b) {
  return b.p == nullptr || (b.p[0] == b.mark && b.p[b.n - 1] == b.mark && hak_usable_size(b.p) >= b.n);
}

void mark(Block *b, unsigned char mark) {
  b->mark = b->p[0] = b->p[b->n - 1] = mark;
}

class Crew {
 public:
  explicit Crew(uint32_t seed) : random_(seed) {}
  bool work(int rounds) {
    for (int i = 0; i < rounds && good_; i++) turn();
    return good_;
  }
  void clear() {
    for (Block &b : blocks_) drop(&b);
  }

 private:
  size_t size() { return 200 + random_() % (random_() % 2 != 0 ? 400 : 8800); }
  void drop(Block *b) {
    good_ = good_ && is_whole(*b);
    hak_free(b->p);
    b->p = nullptr;
  }
  void take(Block *b) {
    b->n = size();
    b->p = static_cast<unsigned char *>(random_() % 8 == 0 ? hak_memalign(64, b->n) : hak_malloc(b->n));
    mark(b, static_cast<unsigned char>(random_()));
  }
  void resize(Block *b) {
    if (b->p == nullptr) return;
    good_ = good_ && is_whole(*b);
    const size_t n = size();
    b->p = static_cast<unsigned char *>(hak_realloc(b->p, n));
    good_ = good_ && b->p[0] == b->mark;
    b->n = n;
    mark(b, b->mark);
  }
  void hand(Block *b) {
    Block *other = g_handed[random_() % g_handed.size()].exchange(b->p != nullptr ? new Block(*b) : nullptr);
    b->p = nullptr;
    if (other == nullptr) return;
    drop(other);
    delete other;
  }
  void turn() {
    Block *b = &blocks_[random_() % blocks_.size()];
    switch (random_() % 8) {
      case 0: return hand(b);
      case 1: return resize(b);
      default: drop(b); take(b);
    }
  }

  std::mt19937 random_;
  std::array<Block, 400> blocks_{};
  bool good_ = true;
};

template <typename Middle>
void torture(Middle middle) {
  constexpr unsigned kThreads = 4;
  std::atomic<unsigned> good{0};
  std::vector<std::thread> threads;
  ASSERT_EQ(hak_set("lab_learn_class", "on"), 0);
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  for (unsigned i = 0; i < kThreads; i++) {
    threads.emplace_back([i, &good] {
      Crew crew(i + 1);
      bool mine = true;
      while (mine && !g_stop) mine = crew.work(1000);
      crew.clear();
      good += mine;
    });
  }
  middle();
  g_stop = true;
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(good, kThreads);
  for (auto &slot : g_handed) {
    Block *b = slot.exchange(nullptr);
    if (b != nullptr) hak_free(b->p);
    delete b;
  }
}

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }

TEST(ExtraClassStress, AddedWhileThreadsUseTheSizes) {
  torture([] {
    for (const size_t bytes : kAdded) {
      rest();
      hak_class_add(bytes);
    }
    rest();
  });
}

int child() {
  Crew crew(99);
  const bool good = crew.work(20000);
  crew.clear();
  return good ? 0 : 1;
}

TEST(ExtraClassStress, ForksRightAfter) {
  if (HAK_TSAN || HAK_ASAN) GTEST_SKIP() << "they lock up in children of several threads";
  torture([] {
    for (const size_t bytes : kAdded) {
      rest();
      std::thread adds([bytes] { hak_class_add(bytes); });
      for (int i = 0; i < 5; i++) {
        const pid_t pid = fork();
        if (pid == 0) _exit(child());
        int status = 1;
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        EXPECT_EQ(status, 0);
      }
      adds.join();
    }
  });
}

}  // namespace
