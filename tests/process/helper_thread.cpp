/* helper_thread.cpp HOW: when a program has HAKMEM's helper thread, what that may be told by signals, and that it never
 * keeps a process from ending. One way to be per call, each a function below; process_test.py knows their names. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <threads.h>

#include <thread>

#include "observe.h"

namespace {

int g_gate[2]; /* threads wait here: a pipe needs no memory */

void build_gate() { work_expect(pipe(g_gate) == 0, "pipe"); }

void wait_at_gate() {
  char byte;
  work_expect(read(g_gate[0], &byte, 1) == 1, "read from a pipe");
}

void open_gate() { work_expect(write(g_gate[1], "x", 1) == 1, "write to a pipe"); }

void *worker(void *) {
  free(malloc(100));
  wait_at_gate();
  work(3);
  return nullptr;
}

int c11_worker(void *) {
  worker(nullptr);
  return 0;
}

pthread_t start_worker() {
  pthread_t thread;
  work_expect(pthread_create(&thread, nullptr, worker, nullptr) == 0, "pthread_create");
  return thread;
}

void end_worker(pthread_t thread) {
  open_gate();
  pthread_join(thread, nullptr);
}

/* Main, one worker, one helper: no more, however long one looks. */
void expect_one_helper(int others) {
  work_expect(comes_true(one_helper), "no helper thread");
  for (int i = 0; i < 20; i++) work(7);
  work_expect(threads_now().all == others + 1, "another number of threads");
}

/* ---- who has one ---- */

void alone_always() {
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  void *held[500];
  for (void *&p : held) p = memset(malloc(128 << 10), 1, 128 << 10);
  for (void *p : held) free(p);
  work_expect(malloc_trim(0) == 1, "nothing to trim");
  work_expect(threads_now().all == 1, "a single-threaded program has a second thread");
}

void by_pthread_create() {
  pthread_t first = start_worker(), second = start_worker();
  expect_one_helper(3);
  end_worker(first);
  end_worker(second);
}

void by_thrd_create() {
  thrd_t thread;
  work_expect(thrd_create(&thread, c11_worker, nullptr) == thrd_success, "thrd_create");
  expect_one_helper(2);
  open_gate();
  thrd_join(thread, nullptr);
}

void by_std_thread() {
  std::thread thread(c11_worker, nullptr);
  expect_one_helper(2);
  open_gate();
  thread.join();
}

/* Run with HAKMEM_HELPER=off. */
void not_wanted() {
  pthread_t thread = start_worker();
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  work_expect(threads_now().all == 2, "a helper thread that was switched off");
  end_worker(thread);
}

void switched_off_and_on() {
  pthread_t first = start_worker();
  expect_one_helper(2);
  work_expect(hak_set("helper", "off") == 0, "hak_set");
  work_expect(comes_true(no_helper), "the helper thread stays though it was switched off");
  work_expect(hak_set("helper", "on") == 0, "hak_set");
  pthread_t second = start_worker();
  expect_one_helper(3);
  end_worker(first);
  end_worker(second);
}

/* Run with a price at which nothing is kept for long. */
void gone_when_alone_again() {
  end_worker(start_worker());
  work(5);
  work_expect(comes_true(alone), "the helper thread stays though the program is alone");
  pthread_t thread = start_worker();
  expect_one_helper(2);
  end_worker(thread);
  work_expect(comes_true(alone), "the helper thread stays the second time");
}

/* Threads of a pool that has not had any work: they have not asked for memory yet, and will. The price as above. */
void *idle_worker(void *) {
  wait_at_gate();
  work(3);
  wait_at_gate();
  return nullptr;
}

void stays_for_an_idle_pool() {
  pthread_t threads[2];
  for (pthread_t &thread : threads) pthread_create(&thread, nullptr, idle_worker, nullptr);
  work_expect(comes_true(one_helper), "no helper thread");
  for (int look = 0; look < 60; look++) {
    rest_ms(LOOK_EVERY_MS);
    work_expect(one_helper(), "the helper thread ended before the program's threads did");
  }
  for (int i = 0; i < 4; i++) open_gate();
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
}

