/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* helper_thread.cpp HOW: when a program has HAKMEM's background thread, which signals the thread may get, and that the
 * thread never keeps a process from ending. A case per call, each a function below; memory_test.py lists the names.
 */
#include "helper_case.h"

namespace {

/* ---- programs with and without a background thread ---- */

void alone_always() {
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  void *held[500];
  for (void *&p : held) p = memset(malloc(128 << 10), 1, 128 << 10);
  for (void *p : held) free(p);
  free_much();
  work_expect(malloc_trim(0) == 1, "nothing to trim");
  work_expect(threads_now().all == 1, "a single-threaded program has a second thread");
}

void by_pthread_create() {
  pthread_t first = start_worker(), second = start_worker();
  expect_one_helper(3);
  end_workers(first, second);
}

void by_thrd_create() {
  thrd_t thread;
  work_expect(thrd_create(&thread, c11_worker, nullptr) == thrd_success, "thrd_create");
  wait_at(g_ready);
  expect_one_helper(2);
  open_gate(g_gate);
  thrd_join(thread, nullptr);
}

void by_std_thread() {
  std::thread thread(c11_worker, nullptr);
  wait_at(g_ready);
  expect_one_helper(2);
  open_gate(g_gate);
  thread.join();
}

void starts_for_big_blocks() {
  pthread_t thread = start_worker();
  void *held[4];
  for (void *&p : held) p = memset(malloc(4 * MIB), 1, 4 * MIB);
  for (void *p : held) free(p);
  work_expect(comes_true(one_helper), "big blocks stay: no helper thread");
  end_worker(thread);
}

/* ---- when the last of the threads has ended ---- */

void *big_worker(void *) {
  void *held[16];
  for (int n = 0; n < 3; n++) {
    for (void *&p : held) p = memset(malloc(2 * MIB), 1, 2 * MIB);
    for (void *p : held) free(p);
  }
  return nullptr;
}

void run_big_workers() {
  pthread_t thread[2];
  for (pthread_t &each : thread) pthread_create(&each, nullptr, big_worker, nullptr);
  for (pthread_t each : thread) pthread_join(each, nullptr);
}

/* The last remaining thread may sleep for ever. */
void gives_back_at_the_last_end() {
  const size_t before = anonymous_bytes();
  run_big_workers();
  work_expect(anonymous_bytes() < before + 24 * MIB, "what ended threads freed stays");
}

/* A thread's end just before, with nothing free, tells nothing about the memory of later threads. */
void gives_back_though_one_had_just_ended() {
  const size_t before = anonymous_bytes();
  end_worker(start_worker());
  run_big_workers();
  work_expect(anonymous_bytes() < before + 24 * MIB, "what threads freed stays, as another had just ended");
}

/* Threads that run in sequence: at each thread's end only the main thread is left. Each round proves 8 of 64 MiB. */
void keeps_it_for_threads_that_begin_soon() {
  rusage before, after;
  for (int n = 0; n < 10; n++) run_big_workers();
  getrusage(RUSAGE_SELF, &before);
  for (int n = 0; n < 8; n++) run_big_workers();
  getrusage(RUSAGE_SELF, &after);
  work_expect(after.ru_minflt - before.ru_minflt < 3L * 32 * 512, "what is taken again at once was given back");
}

/* A program whose threads have no memory to release gets no extra thread. */
void not_for_little() {
  pthread_t first = start_worker(), second = start_worker();
  for (uint32_t seed = 0; seed < 10; seed++) free(malloc(100 * seed));
  rest_ms(300);
  work_expect(threads_now().all == 3, "a helper thread for nothing");
  end_workers(first, second);
}

/* Run with HAKMEM_BACKGROUND_THREAD=off. */
void not_wanted() {
  pthread_t thread = start_worker();
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  free_much();
  work_expect(threads_now().all == 2, "a helper thread that was switched off");
  end_worker(thread);
}

void switched_off_and_on() {
  pthread_t first = start_worker();
  expect_one_helper(2);
  work_expect(hak_set("background_thread", "off") == 0, "hak_set");
  work_expect(comes_true(no_helper), "the helper thread stays though it was switched off");
  work_expect(hak_set("background_thread", "on") == 0, "hak_set");
  expect_one_helper(2);
  end_worker(first);
}

/* Joined is joined. */
void gone_when_alone_again() {
  for (int round = 0; round < 20; round++) {
    pthread_t first = start_worker(), second = start_worker();
    expect_one_helper(3);
    end_workers(first, second);
    expect_gone("the helper thread outlives the last one that was joined");
    free_much();
    work_expect(no_helper(), "a helper thread for a program of one thread");
  }
}

/* Run with a price at which nothing is kept for long. */
void gone_when_nothing_is_left() {
  pthread_t thread = start_worker();
  for (int round = 0; round < 3; round++) {
    expect_one_helper(2);
    work_expect(comes_true(no_helper), "the helper thread stays though nothing is left to give back");
  }
  end_worker(thread);
}

/* ---- signals ---- */

uint64_t blocked_of(int thread) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  return proc_number(path, "SigBlk:", 16);
}

