/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* helper_rights.cpp HOW: the background thread and calls that concern every thread of a process: users, namespaces,
 * descriptors, sandboxes, real-time threads. A case per call; memory_test.py lists the names. */
#include <grp.h>
#include <linux/capability.h>

#include "helper_case.h"

namespace {

/* ---- calls that concern every thread ---- */

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
  expect_gone("the helper thread outlives the last one that was joined");
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
  expect_gone("the helper thread is still root");
  free_much();
  work_expect(comes_true(one_helper), "no helper thread after setuid");
  work_expect(user_of(threads_now().helper) == 4321, "the helper thread is root again");
}

void changes_user() { in_a_child(change_user); }

size_t capabilities_of(int thread) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
  return proc_number(path, "CapEff:", 16);
}

extern "C" int capset(void *, const void *);

/* Run as root. The only thread that allocates drops its capabilities. */
void drop_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  start_worker();
  expect_one_helper(2);
  work_expect(capset(&header, none) == 0, "capset");
  expect_gone("the helper thread keeps its capabilities");
  free_much();
  work_expect(comes_true(one_helper), "no helper thread after capset");
  work_expect(capabilities_of(threads_now().helper) == 0, "the helper thread has capabilities again");
}

void drops_capabilities() { in_a_child(drop_capabilities); }

/* True also if there is no background thread, or the thread ended meanwhile. */
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

/* Run as root. A background thread that starts meanwhile starts as the new user. */
void change_user_often() {
  enum { CHANGES = 1000, OTHER_USER = 4321 };
  pthread_t thread = start(allocating_worker);
  for (int n = 0; n < CHANGES; n++) {
    const uid_t user = n % 2 == 0 ? OTHER_USER : 0;
    work_expect(seteuid(user) == 0, "seteuid");
    for (int looks = 0; looks < 1000 && !helper_is_of(user); looks++) sched_yield(); /* as in expect_gone */
    work_expect(helper_is_of(user), "the helper thread is still the old user");
  }
  g_over = true;
  pthread_join(thread, nullptr);
}

void changes_user_often() { in_a_child(change_user_often); }

/* The child's first block is libc's, inside a call that ends the background thread first. */
void become_a_daemon() {
  initgroups("root", 0);
  start_worker();
  expect_one_helper(2);
}

void becomes_a_daemon() {
  free(malloc(100));
  in_a_child(become_a_daemon);
}

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

/* Run as root. A thread that waits for the background thread lets that thread run, and does not block a second waiting
 * thread. */
void changes_user_of_real_time_threads() {
  pthread_t thread[2];
  alarm(60);
  for (pthread_t &each : thread) pthread_create(&each, nullptr, real_time_worker, nullptr);
  for (pthread_t each : thread) pthread_join(each, nullptr);
}

/* The next signal comes some processor time after the handler: on a slow machine, too, work goes on between two. */
void next_signal(suseconds_t us) {
  const itimerval once = {{0, 0}, {0, us}};
  setitimer(ITIMER_PROF, &once, nullptr);
}

void change_user_in_the_handler(int) {
  seteuid(geteuid());
  next_signal(300);
}

/* The handler interrupts slow paths, and the thread that is about to start or stop the background thread; only in the
 * first thread, as libc waits for ever if the handler interrupts the part of setuid that libc runs in the remaining
 * threads. */
void changes_user_in_a_handler() {
  alarm(60);
  signal(SIGPROF, change_user_in_the_handler);
  sigset_t prof;
  sigemptyset(&prof);
  sigaddset(&prof, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &prof, nullptr);
  pthread_t thread = start(allocating_worker);
  pthread_sigmask(SIG_UNBLOCK, &prof, nullptr);
  next_signal(300);
  for (uint32_t seed = 0; seed < 100; seed++) work(seed);
  for (int i = 0; i < 20; i++) free_much();
  pthread_sigmask(SIG_BLOCK, &prof, nullptr);
  g_over = true;
  pthread_join(thread, nullptr);
}

int g_own[2], g_private_gate[2];

/* From here on the thread has separate descriptors and a separate folder, closed at the thread's end: a reader at the
 * pipe's end sees the close. */
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
  expect_gone("a helper thread in a sandbox");
  for (int i = 0; i < 5; i++) free_much();
  work_expect(no_helper(), "a helper thread started in a sandbox");
}

void sandboxed() { in_a_child(enter_sandbox); }

/* A child of vfork shares its parent's memory: the child's settings must not become the parent's. */
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

/* ---- inherited from the starting thread ---- */

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

void *idle_worker(void *) {
  const sched_param none = {0};
  work_expect(sched_setscheduler(0, SCHED_IDLE, &none) == 0, "sched_setscheduler");
  free_much();
  open_gate(g_ready);
  wait_at(g_gate);
  return nullptr;
}

void is_no_idle_thread() {
  free(malloc(100));
  pthread_t thread = start(idle_worker);
  work_expect(comes_true(one_helper), "no helper thread");
  rest_ms(20);
  work_expect(sched_getscheduler(threads_now().helper) == SCHED_OTHER, "the helper gives way to everyone");
  end_worker(thread);
}

const way ways[] = {
    {"unshares", unshares},
    {"changes_user", changes_user},
    {"changes_user_often", changes_user_often},
    {"drops_capabilities", drops_capabilities},
    {"changes_user_of_real_time_threads", changes_user_of_real_time_threads},
    {"changes_user_in_a_handler", changes_user_in_a_handler},
    {"leaves_private_descriptors", leaves_private_descriptors},
    {"sandboxed", sandboxed},
    {"vforked", vforked},
    {"is_no_real_time_thread", is_no_real_time_thread},
    {"is_no_idle_thread", is_no_idle_thread},
    {"becomes_a_daemon", becomes_a_daemon},
};

}  // namespace

int main(int count, char **arguments) { return run_way(ways, count, arguments); }
