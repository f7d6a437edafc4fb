/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* start_test.cpp: the kernel refuses calls while the program starts.
 *
 * what      With the first block, here taken before main, the library maps the page that betrays a fork, its tables and
 *           the file of the counters. This program executes itself anew for each of these calls, with the call alone or
 *           all later calls refused; then the program works with threads and forks, and the counters must be right,
 *           with or without the file.
 *
 *               parent: FAULT_PLAN="2 2" exec --> constructor: call 1, call 2 refused, call 3 --> main: live, check
 *
 * owner     Each child has a separate folder under /tmp.
 * failure   Prints the child's output and the refused calls.
 * not here  Refusals after the start (scripts_test.cpp).
 */
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "kernel.h"
#include "session.h"

namespace {

constexpr const char *kComplaint = "hakmem: counters_file: cannot make ";

/* ---- the child ---- */

/* Before the library's own constructor, which would read the settings first. */
__attribute__((constructor(101))) void take_the_first_block() {
  if (std::getenv("FAULT_PLAN") != nullptr) hak_free(hak_malloc(40));
}

void use_every_box() {
  fault::Session session;
  for (const size_t n : {40, 3000, 70000, 2 << 20}) session.resize(session.take(n), 2 * n);
  session.give_everything();
}

void use_it_in_a_forked_child() {
  const pid_t child = fork();
  if (child == 0) {
    use_every_box();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

uint64_t counted_allocations() {
  uint64_t sum = 0, value = 0;
  const char *name = nullptr;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++) {
    if (std::strncmp(name, "alloc_", 6) == 0) sum += value;
  }
  return sum;
}

int live() {
  const uint64_t calls = fault::calls();
  fault::disarm();
  use_every_box();
  std::printf("%ju %jd\n", static_cast<uintmax_t>(calls), static_cast<intmax_t>(fault::unexplained_bytes()));
  std::thread(use_every_box).join();
  EXPECT_EQ(counted_allocations(), 1U + 2U * 8);
  use_it_in_a_forked_child();
  EXPECT_EQ(hak_bytes_in_use(), 0U);
  return ::testing::Test::HasFailure() ? 1 : 0;
}

/* ---- the parent ---- */

struct Outcome {
  int status = -1;
  uint64_t calls = 0;
  int64_t unexplained = 0; /* less than 0: the counters' file is a mapping that the wrapped calls leave out */
  std::string out, err, file;
};

std::string content(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void redirect(int fd, const std::filesystem::path &path) {
  dup2(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), fd);
}

[[noreturn]] void become_the_child(const std::filesystem::path &folder, const std::string &plan) {
  setenv("FAULT_PLAN", plan.c_str(), 1);
  setenv("HAKMEM_COUNT_CALLS", "on", 1);
  setenv("HAKMEM_COUNTERS_FILE", (folder / "counters").c_str(), 1);
  redirect(STDOUT_FILENO, folder / "out");
  redirect(STDERR_FILENO, folder / "err");
  execl("/proc/self/exe", "fault_start", nullptr);
  _exit(127);
}

Outcome start_with(const std::string &plan) {
  std::string name = "/tmp/hakmem-fault-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  const std::filesystem::path folder = name;
  Outcome outcome;
  const pid_t child = fork();
  if (child == 0) become_the_child(folder, plan);
  EXPECT_EQ(waitpid(child, &outcome.status, 0), child);
  outcome.out = content(folder / "out");
  outcome.err = content(folder / "err");
  outcome.file = content(folder / ("counters." + std::to_string(child)));
  std::istringstream(outcome.out) >> outcome.calls >> outcome.unexplained;
  std::filesystem::remove_all(folder);
  return outcome;
}

size_t lines_of(const std::string &text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

/* Either the file is complete, or one line says that there is no file. */
void expect_well_started(const Outcome &outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  if (outcome.err.empty()) {
    EXPECT_EQ(outcome.file.substr(0, 8), "HAKCNT01");
    return;
  }
  EXPECT_EQ(outcome.err.rfind(kComplaint, 0), 0U) << outcome.err;
  EXPECT_EQ(lines_of(outcome.err), 1U) << outcome.err;
  EXPECT_NE(outcome.file.substr(0, 8), "HAKCNT01");
}

TEST(FaultsAtStart, WithoutFaults) {
  const Outcome outcome = start_with("0 0");
  expect_well_started(outcome);
  EXPECT_TRUE(outcome.err.empty()) << outcome.err;
  EXPECT_GE(outcome.calls, 4U);
}

TEST(FaultsAtStart, EachCallAlone) {
  const Outcome whole = start_with("0 0");
  unsigned complaints = 0, without_page = 0;
  for (uint64_t n = 1; n <= whole.calls; n++) {
    SCOPED_TRACE(n);
    const Outcome outcome = start_with(std::to_string(n) + " " + std::to_string(n));
    expect_well_started(outcome);
    complaints += !outcome.err.empty();
    without_page += outcome.unexplained < whole.unexplained;
  }
  EXPECT_EQ(without_page, 2U); /* the page that a fork wipes cannot be mapped or marked: then the page is unmapped */
  EXPECT_EQ(complaints, 2U); /* the file cannot be made long enough, or not be mapped */
}

/* Calls before the file's creation leave no file; after the creation the file is complete, whatever fails. */
TEST(FaultsAtStart, EachCallAndAllAfter) {
  const uint64_t calls = start_with("0 0").calls;
  bool made = false;
  for (uint64_t n = 1; n <= calls; n++) {
    SCOPED_TRACE(n);
    const Outcome outcome = start_with(std::to_string(n) + " 1000000");
    expect_well_started(outcome);
    EXPECT_TRUE(n != 1 || !outcome.err.empty());
    EXPECT_TRUE(!made || outcome.err.empty());
    made = outcome.err.empty();
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (std::getenv("FAULT_PLAN") != nullptr) return live();
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
