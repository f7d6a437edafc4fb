/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* counters_test.cpp: the counters in memory and in a file.
 *
 * what      tables/counters.c with the real table and the real kernel. Cases that move the table run in a child
 *           process.
 * owner     Tests remove all files.
 * failure   A wrong value, name or layout fails the test.
 * not here  The counting routes: tests of entry/.
 */
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "os/os.h"
#include "tables/counters.h"
}

namespace {

TEST(Counters, AddUp) {
  const uint64_t before = hak_counter_value(HAK_COUNTER_big_hits);
  hak_count(HAK_COUNTER_big_hits, 1);
  hak_count(HAK_COUNTER_big_hits, 41);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_big_hits), before + 42);
}

TEST(Counters, AddUpFromThreads) {
  const uint64_t before = hak_counter_value(HAK_COUNTER_free_remote);
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; n++) {
    threads.emplace_back([] {
      for (int i = 0; i < 10000; i++) hak_count(HAK_COUNTER_free_remote, 1);
    });
  }
  for (auto &thread : threads) thread.join();
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_free_remote), before + 40000);
}

TEST(Counters, HaveNamesAndHelp) {
  EXPECT_STREQ(hak_counter_name(HAK_COUNTER_alloc_magazine), "alloc_magazine");
  EXPECT_STREQ(hak_counter_name(HAK_COUNTER_fork_repairs), "fork_repairs");
  for (int n = 0; n < HAK_COUNTERS; n++) {
    const auto id = static_cast<enum hak_counter_id>(n);
    EXPECT_LT(std::strlen(hak_counter_name(id)), size_t{HAK_COUNTER_NAME_BYTES});
    EXPECT_NE(*hak_counter_help(id), '\0');
  }
}

TEST(Counters, TheKernelDoorCountsHere) {
  const uint64_t before = hak_counter_value(HAK_COUNTER_kernel_futex);
  hak_os_tally(HAK_OS_FUTEX);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_kernel_futex), before + 1);
}

/* A path in a new folder, removed with the object. */
class Folder {
 public:
  Folder() { EXPECT_NE(mkdtemp(name_), nullptr); }
  ~Folder() {
    unlink(file().c_str());
    rmdir(name_);
  }
  std::string path() const { return std::string(name_) + "/counters"; }
  std::string file() const { return path() + "." + std::to_string(pid_); }
  void made_by(pid_t pid) { pid_ = pid; }

 private:
  char name_[32] = "/tmp/hak_counters_XXXXXX";
  pid_t pid_ = 0;
};

/* Runs `body` in a child that leaves by _exit; returns the child's exit status. */
template <class Body>
int in_child(Folder &folder, Body body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  folder.made_by(pid);
  return status;
}

std::string contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Number>
Number number_at(const std::string &bytes, size_t at) {
  Number value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/* The rows of a counters file by name, read by the promised layout and not by the library's structs. */
std::map<std::string, uint64_t> rows_of(const std::string &bytes) {
  std::map<std::string, uint64_t> rows;
  EXPECT_EQ(bytes.substr(0, 8), "HAKCNT01");
  const auto count = number_at<uint32_t>(bytes, 8);
  EXPECT_EQ(number_at<uint32_t>(bytes, 12), 32u);
  EXPECT_EQ(bytes.size(), 16 + 32 * size_t{count});
  for (uint32_t n = 0; n < count; n++) rows[bytes.c_str() + 16 + 32 * n] = number_at<uint64_t>(bytes, 16 + 32 * n + 24);
  return rows;
}

TEST(CountersFile, HoldsWhatWasAndWhatComes) {
  Folder folder;
  const uint64_t remaps = hak_counter_value(HAK_COUNTER_kernel_remap);
  const uint64_t before = hak_counter_value(HAK_COUNTER_alloc_big);
  const int status = in_child(folder, [&] {
    hak_count(HAK_COUNTER_alloc_big, 5);
    hak_os_tally(HAK_OS_REMAP);
    if (!hak_counters_to_file(folder.path().c_str())) _exit(1);
    hak_count(HAK_COUNTER_alloc_big, 2);
    hak_os_tally(HAK_OS_REMAP);
    if (hak_counter_value(HAK_COUNTER_alloc_big) < 7) _exit(2);
  });
  EXPECT_EQ(status, 0);
  auto rows = rows_of(contents(folder.file()));
  EXPECT_EQ(rows.size(), size_t{HAK_COUNTERS});
  EXPECT_EQ(rows["alloc_big"], before + 7);
  EXPECT_EQ(rows["kernel_remap"], remaps + 2);
  EXPECT_EQ(rows.count("fork_repairs"), 1u);
}

/* As a program before execve leaves it: rows of another version say nothing. */
TEST(CountersFile, GoesOnFromRowsOfItsOwnVersionOnly) {
  for (const bool own : {true, false}) {
    Folder folder;
    const uint64_t before = hak_counter_value(HAK_COUNTER_alloc_big);
    const int status = in_child(folder, [&] {
      struct hak_counter_file left = {};
      std::memcpy(left.header.magic, "HAKCNT01", sizeof left.header.magic);
      left.header.count = HAK_COUNTERS + !own;
      left.header.row_bytes = sizeof(struct hak_counter_row);
      left.rows[HAK_COUNTER_alloc_big].value = 1000;
      folder.made_by(getpid());
      std::ofstream(folder.file(), std::ios::binary).write(reinterpret_cast<const char *>(&left), sizeof left);
      chmod(folder.file().c_str(), 0600);
      if (!hak_counters_to_file(folder.path().c_str())) _exit(1);
    });
    EXPECT_EQ(status, 0);
    EXPECT_EQ(rows_of(contents(folder.file()))["alloc_big"], before + (own ? 1000 : 0));
  }
}

TEST(CountersFile, OutlivesAbort) {
  Folder folder;
  const int status = in_child(folder, [&] {
    if (!hak_counters_to_file(folder.path().c_str())) _exit(1);
    hak_count(HAK_COUNTER_free_null, 3);
    signal(SIGABRT, SIG_DFL);
    abort();
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(rows_of(contents(folder.file()))["free_null"], 3u);
}

TEST(CountersFile, IsSharedWithForkedChildren) {
  Folder folder;
  const int status = in_child(folder, [&] {
    if (!hak_counters_to_file(folder.path().c_str())) _exit(1);
    const pid_t pid = fork();
    hak_count(HAK_COUNTER_free_null, 10);
    if (pid == 0) _exit(0);
    waitpid(pid, nullptr, 0);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(rows_of(contents(folder.file()))["free_null"], 20u);
}

TEST(CountersFile, IsTheOwnersOnly) {
  Folder folder;
  in_child(folder, [&] { hak_counters_to_file(folder.path().c_str()); });
  struct stat status {};
  ASSERT_EQ(stat(folder.file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(CountersFile, ThatCannotBeMadeIsSaidOnce) {
  testing::internal::CaptureStderr();
  const uint64_t before = hak_counter_value(HAK_COUNTER_big_hits);
  EXPECT_FALSE(hak_counters_to_file("/no/such/folder/counters"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hakmem: counters_file: cannot make /no/such/folder/counters." +
                                                        std::to_string(getpid()) + "; the data stays in memory only\n");
  hak_count(HAK_COUNTER_big_hits, 1);
  EXPECT_EQ(hak_counter_value(HAK_COUNTER_big_hits), before + 1);
}

}  // namespace