void blocks_signals() {
  sigset_t before, after;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_t thread = start_worker();
  expect_one_helper(2);
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  const uint64_t blocked = blocked_of(threads_now().helper);
  for (int number = 1; number <= 64; number++) {
    if (number == SIGKILL || number == SIGSTOP) continue;
    work_expect(blocked >> (number - 1) & 1, strsignal(number));
    if (number > 31) continue;
    work_expect(sigismember(&after, number) == (number == SIGUSR1), "the maker's own mask changed");
  }
  end_worker(thread);
}

/* A signal to a process whose threads all block the signal stays pending for these threads, also a signal that a thread
 * may raise by a fault. */
void leaves_signals_pending() {
  sigset_t all, pending;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  pthread_t thread = start_worker();
  expect_one_helper(2);
  for (int number : {SIGABRT, SIGTRAP, SIGBUS, SIGSEGV, SIGSYS, SIGFPE, SIGILL, SIGTERM}) {
    work_expect(kill(getpid(), number) == 0, "kill");
    rest_ms(2);
    sigpending(&pending);
    work_expect(sigismember(&pending, number) == 1, strsignal(number));
  }
  end_worker(thread);
}

/* ---- fork ---- */

void in_the_child() {
  build_gate();
  work_expect(threads_now().all == 1, "a forked child has a second thread");
  work(11);
  free_much();
  work_expect(threads_now().all == 1, "a forked child has a second thread after it allocated");
  pthread_t thread = start_worker();
  expect_one_helper(2);
  end_worker(thread);
}

void forked(int generations) {
  if (generations == 0) return;
  pid_t child = fork();
  work_expect(child >= 0, "fork");
  if (child == 0) {
    in_the_child();
    forked(generations - 1);
    _exit(0);
  }
  int status = 0;
  work_expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
}

void after_fork() {
  pthread_t thread = start_worker();
  expect_one_helper(2);
  forked(3);
  expect_one_helper(2);
  end_worker(thread);
}

/* ---- the process ends ---- */

[[noreturn]] void leave(void (*end)()) {
  start_worker();
  expect_one_helper(2);
  end();
  work_failed("the process goes on");
}

void at_exit() {
  work(99);
  work_expect(write(STDOUT_FILENO, "ended\n", 6) == 6, "write");
}

void by_exit() {
  atexit(at_exit);
  leave([] { exit(0); });
}

void by_underscore_exit() {
  leave([] {
    at_exit();
    _exit(0);
  });
}

void by_quick_exit() {
  at_quick_exit(at_exit);
  leave([] { quick_exit(0); });
}

void *exiting_worker(void *) { exit(0); }

void by_exit_of_another_thread() {
  atexit(at_exit);
  leave([] {
    pthread_t thread;
    pthread_create(&thread, nullptr, exiting_worker, nullptr);
    pthread_join(thread, nullptr);
  });
}

void by_exec() {
  leave([] { execl("/proc/self/exe", "helper_thread", "says_ended", nullptr); });
}

void says_ended() { at_exit(); }

/* The program's last thread runs the exit handlers, on a stack of the program. */
void at_exit_with_much_stack() {
  enum { STACK = 1 << 20 };
  char *much = static_cast<char *>(alloca(STACK));
  for (int i = 0; i < STACK; i += 4096) *static_cast<volatile char *>(much + i) = 1;
  at_exit();
}

void *late_worker(void *) {
  ask_for_memory();
  wait_at(g_gate);
  work(3);
  return nullptr;
}

void by_pthread_exit_of_main() {
  atexit(at_exit_with_much_stack);
  for (int i = 0; i < 2; i++) start(late_worker);
  free_much();
  work_expect(comes_true(one_helper), "no helper thread");
  for (int i = 0; i < 2; i++) open_gate(g_gate);
  pthread_exit(nullptr);
}

