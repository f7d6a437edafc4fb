/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* forked.h: shared parts of the stress tests: a finding ends the process, and a child checks all blocks after a fork.
 *
 * what      failed() prints the finding and its place; fork_once() forks, runs the child's part and waits for the
 *           child.
 * owner     g_in_child, the process's.
 * failure   A line and exit status 1. A child that hangs is ended by an alarm.
 */
#ifndef HAK_TESTS_STRESS_FORKED_H
#define HAK_TESTS_STRESS_FORKED_H

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace forked {

constexpr bool kMayFork = HAK_TSAN == 0 && HAK_ASAN == 0; /* the sanitizers' locks may stay held in a child for ever */
constexpr unsigned kChildSeconds = 120;

inline bool g_in_child;

[[noreturn]] inline void failed(const std::string &what) {
  const std::string name = program_invocation_short_name;
  const std::string line = name + ": " + what + (g_in_child ? ", in a fork's child\n" : "\n");
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(2);
  _exit(1);
}

template <class Child>
void fork_once(Child child) {
  int status = 0;
  const pid_t pid = fork();
  if (pid == 0) {
    g_in_child = true;
    alarm(kChildSeconds);
    child();
    _exit(0);
  }
  if (pid < 0 || waitpid(pid, &status, 0) != pid) failed("no child");
  if (status != 0) failed("a child ended with status " + std::to_string(status));
}

}  // namespace forked

#endif
