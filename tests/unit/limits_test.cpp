/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* limits_test.cpp: limits of the process on the machine's memory.
 *
 * what      os/limits.c and os/group.c on folders made here, that look like control groups, and on the real machine.
 * owner     Each test has a folder and a separate process: a complaint is printed once per process.
 * failure   A wrong number, an extra or a missing line fails the test.
 * not here  Actions near a limit: tests/process.
 */
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "os/complain.h"
#include "os/fork.h"
#include "os/limits.h"
}

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr int kErrno = 77;

/* A folder for files, removed with the test. */
class Limits : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "hak_limits_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(home_); }

  void write(const std::string &file, const std::string &text) {
    const std::filesystem::path path = home_ + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  /* Starts with this folder, and reads twice. */
  void read_folder(const std::string &folder) {
    start_reading();
    limited_ = hak_limits_start(folder.c_str());
    finish_reading();
  }

  /* Starts with the two lists; %s in the second stands for the test's folder. */
  void read_lists(const std::string &cgroup, std::string mountinfo) {
    for (size_t at; (at = mountinfo.find("%s")) != std::string::npos;) mountinfo.replace(at, 2, home_);
    write("cgroup", cgroup);
    write("mountinfo", mountinfo);
    start_reading();
    limited_ = hak_limits_start_from(usual_.c_str(), (home_ + "/cgroup").c_str(), (home_ + "/mountinfo").c_str());
    finish_reading();
  }

  void read_again() {
    start_reading();
    finish_reading();
  }

  /* The first complaint withheld from stderr. */
  static std::string kept() { return hak_os_first_complaint() != nullptr ? hak_os_first_complaint()->text : ""; }

  std::string home_, said_, usual_ = "/nowhere";
  bool limited_ = false;
  struct hak_limits limits_;

 private:
  void start_reading() {
    testing::internal::CaptureStderr();
    errno = kErrno;
  }
  void finish_reading() {
    hak_limits_read(&limits_);
    hak_limits_read(&limits_);
    EXPECT_EQ(errno, kErrno);
    said_ = testing::internal::GetCapturedStderr();
  }
};

uint32_t processors() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

/* ---- a folder in the group's place ---- */

TEST_F(Limits, AFolderSaysAll) {
  write("memory.max", "268435456\n");
  write("memory.high", "max\n");
  write("memory.current", "1048576\n");
  write("memory.pressure", "some avg10=12.34 avg60=0.00 avg300=0.00 total=0\nfull avg10=1.00 avg60=0.00 total=0\n");
  write("cpu.max", "100000 100000\n");
  read_folder(home_);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(limits_.memory_bytes, 256 * kMiB);
  EXPECT_EQ(limits_.used_bytes, kMiB);
  EXPECT_EQ(limits_.pressure, 1234u);
  EXPECT_EQ(limits_.cpus, 1u);
}

TEST_F(Limits, IdleFileCacheIsNotInUse) {
  write("memory.max", "268435456\n");
  write("memory.current", "1000\n");
  write("memory.stat", "anon 5\nactive_file 7\ninactive_file 600\ninactive_file_too 9\n");
  read_folder(home_);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(limits_.used_bytes, 400u);
  write("memory.stat", "inactive_file 2000\n");
  read_again();
  EXPECT_EQ(limits_.used_bytes, 0u) << "the two files are not of one moment";
}

TEST_F(Limits, MemoryHighCounts) {
  write("memory.max", "268435456\n");
  write("memory.high", "134217728\n");
  read_folder(home_);
  EXPECT_EQ(limits_.memory_bytes, 128 * kMiB);
  write("memory.max", "67108864\n");
  read_again();
  EXPECT_EQ(limits_.memory_bytes, 64 * kMiB);
}

void expect_no_limit(const struct hak_limits &limits) {
  EXPECT_EQ(limits.memory_bytes, HAK_LIMITS_NONE);
  EXPECT_EQ(limits.used_bytes, 0u);
  EXPECT_EQ(limits.pressure, 0u);
  EXPECT_EQ(limits.cpus, processors());
}

