/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* teardown.cpp: malloc and free while threads and the process end.
 *
 * what      C++ thread_local destructors, pthread key destructors in every round the system allows, atexit handlers,
 *           static destructors and ELF destructors all allocate, and free blocks of earlier stages and threads.
 * owner     A later stage frees the blocks of an earlier stage; at the end only the blocks named by `left` are in use.
 * failure   A crash, or one line and exit status 1.
 * not here  Crowds of threads (thread_flood.c).
 */
#include <limits.h>
#include <pthread.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hakmem/hakmem.h"
#include "workload.h"

namespace {

constexpr size_t kKeys = 80; /* from the 33rd key on pthread_setspecific itself allocates */
pthread_key_t keys[kKeys];
int rounds_seen;

struct Late {
  std::vector<std::string> texts;
  Late() : texts(50, std::string(100, 'x')) {}
  ~Late() {
    texts.resize(200, std::string(300, 'y'));
    work(3);
  }
};

thread_local Late late_in_thread;
Late late_in_process;

/* Frees the block found and leaves a new block for the next round: the system makes PTHREAD_DESTRUCTOR_ITERATIONS
 * rounds. The last round only frees, so that no block leaks. */
void leave_again(void *p) {
  struct Round {
    int number;
    pthread_key_t key;
  };
  auto *round = static_cast<Round *>(p);
  const Round next{round->number + 1, round->key};
  std::free(round);
  work(static_cast<uint32_t>(next.number));
  if (next.number > rounds_seen) rounds_seen = next.number;
  if (next.number >= PTHREAD_DESTRUCTOR_ITERATIONS) return;
  auto *again = static_cast<Round *>(std::malloc(sizeof(Round)));
  *again = next;
  pthread_setspecific(next.key, again);
}

void start_round(pthread_key_t key) {
  auto *first = static_cast<unsigned *>(std::malloc(8));
  first[0] = 0;
  first[1] = key;
  pthread_setspecific(key, first);
}

void live_and_die() {
  late_in_thread.texts.emplace_back("used");
  for (const pthread_key_t key : {keys[0], keys[40], keys[kKeys - 1]}) start_round(key);
  work(5);
}

/* Blocks left by an ended thread are freed by a living thread. */
void pass_blocks_to_the_living() {
  std::vector<void *> blocks;
  std::thread([&blocks] {
    live_and_die();
    for (size_t n = 1; n < 100000; n *= 2)
      for (int i = 0; i < 50; i++) blocks.push_back(std::malloc(n));
  }).join();
  for (void *p : blocks) std::free(p);
}

void at_exit() {
  work(11);
  std::thread(live_and_die).join();
}

__attribute__((constructor(101))) void before_all_else() { work(1); }
__attribute__((destructor(101))) void after_all_else() {
  work(2);
  static const char last[] = "ended\n";
  work_expect(write(STDOUT_FILENO, last, sizeof last - 1) == sizeof last - 1, "write");
}

}  // namespace

int main() {
  std::atexit(at_exit);
  for (pthread_key_t &key : keys) pthread_key_create(&key, leave_again);
  pass_blocks_to_the_living();
  const size_t before = hak_bytes_in_use();
  for (int i = 0; i < 300; i++) std::thread(live_and_die).join();
  pass_blocks_to_the_living();
  work_expect(hak_bytes_in_use() <= before, "dead threads left blocks in use");
  work_expect(rounds_seen == PTHREAD_DESTRUCTOR_ITERATIONS, "not every destructor round ran");
  live_and_die(); /* the main thread's own destructors run at exit */
  return 0;
}
