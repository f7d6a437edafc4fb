/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* helper_case.h: shared parts of the programs about HAKMEM's background thread.
 *
 * what      Threads that wait at a gate, expectations on the background thread, and the table of cases.
 * owner     The caller's thread.
 * failure   A line on stderr and exit status 1.
 * not here  What a program sees of itself: observe.h.
 */
#ifndef HAK_TESTS_PROCESS_HELPER_CASE_H
#define HAK_TESTS_PROCESS_HELPER_CASE_H

#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>

#include <atomic>
#include <initializer_list>
#include <thread>

#include "observe.h"


/* Pipes, as these need no memory: threads wait at the gate, and report at the second pipe after the first
 * allocation. */
inline int g_gate[2], g_ready[2];
inline std::atomic<bool> g_over;

inline void build_gate() { work_expect(pipe(g_gate) == 0 && pipe(g_ready) == 0, "pipe"); }

inline void wait_at(const int (&gate)[2]) {
  char byte;
  work_expect(read(gate[0], &byte, 1) == 1, "read from a pipe");
}

inline void open_gate(const int (&gate)[2]) { work_expect(write(gate[1], "x", 1) == 1, "write to a pipe"); }

inline void ask_for_memory() {
  free(malloc(100));
  open_gate(g_ready);
}

inline void *worker(void *) {
  ask_for_memory();
  wait_at(g_gate);
  work(3);
  return nullptr;
}

inline int c11_worker(void *) {
  worker(nullptr);
  return 0;
}

inline pthread_t start(void *(*body)(void *), void *own = nullptr) {
  pthread_t thread;
  work_expect(pthread_create(&thread, nullptr, body, own) == 0, "pthread_create");
  wait_at(g_ready);
  return thread;
}

inline pthread_t start_worker() { return start(worker); }

inline void end_worker(pthread_t thread) {
  open_gate(g_gate);
  pthread_join(thread, nullptr);
}

/* Either thread may pass the gate first. */
inline void end_workers(pthread_t first, pthread_t second) {
  open_gate(g_gate);
  open_gate(g_gate);
  pthread_join(first, nullptr);
  pthread_join(second, nullptr);
}

/* Expects one background thread beside `others` threads of the program, also after more work. */
inline void expect_one_helper(int others) {
  free_much();
  work_expect(comes_true(one_helper), "no helper thread");
  for (int i = 0; i < 20; i++) work(7);
  free_much();
  work_expect(threads_now().all == others + 1, "another number of threads");
}

/* The kernel removes a joined thread a moment later, the program's and HAKMEM's. */
inline void expect_gone(const char *otherwise) {
  for (int n = 0; n < 1000 && !no_helper(); n++) sched_yield();
  work_expect(no_helper(), otherwise);
}

struct way {
  const char *name;
  void (*run)();
};

/* Runs the case that the command line names. */
template <size_t kWays>
int run_way(const way (&ways)[kWays], int count, char **arguments) {
  build_gate();
  for (const way &each : ways) {
    if (count != 2 || strcmp(arguments[1], each.name) != 0) continue;
    each.run();
    return 0;
  }
  work_failed("no such way to be");
}

#endif