TEST_F(Limits, MaxAndHugeNumbersAreNoLimit) {
  for (const char *text : {"max\n", "9223372036854771712\n", "18446744073709551615\n"}) {
    write("memory.max", text);
    write("memory.current", "7\n");
    write("cpu.max", "max 100000\n");
    read_folder(home_);
    EXPECT_EQ(said_, "");
    expect_no_limit(limits_);
  }
}

TEST_F(Limits, WhatIsNotThereIsNoLimit) {
  read_folder(home_);
  EXPECT_EQ(said_, "");
  expect_no_limit(limits_);
}

TEST_F(Limits, AFolderThatIsNotThereIsReported) {
  read_folder(home_ + "/nowhere");
  EXPECT_EQ(said_, "hakmem: " + home_ + "/nowhere (cgroup_dir) cannot be opened as a folder of limits; ignored\n");
  expect_no_limit(limits_);
  write("file", "");
  read_folder(home_ + "/file");
  EXPECT_EQ(said_, "") << "once";
  expect_no_limit(limits_);
}

TEST_F(Limits, QuotasAreRoundedUpAndBoundedByAffinity) {
  const std::pair<const char *, uint32_t> quotas[] = {{"1 100000\n", 1},
                                                      {"0 100000\n", 1},
                                                      {"100000 100000\n", 1},
                                                      {"100001 100000\n", 2},
                                                      {"250000 100000\n", 3},
                                                      {"9000000000000 1\n", UINT32_MAX}};
  for (auto [text, cpus] : quotas) {
    write("cpu.max", text);
    read_folder(home_);
    EXPECT_EQ(said_, "");
    EXPECT_EQ(limits_.cpus, std::min(cpus, processors())) << text;
  }
}

TEST_F(Limits, ThreadsThatAreBoundLaterDoNotCount) {
  read_folder(home_);
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&one);
  for (int n = 0; CPU_COUNT(&one) == 0; n++) {
    if (CPU_ISSET(n, &all)) CPU_SET(n, &one);
  }
  const uint32_t before = processors();
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  read_again();
  EXPECT_EQ(limits_.cpus, before);
}

/* ---- wrong input ---- */

struct Wrong {
  const char *file, *text, *why;
};

class WrongFile : public Limits, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongFile, IsReportedOnceAndNoLimit) {
  const Wrong &wrong = GetParam();
  write(wrong.file, wrong.text);
  read_folder(home_);
  EXPECT_EQ(said_, "hakmem: " + home_ + "/" + wrong.file + " " + wrong.why + "; ignored\n");
  expect_no_limit(limits_);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, WrongFile,
    testing::Values(Wrong{"memory.max", "", "is empty"}, Wrong{"memory.max", "garbage\n", "is not a number"},
                    Wrong{"memory.max", "\n", "is not a number"}, Wrong{"memory.max", "-1\n", "is not a number"},
                    Wrong{"memory.max", " 12\n", "is not a number"}, Wrong{"memory.max", "12 34\n", "is not a number"},
                    Wrong{"memory.max", "1K\n", "is not a number"}, Wrong{"memory.max", "Max\n", "is not a number"},
                    Wrong{"memory.max", "max", "is not a number"}, Wrong{"memory.max", "12", "has no end of line"},
                    Wrong{"memory.max", "18446744073709551616\n", "is too large a number"},
                    Wrong{"memory.max", "99999999999999999999999999\n", "is too large a number"},
                    Wrong{"memory.high", "garbage\n", "is not a number"}));

INSTANTIATE_TEST_SUITE_P(
    Processors, WrongFile,
    testing::Values(Wrong{"cpu.max", "", "is empty"}, Wrong{"cpu.max", "max\n", "is not two numbers"},
                    Wrong{"cpu.max", "100000\n", "is not two numbers"}, Wrong{"cpu.max", "x 1\n", "is not a number"},
                    Wrong{"cpu.max", "1 x\n", "is not a number"}, Wrong{"cpu.max", "1 2 3\n", "is not a number"},
                    Wrong{"cpu.max", "max 100000", "has no end of line"},
                    Wrong{"cpu.max", "1 0\n", "has a period of zero"},
                    Wrong{"cpu.max", "99999999999999999999 1\n", "is too large a number"}));

