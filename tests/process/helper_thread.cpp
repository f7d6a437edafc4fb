/* helper_thread.cpp HOW: when a program has HAKMEM's helper thread, what that may be told by signals, and that it never
 * keeps a process from ending. One way to be per call, each a function below; process_test.py knows their names. */
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

namespace {

/* Pipes, as they need no memory: threads wait at the gate, and say at the other that they have asked for memory. */
int g_gate[2], g_ready[2];
std::atomic<bool> g_over;

void build_gate() { work_expect(pipe(g_gate) == 0 && pipe(g_ready) == 0, "pipe"); }

void wait_at(const int (&gate)[2]) {
  char byte;
  work_expect(read(gate[0], &byte, 1) == 1, "read from a pipe");
}

void open_gate(const int (&gate)[2]) { work_expect(write(gate[1], "x", 1) == 1, "write to a pipe"); }

void ask_for_memory() {
  free(malloc(100));
  open_gate(g_ready);
}

void *worker(void *) {
  ask_for_memory();
  wait_at(g_gate);
  work(3);
  return nullptr;
}

int c11_worker(void *) {
  worker(nullptr);
  return 0;
}

pthread_t start(void *(*body)(void *), void *own = nullptr) {
  pthread_t thread;
  work_expect(pthread_create(&thread, nullptr, body, own) == 0, "pthread_create");
  wait_at(g_ready);
  return thread;
}

pthread_t start_worker() { return start(worker); }

void end_worker(pthread_t thread) {
  open_gate(g_gate);
  pthread_join(thread, nullptr);
}

/* Either may be the one that comes through the gate first. */
void end_workers(pthread_t first, pthread_t second) {
  open_gate(g_gate);
  open_gate(g_gate);
  pthread_join(first, nullptr);
  pthread_join(second, nullptr);
}

/* So many threads of the program's, and one helper: no more, however long one looks. */
void expect_one_helper(int others) {
  free_much();
  work_expect(comes_true(one_helper), "no helper thread");
  for (int i = 0; i < 20; i++) work(7);
  free_much();
  work_expect(threads_now().all == others + 1, "another number of threads");
}

/* ---- who has one ---- */

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

/* A program whose threads have nothing to give back has no thread more than it made. */
void not_for_little() {
  pthread_t first = start_worker(), second = start_worker();
  for (uint32_t seed = 0; seed < 10; seed++) free(malloc(100 * seed));
  rest_ms(300);
  work_expect(threads_now().all == 3, "a helper thread for nothing");
  end_workers(first, second);
}

/* Run with HAKMEM_HELPER=off. */
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
  work_expect(hak_set("helper", "off") == 0, "hak_set");
  work_expect(comes_true(no_helper), "the helper thread stays though it was switched off");
  work_expect(hak_set("helper", "on") == 0, "hak_set");
  expect_one_helper(2);
  end_worker(first);
}

/* The kernel strikes a thread out a moment after it was joined, the program's own and HAKMEM's. */
void expect_gone() {
  for (int n = 0; n < 1000 && !no_helper(); n++) sched_yield();
  work_expect(no_helper(), "the helper thread outlives the last one that was joined");
}

