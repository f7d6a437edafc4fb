/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// crowd.cpp THREADS BLOCKS: instructions of rare calls, beside THREADS threads or BLOCKS big blocks.
//
// what      THREADS threads allocate and wait. Then the probe counts, under these names:
//             first_malloc   the first malloc of one more thread
//             mallinfo2      the statistics
//             child          the first slow path of a fork's child, which has lost the threads
//             owns           hak_owns of a foreign pointer, beside BLOCKS big blocks
// owner     Blocks and threads live until the process ends.
// locks     None: threads take turns under valgrind, and pass a pipe.
// failure   Exit 1 with one line on stderr.
// not here  The bounds: crowd.py.
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include "probe.h"

namespace {

int g_ready[2];

void say_ready() {
  if (write(g_ready[1], "x", 1) != 1) probe::give_up("writing", 1);
}

void wait_until_ready() {
  char byte;
  if (read(g_ready[0], &byte, 1) != 1) probe::give_up("reading", 1);
}

[[noreturn]] void wait_for_ever() {
  say_ready();
  for (;;) pause();
}

template <class Body>
void count(const char *name, Body body) {
  CALLGRIND_TOGGLE_COLLECT;
  body();
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_DUMP_STATS_AT(name);
}

void *one_of_many(void *) {
  for (size_t bytes = 16; bytes <= 4096; bytes *= 4) std::free(probe::kept(std::malloc(bytes), "malloc", bytes));
  wait_for_ever();
}

void *the_last(void *) {
  count("first_malloc", [] { probe::kept(std::malloc(200), "malloc", 200); });
  wait_for_ever();
}

void start(void *(*body)(void *)) {
  pthread_t thread;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  if (pthread_create(&thread, &small, body, nullptr) != 0) probe::give_up("a thread", 0);
  wait_until_ready();
}

void in_a_child() {
  const pid_t child = fork();
  if (child == 0) {
    count("child", [] { probe::kept(std::malloc(23000), "malloc", 23000); });
    _exit(0);
  }
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) probe::give_up("a child", 0);
}

}  // namespace

int main(int count_of_arguments, char **arguments) {
  if (count_of_arguments != 3 || pipe(g_ready) != 0) probe::give_up("THREADS BLOCKS", 0);
  probe::name_library();
  std::fflush(stdout);
  auto *owns = reinterpret_cast<bool (*)(const void *)>(dlsym(RTLD_DEFAULT, "hak_owns"));
  for (int n = std::atoi(arguments[1]); n > 0; n--) start(one_of_many);
  for (int n = std::atoi(arguments[2]); n > 0; n--) probe::kept(std::malloc(1 << 20), "malloc", 1 << 20);
  std::free(probe::kept(std::malloc(300), "malloc", 300));
  start(the_last);
  count("mallinfo2", [] { mallinfo2(); });
  if (owns != nullptr) count("owns", [owns] { owns(&g_ready); });
  in_a_child();
  std::fflush(stdout);
  _exit(0);
}