INSTANTIATE_TEST_SUITE_P(
    Pressure, WrongFile,
    testing::Values(Wrong{"memory.pressure", "", "is empty"},
                    Wrong{"memory.pressure", "garbage\n", "does not begin with some avg10="},
                    Wrong{"memory.pressure", "full avg10=1.00 avg60=0.00\n", "does not begin with some avg10="},
                    Wrong{"memory.pressure", "some avg10=", "is not a percentage"},
                    Wrong{"memory.pressure", "some avg10=-1.00 a\n", "is not a percentage"},
                    Wrong{"memory.pressure", "some avg10=1.5 a\n", "is not a percentage"},
                    Wrong{"memory.pressure", "some avg10=1.250 a\n", "is not a percentage"},
                    Wrong{"memory.pressure", "some avg10=1.25", "is not a percentage"},
                    Wrong{"memory.pressure", "some avg10=101.00 a\n", "is not a percentage"}));

TEST_F(Limits, AWrongUseIsNone) {
  write("memory.max", "268435456\n");
  write("memory.current", "max\n");
  read_folder(home_);
  EXPECT_EQ(said_, "hakmem: " + home_ + "/memory.current is not a number; ignored\n");
  EXPECT_EQ(limits_.memory_bytes, 256 * kMiB);
  EXPECT_EQ(limits_.used_bytes, 0u);
}

class WrongStat : public Limits, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongStat, IsReportedOnceAndAllCounts) {
  const Wrong &wrong = GetParam();
  write("memory.max", "268435456\n");
  write("memory.current", "1000\n");
  write(wrong.file, wrong.text);
  read_folder(home_);
  EXPECT_EQ(said_, "hakmem: " + home_ + "/" + wrong.file + " " + wrong.why + "; ignored\n");
  EXPECT_EQ(limits_.used_bytes, 1000u);
}

INSTANTIATE_TEST_SUITE_P(
    Memory, WrongStat,
    testing::Values(Wrong{"memory.stat", "", "is empty"},
                    Wrong{"memory.stat", "anon 1\nactive_file 1\n", "names no idle file cache"},
                    Wrong{"memory.stat", "anon 1\ninactive_file x\n", "is not a number"},
                    Wrong{"memory.stat", "anon 1\ninactive_file 5", "has no end of line"}));

TEST_F(Limits, EachKindIsReportedOnce) {
  write("memory.max", "a\n");
  write("memory.high", "b\n");
  read_folder(home_);
  EXPECT_EQ(std::count(said_.begin(), said_.end(), '\n'), 2) << said_;
  write("memory.max", "c\n");
  write("cpu.max", "d\n");
  read_again();
  EXPECT_EQ(said_, "hakmem: " + home_ + "/cpu.max is not a number; ignored\n");
  write("memory.max", "4096\n");
  read_again();
  EXPECT_EQ(said_, "");
  EXPECT_EQ(limits_.memory_bytes, 4096u) << "a file that was wrong may be right later";
}

TEST_F(Limits, WhatIsNoFileIsReported) {
  write("memory.max/file", "");
  ASSERT_EQ(mkfifo((home_ + "/memory.high").c_str(), 0600), 0);
  read_folder(home_);
  EXPECT_EQ(said_, "hakmem: " + home_ + "/memory.max cannot be read; ignored\nhakmem: " + home_ +
                       "/memory.high is empty; ignored\n");
  expect_no_limit(limits_);
}

TEST_F(Limits, ALongPathIsCutInFront) {
  const std::string deep = home_ + "/" + std::string(200, 'd') + "/" + std::string(200, 'e');
  write(deep.substr(home_.size() + 1) + "/memory.max", "x\n");
  read_folder(deep);
  EXPECT_EQ(said_.rfind("hakmem: ...", 0), 0u) << said_;
  EXPECT_NE(said_.find("eee/memory.max is not a number; ignored\n"), std::string::npos) << said_;
}

/* ---- the process's own group, of version 2 ---- */

const char kUnified[] =
    "31 23 0:28 / /tmp/x rw - tmpfs tmpfs rw\n"
    "40 31 0:37 / %s/m rw,relatime shared:9 - cgroup2 none rw\n";