/* ---- signals ---- */

const int own_signals[] = {SIGSYS, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT};

bool is_own(int number) {
  for (int own : own_signals) {
    if (own == number) return true;
  }
  return false;
}

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
  for (int number = 1; number <= 31; number++) {
    if (number == SIGKILL || number == SIGSTOP) continue;
    bool blocked = blocked_of(threads_now().helper) >> (number - 1) & 1;
    work_expect(blocked != is_own(number), strsignal(number));
    work_expect(sigismember(&after, number) == (number == SIGUSR1), "the maker's own mask changed");
  }
  end_worker(thread);
}

/* ---- fork ---- */

void in_the_child() {
  build_gate();
  work_expect(threads_now().all == 1, "a forked child has a second thread");
  work(11);
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

/* The exit handlers are run by whoever is last: a worker, or the helper. */
void *late_worker(void *) {
  wait_at_gate();
  work(3);
  return nullptr;
}

void by_pthread_exit_of_main() {
  atexit(at_exit);
  pthread_t thread;
  pthread_create(&thread, nullptr, late_worker, nullptr);
  work_expect(comes_true(one_helper), "no helper thread");
  open_gate();
  pthread_exit(nullptr);
}

void *last_worker(void *main_thread) {
  pthread_join(*static_cast<pthread_t *>(main_thread), nullptr);
  work(3);
  return nullptr;
}

void by_the_last_worker() {
  static pthread_t self = pthread_self();
  atexit(at_exit);
  pthread_t thread;
  pthread_create(&thread, nullptr, last_worker, &self);
  work_expect(comes_true(one_helper), "no helper thread");
  pthread_exit(nullptr);
}

/* ---- it cannot be made ---- */

/* Room for the worker's stack, not for the helper's. */
void without_address_space() {
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  const size_t mapped = proc_number("/proc/self/status", "VmSize:", 10) << 10;
  struct rlimit before, tiny;
  getrlimit(RLIMIT_AS, &before);
  tiny = before;
  tiny.rlim_cur = mapped + (128 << 10);
  work_expect(setrlimit(RLIMIT_AS, &tiny) == 0, "setrlimit");
  work_expect(pthread_create(&thread, &small, worker, nullptr) == 0, "pthread_create");
  work_expect(setrlimit(RLIMIT_AS, &before) == 0, "setrlimit");
  work_expect(threads_now().all == 2, "the helper thread found room");
  end_worker(thread);
  pthread_t second = start_worker();
  expect_one_helper(2);
  end_worker(second);
}

/* Run as a user who may have two threads. */
void without_a_thread_left() {
  pthread_t thread = start_worker();
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  work_expect(threads_now().all == 2, "the limit on threads was ignored");
  end_worker(thread);
}

const struct {
  const char *name;
  void (*run)();
} ways[] = {
    {"alone_always", alone_always},
    {"by_pthread_create", by_pthread_create},
    {"by_thrd_create", by_thrd_create},
    {"by_std_thread", by_std_thread},
    {"not_wanted", not_wanted},
    {"switched_off_and_on", switched_off_and_on},
    {"gone_when_alone_again", gone_when_alone_again},
    {"stays_for_an_idle_pool", stays_for_an_idle_pool},
    {"blocks_signals", blocks_signals},
    {"after_fork", after_fork},
    {"by_exit", by_exit},
    {"by_underscore_exit", by_underscore_exit},
    {"by_quick_exit", by_quick_exit},
    {"by_exit_of_another_thread", by_exit_of_another_thread},
    {"by_exec", by_exec},
    {"says_ended", says_ended},
    {"by_pthread_exit_of_main", by_pthread_exit_of_main},
    {"by_the_last_worker", by_the_last_worker},
    {"without_address_space", without_address_space},
    {"without_a_thread_left", without_a_thread_left},
};

}  // namespace

int main(int count, char **arguments) {
  build_gate();
  for (const auto &way : ways) {
    if (count != 2 || strcmp(arguments[1], way.name) != 0) continue;
    way.run();
    return 0;
  }
  work_failed("usage: helper_thread HOW");
}