/* Joined is joined. */
void gone_when_alone_again() {
  for (int round = 0; round < 20; round++) {
    pthread_t first = start_worker(), second = start_worker();
    expect_one_helper(3);
    end_workers(first, second);
    expect_gone();
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

/* ---- what concerns every thread ---- */

void in_a_child(void (*body)()) {
  const pid_t child = fork();
  work_expect(child >= 0, "fork");
  if (child == 0) {
    build_gate();
    body();
    _exit(0);
  }
  int status = 0;
  work_expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
}

void unshare_after_join() {
  pthread_t first = start_worker(), second = start_worker();
  expect_one_helper(3);
  end_workers(first, second);
  expect_gone();
  while (threads_now().all != 1) sched_yield();
  work_expect(unshare(CLONE_NEWUSER) == 0, "unshare is refused");
}

void unshares() {
  for (int i = 0; i < 10; i++) in_a_child(unshare_after_join);
}

size_t user_of(int thread) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  return proc_number(path, "Uid:", 10);
}

/* Run as root. */
void change_user() {
  start_worker();
  expect_one_helper(2);
  work_expect(setuid(4321) == 0, "setuid");
  work_expect(no_helper() || user_of(threads_now().helper) == 4321, "the helper thread is still root");
  free_much();
  work_expect(comes_true(one_helper), "no helper thread after setuid");
  work_expect(user_of(threads_now().helper) == 4321, "the helper thread is root again");
}

void changes_user() { in_a_child(change_user); }

/* Looked at again when it is not: it may have ended in between, and the thread that was seen been its forerunner. */
bool helper_is_of(uid_t user) {
  char path[64], text[2048];
  const int helper = threads_now().helper;
  if (helper == 0) return true;
  snprintf(path, sizeof path, "/proc/self/task/%d/status", helper);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (n <= 0) return true;
  text[n] = 0;
  uid_t real, effective;
  const char *at = strstr(text, "Uid:");
  return at == nullptr || sscanf(at, "Uid: %u %u", &real, &effective) != 2 || effective == user;
}

void *allocating_worker(void *) {
  ask_for_memory();
  for (uint32_t seed = 0; !g_over.load(); seed++) {
    work(seed);
    free_much();
  }
  return nullptr;
}

/* Run as root. A helper that begins meanwhile begins as the new user. */
void change_user_often() {
  enum { CHANGES = 1000, OTHER_USER = 4321 };
  pthread_t thread = start(allocating_worker);
  for (int n = 0; n < CHANGES; n++) {
    const uid_t user = n % 2 == 0 ? OTHER_USER : 0;
    work_expect(seteuid(user) == 0, "seteuid");
    work_expect(helper_is_of(user), "the helper thread is still the old user");
  }
  g_over = true;
  pthread_join(thread, nullptr);
}

void changes_user_often() { in_a_child(change_user_often); }

void be_real_time_on_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  const sched_param low = {1};
  work_expect(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
  pthread_setschedparam(pthread_self(), SCHED_FIFO, &low); /* refused in some containers */
}

void *real_time_worker(void *) {
  be_real_time_on_one_core();
  for (int n = 0; n < 30; n++) {
    free_much();
    work_expect(seteuid(geteuid()) == 0, "seteuid");
  }
  return nullptr;
}

/* Run as root. Whoever waits for the helper lets it run, and does not keep another one who waits from it. */
void changes_user_of_real_time_threads() {
  pthread_t thread[2];
  alarm(60);
  for (pthread_t &each : thread) pthread_create(&each, nullptr, real_time_worker, nullptr);
  for (pthread_t each : thread) pthread_join(each, nullptr);
}

void change_user_in_the_handler(int) { seteuid(geteuid()); }

/* The handler interrupts slow doors, and the thread that is about to start or to stop the helper; the first thread
 * only, as libc waits for ever where it interrupts what another thread's setuid does in this one. */
void changes_user_in_a_handler() {
  const itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  alarm(60);
  signal(SIGPROF, change_user_in_the_handler);
  sigset_t prof;
  sigemptyset(&prof);
  sigaddset(&prof, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &prof, nullptr);
  pthread_t thread = start(allocating_worker);
  pthread_sigmask(SIG_UNBLOCK, &prof, nullptr);
  setitimer(ITIMER_PROF, &often, nullptr);
  for (uint32_t seed = 0; seed < 100; seed++) work(seed);
  for (int i = 0; i < 20; i++) free_much();
  setitimer(ITIMER_PROF, &never, nullptr);
  g_over = true;
  pthread_join(thread, nullptr);
}

int g_own[2], g_private_gate[2];

/* Its descriptors and its folder are its own from here on, and are closed when it ends: a reader at the other end hears of it. */
void *private_worker(void *) {
  work_expect(unshare(CLONE_FILES | CLONE_FS) == 0, "unshare");
  ask_for_memory();
  wait_at(g_private_gate);
  free_much();
  return nullptr;
}

void leaves_private_descriptors() {
  char byte;
  pthread_t other = start_worker();
  work_expect(pipe(g_own) == 0 && pipe(g_private_gate) == 0, "pipe");
  pthread_t thread = start(private_worker);
  close(g_own[1]);
  open_gate(g_private_gate);
  pthread_join(thread, nullptr);
  alarm(5);
  work_expect(read(g_own[0], &byte, 1) == 0, "read from a closed pipe");
  alarm(0);
  end_worker(other);
}

void enter_sandbox() {
  start_worker();
  expect_one_helper(2);
  work_expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  work_expect(no_helper(), "a helper thread in a sandbox");
  for (int i = 0; i < 5; i++) free_much();
  work_expect(no_helper(), "a helper thread started in a sandbox");
}

void sandboxed() { in_a_child(enter_sandbox); }

/* A child of vfork shares its parent's memory: what it says of itself is not true of the parent. */
void vforked() {
  pthread_t thread = start_worker();
  expect_one_helper(2);
  const pid_t child = vfork();
  if (child == 0) {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  work_expect(comes_true(no_helper) || one_helper(), "more than one helper");
  expect_one_helper(2);
  end_worker(thread);
}

/* ---- what it has of its maker ---- */

void *pinned_worker(void *) {
  be_real_time_on_one_core();
  free_much();
  open_gate(g_ready);
  wait_at(g_gate);
  return nullptr;
}

/* Run as root. */
void is_no_real_time_thread() {
  cpu_set_t mine, its;
  free(malloc(100));
  pthread_t thread = start(pinned_worker);
  work_expect(comes_true(one_helper), "no helper thread");
  rest_ms(20);
  const int helper = threads_now().helper;
  sched_getaffinity(0, sizeof mine, &mine);
  work_expect(sched_getaffinity(helper, sizeof its, &its) == 0, "sched_getaffinity");
  work_expect(CPU_EQUAL(&mine, &its), "the helper thread is bound to its maker's core");
  work_expect(sched_getscheduler(helper) == SCHED_OTHER, "the helper is a real-time thread");
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

/* What is sent to a process whose threads all block it waits for them, also what a thread may bring upon itself. */
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

/* The exit handlers are run by the program's last thread, on a stack of the program's. */
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

/* Not the process's end: the kernel's call, which nobody hears of. The process ends with its last thread. */
void by_the_kernels_exit() {
  pthread_t thread = start_worker();
  expect_one_helper(2);
  end_worker(thread);
  at_exit();
  syscall(SYS_exit, 0);
}

/* ---- it cannot be made ---- */

/* The blocks are there when there is no room for a stack. */
void without_address_space() {
  enum { BLOCKS = 30 };
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
  expect_one_helper(2);
  end_worker(thread);
}

/* A program that was told how many it may have counts on all of them. */
void not_where_threads_are_few() {
  const rlimit few = {500, 500};
  work_expect(setrlimit(RLIMIT_NPROC, &few) == 0, "setrlimit");
  pthread_t thread = start_worker();
  for (int i = 0; i < 5; i++) free_much();
  work_expect(threads_now().all == 2, "a helper thread where threads are few");
  end_worker(thread);
}

/* Run as a user who may have two threads. */
void without_a_thread_left() {
  pthread_t thread = start_worker();
  for (uint32_t seed = 0; seed < 50; seed++) work(seed);
  free_much();
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
    {"not_for_little", not_for_little},
    {"starts_for_big_blocks", starts_for_big_blocks},
    {"not_wanted", not_wanted},
    {"switched_off_and_on", switched_off_and_on},
    {"gone_when_alone_again", gone_when_alone_again},
    {"gone_when_nothing_is_left", gone_when_nothing_is_left},
    {"unshares", unshares},
    {"changes_user", changes_user},
    {"changes_user_often", changes_user_often},
    {"changes_user_of_real_time_threads", changes_user_of_real_time_threads},
    {"changes_user_in_a_handler", changes_user_in_a_handler},
    {"leaves_private_descriptors", leaves_private_descriptors},
    {"sandboxed", sandboxed},
    {"vforked", vforked},
    {"is_no_real_time_thread", is_no_real_time_thread},
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

int main(int count, char **arguments) {
  build_gate();
  for (const auto &way : ways) {
    if (count != 2 || strcmp(arguments[1], way.name) != 0) continue;
    way.run();
    return 0;
  }
  work_failed("usage: helper_thread HOW");
}