TEST_F(Limits, TheSmallestLimitOfAllParentsCounts) {
  write("m/memory.pressure", "some avg10=0.00 a\n");
  write("m/a/memory.max", "1000000\n");
  write("m/a/memory.current", "111\n");
  write("m/a/b/memory.high", "500000\n");
  write("m/a/b/memory.max", "max\n");
  write("m/a/b/memory.current", "222\n");
  write("m/a/b/c/memory.max", "800000\n");
  write("m/a/b/c/memory.current", "333\n");
  write("m/a/b/c/memory.pressure", "some avg10=3.21 a\n");
  read_lists("0::/a/b/c\n", kUnified);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(limits_.memory_bytes, 500000u);
  EXPECT_EQ(limits_.used_bytes, 222u);
  EXPECT_EQ(limits_.pressure, 321u);
  write("m/a/memory.max", "400000\n");
  read_again();
  EXPECT_EQ(limits_.memory_bytes, 400000u);
  EXPECT_EQ(limits_.used_bytes, 111u);
}

TEST_F(Limits, QuotasOfParentsCount) {
  write("m/a/cpu.max", "100000 100000\n");
  write("m/a/b/cpu.max", "800000 100000\n");
  read_lists("0::/a/b\n", kUnified);
  EXPECT_EQ(limits_.cpus, 1u);
}

TEST_F(Limits, AGroupThatIsNotThereHasAParentThatIs) {
  write("m/a/memory.max", "4096\n");
  read_lists("0::/a/b/c (deleted)\n", kUnified);
  EXPECT_EQ(limits_.memory_bytes, 4096u);
  std::filesystem::remove_all(home_ + "/m");
  read_lists("0::/a\n", kUnified);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(limits_.memory_bytes, HAK_LIMITS_NONE);
}

TEST_F(Limits, AContainerMountsAPart) {
  const char *mounts = "40 31 0:37 /docker/ab %s/m rw,relatime - cgroup2 none rw\n";
  write("m/memory.max", "8192\n");
  write("m/in/memory.max", "4096\n");
  write("mc/in/memory.max", "512\n"); /* a neighbour: where /docker/abc/in would lie as a group below /docker/ab */
  const std::pair<const char *, uint64_t> paths[] = {{"/docker/ab/in", 4096},  {"/docker/ab", 8192},
                                                     {"/docker/abc/in", 8192}, {"/", 8192},
                                                     {"/../in", 8192},         {"/docker/ab/../in", 8192}};
  for (auto [path, bytes] : paths) {
    read_lists(std::string("0::") + path + "\n", mounts);
    EXPECT_EQ(limits_.memory_bytes, bytes) << path;
  }
}

TEST_F(Limits, TheMountThatShowsTheGroupIsTaken) {
  write("one/memory.max", "1\n");
  write("two/b/memory.max", "2\n");
  write("three/b/memory.max", "3\n");
  read_lists("0::/a/b\n", "1 1 0:3 /x %s/one rw - cgroup2 none rw\n2 1 0:3 /a %s/two rw - cgroup2 none rw\n"
                          "3 1 0:3 /a %s/three rw - cgroup2 none rw\n");
  EXPECT_EQ(limits_.memory_bytes, 2u);
}

TEST_F(Limits, BlanksAndLongLinesAreUnderstood) {
  write("m b/memory.max", "4096\n");
  const std::string overlay = "9 1 0:1 / / rw - overlay overlay rw,lowerdir=" + std::string(9000, 'l') + "\n";
  read_lists("0::/\n", overlay + "40 31 0:37 / %s/m\\040b rw - cgroup2 none rw\n" + overlay);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(limits_.memory_bytes, 4096u);
}

/* ---- of version 1 ---- */

const char kBoth[] =
    "32 31 0:29 / %s/cpu rw,relatime - cgroup cgroup rw,cpuacct,cpu\n"
    "35 31 0:32 / %s/memory rw - cgroup cgroup rw,memory\n"
    "37 31 0:34 / %s/systemd rw - cgroup cgroup rw,name=systemd\n"
    "41 31 0:38 / %s/unified rw - cgroup2 cgroup2 rw\n";

