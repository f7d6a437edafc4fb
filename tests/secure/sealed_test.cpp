/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// Data that is read-only after the start of the process, and that stores still work.
#include <errno.h>
#include <gtest/gtest.h>
#include <hakmem/experimental.h>
#include <hakmem/hakmem.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

// Mappings of the library that are read-only: two, of constants behind the loader's work and of sealed data.
int read_only_maps() {
  FILE *file = fopen("/proc/self/maps", "r");
  char line[512];
  int n = 0;
  while (fgets(line, sizeof line, file) != nullptr) {
    n += strstr(line, "libhakmem-secure") != nullptr && strstr(line, " r--p ") != nullptr;
  }
  fclose(file);
  return n;
}

std::string value_of(const char *name) {
  char out[64] = "";
  EXPECT_EQ(hak_get(name, out, sizeof out), 0);
  return out;
}

}  // namespace

TEST(Sealed, AfterTheStart) { EXPECT_EQ(read_only_maps(), 2); }

TEST(Sealed, ASettingStillChanges) {
  EXPECT_EQ(hak_set("price", "lean"), 0);
  EXPECT_EQ(value_of("price"), "lean");
  EXPECT_EQ(hak_set("price", "nonsense"), EINVAL);
  EXPECT_EQ(hak_set_limit(1u << 30, (size_t)2 << 30), 0);
  EXPECT_EQ(value_of("hard_limit"), "2G");
  EXPECT_EQ(hak_profile_start(0), 0);
  hak_profile_stop();
  EXPECT_EQ(read_only_maps(), 2);
}

TEST(Sealed, AHandlerOfFailedRequestsIsCalled) {
  static int calls;
  hak_set_oom_handler([](size_t, void *) { return calls++ == 0; }, nullptr);
  ASSERT_EQ(hak_set_limit(0, 64u << 20), 0);
  EXPECT_EQ(malloc(1u << 30), nullptr);
  EXPECT_GE(calls, 1);
  hak_set_oom_handler(nullptr, nullptr);
  ASSERT_EQ(hak_set_limit(0, 0), 0);
  EXPECT_EQ(read_only_maps(), 2);
}

TEST(Sealed, ThreadsStoreTogether) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; i++) EXPECT_EQ(hak_set("price", i % 2 == 0 ? "lean" : "speed"), 0);
    });
  }
  for (auto &t : threads) t.join();
  EXPECT_EQ(read_only_maps(), 2);
}

TEST(Sealed, AForkWhileAThreadStores) {
  std::atomic<bool> done{false};
  std::thread setter([&] {
    while (!done) hak_set("price", "lean");
  });
  for (int i = 0; i < 100; i++) {
    pid_t child = fork();
    if (child == 0) _exit(hak_set("price", "speed") != 0 || read_only_maps() != 2);
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  done = true;
  setter.join();
}

// In seccomp's strict mode a kernel call would end the process.
TEST(Sealed, InStrictModeASettingIsRefused) {
  pid_t child = fork();
  if (child == 0) {
    free(malloc(100));
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    int error = hak_set("price", "lean");
    syscall(SYS_exit, error == EPERM ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
