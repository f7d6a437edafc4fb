/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* stats_page_test.cpp: the statistics page, read by the promised layout.
 *
 * what      observe/stats_page.c in a separate child, beside threads that allocate, with a reader that never waits.
 * owner     A folder for the file.
 * failure   A page that mixes two states, or is not written, fails the test.
 * not here  The readers: cli/tests/test_stats.py.
 */
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "observe/stats_page.h"
}

namespace {

constexpr size_t kHeader = 64, kRow = 136;
constexpr bool kSlow = HAK_TSAN != 0 || HAK_ASAN != 0; /* writing the page takes more than its share of the time */
constexpr useconds_t kWindow = 300000;     /* us, after which there is time for the page again */

template <class Number>
Number number_at(const std::string &bytes, size_t at) {
  Number value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::string content(int file) {
  std::string bytes(1 << 18, '\0');
  bytes.resize(static_cast<size_t>(pread(file, bytes.data(), bytes.size(), 0)));
  return bytes;
}

/* A whole page: between two equal readings of the sequence the page was not written. */
std::map<std::string, uint64_t> rows_of(int file) {
  for (;;) {
    const std::string bytes = content(file), after = content(file);
    const auto sequence = number_at<uint64_t>(bytes, 16);
    if (sequence % 2 != 0 || sequence != number_at<uint64_t>(after, 16)) continue;
    std::map<std::string, uint64_t> rows;
    for (uint32_t n = 0; n < number_at<uint32_t>(bytes, 8); n++) {
      const size_t at = kHeader + kRow * n;
      rows[bytes.c_str() + at + 16] = number_at<uint64_t>(bytes, at + 8);
    }
    return rows;
  }
}

void churn(int rounds) {
  std::vector<void *> blocks;
  for (int n = 0; n < rounds; n++) {
    blocks.push_back(hak_malloc(static_cast<size_t>(n) * 37 % 5000));
    if (n % 3 != 0) continue;
    std::swap(blocks[blocks.size() / 2], blocks.back());
    hak_free(blocks.back());
    blocks.pop_back();
  }
  for (void *block : blocks) hak_free(block);
}

/* True if the page shows a big block soon after the allocation, and not after the free. A suspended writer may write
 * the page only later, as writing is limited to a share of the time: so one of several tries must succeed. */
bool shows_big_blocks(int file) {
  bool shown = false;
  hak_free(hak_malloc(256 << 20)); /* below the earlier peak no peak is checked */
  for (int n = 0; n < 20 && !shown; n++) {
    usleep(kWindow);
    void *big = hak_malloc(64 << 20);
    shown = rows_of(file)["big_live"] >= 64u << 20;
    usleep(kWindow);
    big = hak_realloc(big, 128 << 20);
    shown = shown && rows_of(file)["big_live"] >= 128u << 20;
    usleep(kWindow);
    hak_free(big);
    shown = shown && rows_of(file)["big_live"] < 64u << 20;
  }
  return shown;
}

/* The exit status says which expectation was not met. */
int shows_itself(const std::string &stem) {
  hak_stats_page_start(stem.c_str());
  const std::string path = stem + "." + std::to_string(getpid());
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 1;
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; n++) threads.emplace_back(churn, 20000);
  for (int n = 0; n < 200; n++) {
    auto rows = rows_of(file);
    if (rows["in_use"] > rows["mapped"]) return 2;
    if (rows["in_use"] != rows["slab_live"] + rows["large_live"] + rows["big_live"] - rows["cached"]) return 3;
  }
  for (std::thread &thread : threads) thread.join();
  if (!kSlow && !shows_big_blocks(file)) return 4;
  const pid_t child = fork();
  if (child == 0) churn(20000), _exit(0);
  const uint64_t before = number_at<uint64_t>(content(file), 16);
  int status = 0;
  waitpid(child, &status, 0);
  return number_at<uint64_t>(content(file), 16) == before && status == 0 ? 0 : 5;
}

TEST(StatsPage, IsWholeAndUpToDateAndTheParents) {
  std::string folder = "/tmp/hakmem-page-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(shows_itself(folder + "/page"));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
  unlink((folder + "/page." + std::to_string(child)).c_str());
  rmdir(folder.c_str());
}

TEST(StatsPage, ThatCannotBeMadeIsSaidOnce) {
  testing::internal::CaptureStderr();
  hak_stats_page_start("/no/such/folder/page");
  hak_free(hak_malloc(100));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.rfind("hakmem: stats_file: cannot make /no/such/folder/page.", 0), 0u) << said;
}

}  // namespace