TEST_F(Limits, BothVersionsBesideEachOther) {
  write("memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("memory/a/memory.limit_in_bytes", "4096\n");
  write("memory/a/memory.usage_in_bytes", "5\n");
  write("memory/a/memory.stat", "inactive_file 4\ntotal_inactive_file 2\n");
  write("memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  write("cpu/cpu.cfs_quota_us", "-1\n");
  write("cpu/c/cpu.cfs_quota_us", "50000\n");
  write("cpu/c/cpu.cfs_period_us", "100000\n");
  write("unified/memory.max", "1\n");
  write("unified/memory.pressure", "some avg10=1.00 a\n");
  read_lists("9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/c\n0::/\n", kBoth);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(limits_.memory_bytes, 4096u);
  EXPECT_EQ(limits_.used_bytes, 3u);
  EXPECT_EQ(limits_.pressure, 100u);
  EXPECT_EQ(limits_.cpus, 1u);
}

TEST_F(Limits, AControllerThatIsNotMountedIsLookedForInVersion2) {
  write("unified/a/memory.max", "4096\n");
  write("cpu/cpu.cfs_quota_us", "-1\n");
  read_lists("2:cpu:/\n0::/a\n", kBoth);
  EXPECT_EQ(limits_.memory_bytes, 4096u);
  EXPECT_EQ(limits_.cpus, processors());
}

TEST_F(Limits, WrongFilesOfVersion1AreReported) {
  write("memory/memory.limit_in_bytes", "4096\n");
  write("memory/memory.usage_in_bytes", "-1\n");
  write("cpu/cpu.cfs_quota_us", "-2\n");
  read_lists("4:memory:/\n2:cpu:/\n", kBoth);
  EXPECT_EQ(said_, "") << "the user named no folder";
  EXPECT_EQ(kept(), "hakmem: " + home_ + "/memory/memory.usage_in_bytes is not a number; ignored\n");
  EXPECT_EQ(limits_.memory_bytes, 4096u);
  EXPECT_EQ(limits_.cpus, processors());
}

/* ---- groups at the usual place ---- */

/* Lists with different limits: must not be read, as the usual place is complete. */
constexpr char kLiar[] = "1 0 0:1 / %s/liar rw - cgroup2 cgroup2 rw\n2 0 0:2 / %s/liar rw - cgroup cgroup rw,memory\n";

TEST_F(Limits, NoLimitInTheUsualPlaceIsTheEndOfIt) {
  usual_ = home_ + "/fs";
  write("liar/memory.max", "4096\n");
  write("fs/cgroup.controllers", "cpu memory\n");
  write("fs/a/b/memory.max", "max\n");
  write("fs/a/memory.max", "max\n");
  read_lists("0::/a/b\n", kLiar);
  EXPECT_FALSE(limited_);
  EXPECT_EQ(limits_.memory_bytes, HAK_LIMITS_NONE);
}

TEST_F(Limits, ALimitInTheUsualPlaceOfVersion1IsLookedAtCloser) {
  usual_ = home_ + "/fs";
  write("fs/memory/a/memory.limit_in_bytes", "4096\n");
  write("fs/memory/a/memory.usage_in_bytes", "12\n");
  read_lists("4:memory:/a\n0::/\n", "1 0 0:1 / %s/fs/memory rw - cgroup cgroup rw,memory\n");
  EXPECT_TRUE(limited_);
  EXPECT_EQ(limits_.memory_bytes, 4096u);
  EXPECT_EQ(limits_.used_bytes, 12u);
}

TEST_F(Limits, ALimitOfAParentInTheUsualPlaceCounts) {
  usual_ = home_ + "/fs";
  write("fs/cgroup.controllers", "\n");
  write("fs/a/memory.high", "8192\n");
  write("fs/a/b/memory.max", "max\n");
  read_lists("0::/a/b\n", "1 0 0:1 / %s/fs rw - cgroup2 cgroup2 rw\n");
  EXPECT_TRUE(limited_);
  EXPECT_EQ(limits_.memory_bytes, 8192u);
}

/* On a different thread's stack, which may be a page long. */
TEST_F(Limits, OnAnotherThreadsStackTheSameIsFound) {
  usual_ = home_ + "/fs";
  write("fs/cgroup.controllers", "\n");
  write("fs/a/memory.high", "8192\n");
  write("fs/a/b/memory.max", "max\n");
  std::thread([&] { read_lists("0::/a/b\n", "1 0 0:1 / %s/fs rw - cgroup2 cgroup2 rw\n"); }).join();
  EXPECT_TRUE(limited_);
  EXPECT_EQ(limits_.memory_bytes, 8192u);
  write("fs/a/memory.high", "max\n");
  std::thread([&] { read_lists("0::/a/b\n", "1 0 0:1 / %s/fs rw - cgroup2 cgroup2 rw\n"); }).join();
  EXPECT_FALSE(limited_);
}

/* The files are read into memory shared by all threads: one thread reads at a time, and hak_limits_read is false for a
 * second thread. */
TEST_F(Limits, ThreadsThatReadTogetherReadTheRightValuesOrNone) {
  write("memory.max", "123456789\n");
  write("memory.current", "7000\n");
  write("memory.stat", "inactive_file 1000\n");
  read_folder(home_);
  std::atomic<int> read{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; n++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 300; i++) {
        struct hak_limits limits = {};
        if (!hak_limits_read(&limits)) continue;
        read++;
        wrong += limits.memory_bytes != 123456789u || limits.used_bytes != 6000u;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(read, 0);
}

/* A fork cut a reading. */
TEST_F(Limits, AForksChildReadsWhatItsParentWasReading) {
  write("memory.max", "4096\n");
  read_folder(home_);
  std::atomic<bool> over{false};
  std::thread reader([&] {
    for (struct hak_limits limits; !over;) hak_limits_read(&limits);
  });
  for (int n = 0; n < 50; n++) {
    const pid_t child = fork();
    if (child == 0) {
      struct hak_limits limits = {};
      hak_store(&g_fork.generation, g_fork.generation + 1);
      _exit(hak_limits_read(&limits) && limits.memory_bytes == 4096 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  over = true;
  reader.join();
}

TEST_F(Limits, WhatIsNotInTheUsualPlaceIsLookedFor) {
  usual_ = home_ + "/fs";
  write("fs/memory/other/memory.limit_in_bytes", "1\n");
  write("else/a/memory.limit_in_bytes", "4096\n");
  read_lists("4:memory:/a\n", "1 0 0:1 / %s/else rw - cgroup cgroup rw,memory\n");
  EXPECT_TRUE(limited_);
  EXPECT_EQ(limits_.memory_bytes, 4096u);
}

TEST_F(Limits, AFolderIsWatchedWhateverItSays) {
  write("memory.max", "max\n");
  read_folder(home_);
  EXPECT_TRUE(limited_);
}

/* ---- the lists themselves ---- */

TEST_F(Limits, NoListsAreNoLimit) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(hak_limits_start_from(usual_.c_str(), (home_ + "/no").c_str(), (home_ + "/none").c_str()));
  hak_limits_read(&limits_);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(limits_.memory_bytes, HAK_LIMITS_NONE);
  EXPECT_EQ(limits_.cpus, processors());
}

TEST_F(Limits, AMalformedListIsReportedAndTheRestOfItUsed) {
  write("m/memory.max", "4096\n");
  read_lists("garbage\n0::/\n", std::string("more garbage\n\n") + kUnified);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(kept(), "hakmem: " + home_ + "/cgroup is malformed; ignored\n");
  EXPECT_EQ(limits_.memory_bytes, 4096u);
}

TEST_F(Limits, AMalformedListOfMountsIsReported) {
  read_lists("0::/\n", "a - cgroup2\n1 2 3 4 - cgroup2 x y\n");
  EXPECT_EQ(said_, "");
  EXPECT_EQ(kept(), "hakmem: " + home_ + "/mountinfo is malformed; ignored\n");
  EXPECT_EQ(limits_.memory_bytes, HAK_LIMITS_NONE);
}

/* ---- the real machine ---- */

TEST_F(Limits, TheMachineIsPlausible) {
  read_folder("");
  EXPECT_EQ(said_, "");
  EXPECT_GE(limits_.cpus, 1u);
  EXPECT_LE(limits_.cpus, processors());
  EXPECT_LE(limits_.pressure, 10000u);
  EXPECT_EQ(limits_.used_bytes > 0, limits_.memory_bytes != HAK_LIMITS_NONE);
}

}  // namespace