void *last_worker(void *main_thread) {
  ask_for_memory();
  pthread_join(*static_cast<pthread_t *>(main_thread), nullptr);
  work(3);
  free_much();
  return nullptr;
}

void by_the_last_worker() {
  static pthread_t self = pthread_self();
  atexit(at_exit_with_much_stack);
  start(last_worker, &self);
  free_much();
  work_expect(comes_true(one_helper), "no helper thread");
  pthread_exit(nullptr);
}

/* Not the end of the process: the kernel's exit call, which libc does not see. The process ends with its last
 * thread. */
void by_the_kernels_exit() {
  pthread_t thread = start_worker();
  expect_one_helper(2);
  end_worker(thread);
  at_exit();
  syscall(SYS_exit, 0);
}

/* ---- the thread cannot be started ---- */

/* The blocks exist before the room for a stack is used up. */
void without_address_space() {
  enum { BLOCKS = 30, TRIED_AGAIN_MS = 50 }; /* a failed start is not tried again for 20 ms */
  void *held[BLOCKS];
  pthread_t thread = start_worker();
  for (void *&p : held) p = memset(malloc(MIB - 4096), 1, MIB - 4096);
  struct rlimit before, tiny;
  getrlimit(RLIMIT_AS, &before);
  tiny = before;
  tiny.rlim_cur = proc_number("/proc/self/status", "VmSize:", 10) << 10;
  work_expect(setrlimit(RLIMIT_AS, &tiny) == 0, "setrlimit");
  for (void *p : held) free(p);
  for (uint32_t seed = 0; seed < 50; seed++) free(malloc(seed * 1000));
  work_expect(threads_now().all == 2, "the helper thread found room");
  work_expect(setrlimit(RLIMIT_AS, &before) == 0, "setrlimit");
  rest_ms(TRIED_AGAIN_MS);
  expect_one_helper(2);
  end_worker(thread);
}

/* A program with a limit on threads counts on all of the limit. */
void not_where_threads_are_few() {
  const rlimit few = {500, 500};
  work_expect(setrlimit(RLIMIT_NPROC, &few) == 0, "setrlimit");
  pthread_t thread = start_worker();
  for (int i = 0; i < 5; i++) free_much();
  work_expect(threads_now().all == 2, "a helper thread where threads are few");
  end_worker(thread);
}

/* Run as a user with a limit of two threads. */
void without_a_thread_left() {
  pthread_t thread = start_worker();
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  free_much();
  work_expect(threads_now().all == 2, "the limit on threads was ignored");
  end_worker(thread);
}

const way ways[] = {
    {"alone_always", alone_always},
    {"by_pthread_create", by_pthread_create},
    {"by_thrd_create", by_thrd_create},
    {"by_std_thread", by_std_thread},
    {"not_for_little", not_for_little},
    {"starts_for_big_blocks", starts_for_big_blocks},
    {"gives_back_at_the_last_end", gives_back_at_the_last_end},
    {"gives_back_though_one_had_just_ended", gives_back_though_one_had_just_ended},
    {"keeps_it_for_threads_that_begin_soon", keeps_it_for_threads_that_begin_soon},
    {"not_wanted", not_wanted},
    {"switched_off_and_on", switched_off_and_on},
    {"gone_when_alone_again", gone_when_alone_again},
    {"gone_when_nothing_is_left", gone_when_nothing_is_left},
    {"blocks_signals", blocks_signals},
    {"leaves_signals_pending", leaves_signals_pending},
    {"after_fork", after_fork},
    {"by_exit", by_exit},
    {"by_underscore_exit", by_underscore_exit},
    {"by_quick_exit", by_quick_exit},
    {"by_exit_of_another_thread", by_exit_of_another_thread},
    {"by_exec", by_exec},
    {"says_ended", says_ended},
    {"by_pthread_exit_of_main", by_pthread_exit_of_main},
    {"by_the_last_worker", by_the_last_worker},
    {"by_the_kernels_exit", by_the_kernels_exit},
    {"without_address_space", without_address_space},
    {"not_where_threads_are_few", not_where_threads_are_few},
    {"without_a_thread_left", without_a_thread_left},
};

}  // namespace

int main(int count, char **arguments) { return run_way(ways, count, arguments); }
