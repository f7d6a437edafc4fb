/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* samples_file_test.cpp: the table of samples in a file: equal to the table at each instant and in each process.
 *
 * what      record/profile_samples_file.c below record/profile_samples.c, and the file read by hand as
 *           profile_samples_file.h says.
 * owner     Each case runs in a separate process.
 * not here  Kills, and the reader in Python: tests/process/profile_kill_test.py.
 */
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "os/fork.h"
#include "record/profile_samples.h"
#include "record/profile_samples_file.h"
}

namespace {

constexpr size_t kChunk = 65536;

using Sample = struct hak_sample;

struct Row {
  uint64_t address, bytes, asked;
  double weight;
  uint64_t stack;
};

struct File {
  std::string magic;
  uint64_t pid = 0, sampled = 0, lost = 0, ended = 0, whole = 0;
  std::map<uint64_t, Row> rows;
  std::map<uint64_t, std::vector<uint64_t>> stacks;
  std::map<uint64_t, double> taken; /* bytes, by stack */
  std::map<uint64_t, std::pair<uint64_t, double>> stored; /* number and bytes at the peak, by stack */
  uint64_t peak_number = 0, peak_in_use = 0;
  std::map<uint64_t, double> brief; /* blocks, by stack */
  unsigned images = 0;
};

template <class T>
T get(const std::string &data, size_t at) {
  T value;
  memcpy(&value, data.data() + at, sizeof value);
  return value;
}

void take_stacks(const std::string &data, size_t at, size_t end, File &file) {
  while (at + 96 <= end) {
    auto depth = get<uint32_t>(data, at), number = get<uint32_t>(data, at + 4);
    if (depth == 0) return;
    file.taken[number] = get<double>(data, at + 16);
    file.stored[number] = {get<uint64_t>(data, at + 72), get<double>(data, at + 40)};
    file.brief[number] = get<double>(data, at + 80);
    for (at += 96; depth > 0; depth--, at += 8) file.stacks[number].push_back(get<uint64_t>(data, at));
  }
}

void take_chunk(const std::string &data, size_t at, File &file) {
  std::string kind = data.substr(at, 8);
  if (kind == "HAKPRSTK") take_stacks(data, at + 64, at + kChunk, file);
  for (size_t n = at + 64; kind == "HAKPRROW" && n + sizeof(Row) <= at + kChunk; n += sizeof(Row)) {
    auto row = get<Row>(data, n);
    if (row.address != 0) file.rows[row.address] = row;
  }
}

std::string bytes_of(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

File read(const std::string &path) {
  std::string data = bytes_of(path);
  File file;
  if (data.size() < kChunk) return file;
  file.magic = data.substr(0, 8);
  file.pid = get<uint64_t>(data, 24);
  file.sampled = get<uint64_t>(data, 48);
  file.lost = get<uint64_t>(data, 56);
  file.ended = get<uint64_t>(data, 64);
  file.whole = get<uint64_t>(data, 184);
  file.images = get<uint64_t>(data, 512) != 0;
  file.peak_number = get<uint64_t>(data, 152);
  file.peak_in_use = get<uint64_t>(data, 160);
  for (size_t at = kChunk; at < data.size(); at += kChunk) take_chunk(data, at, file);
  return file;
}

class Kept : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/hakmem-kept-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
    path_ = folder_ + "/t";
    hak_fork_start(false);
  }

  void TearDown() override {
    if (system(("rm -rf " + folder_).c_str()) != 0) perror("rm");
  }

  std::string name(pid_t pid = getpid()) const { return path_ + "." + std::to_string(pid); }

  std::string folder_, path_;
};

void add(uint64_t address, uint64_t bytes, std::vector<uint64_t> frames, double weight = 1, uint64_t in_use = 0) {
  Sample sample = {address, bytes, bytes - 1, weight, nullptr, 0, 0, nullptr};
  hak_samples_add(&sample, frames.data(), static_cast<unsigned>(frames.size()), in_use);
}

bool withdraw(uint64_t address, Sample *out, bool brief = false) {
  return hak_samples_withdraw(reinterpret_cast<void *>(address), brief, out);
}

TEST_F(Kept, SaysWhatTheTableSays) {
  hak_samples_file_start(path_.c_str());
  auto here = reinterpret_cast<uint64_t>(&hak_samples_file_start);
  add(0x1000, 10, {here, 2, 3}, 2.5);
  add(0x2000, 20, {1, 2});
  add(0x3000, 30, {here, 2, 3});
  Sample out;
  ASSERT_TRUE(withdraw(0x3000, &out, true));
  File file = read(name());
  EXPECT_EQ(file.magic, "HAKPRO03");
  EXPECT_EQ(file.pid, static_cast<uint64_t>(getpid()));
  EXPECT_EQ(file.sampled, 3u);
  EXPECT_EQ(file.lost, 0u);
  EXPECT_EQ(file.images, 1u);
  ASSERT_EQ(file.rows.size(), 2u);
  const Row &row = file.rows[0x1000];
  EXPECT_EQ(row.bytes, 10u);
  EXPECT_EQ(row.asked, 9u);
  EXPECT_EQ(row.weight, 2.5);
  EXPECT_EQ(file.stacks[row.stack], (std::vector<uint64_t>{here, 2, 3}));
  EXPECT_EQ(file.taken[row.stack], 55);
  EXPECT_EQ(file.brief[row.stack], 1);
  hak_samples_file_end(0);
  EXPECT_EQ(read(name()).ended, 1u);
}

/* Only of calls that were sampled from the first block on is what the counters know what the samples stand for. */
TEST_F(Kept, APauseIsTold) {
  hak_samples_begin_whole();
  hak_samples_file_start(path_.c_str());
  add(0x1000, 10, {1, 2});
  EXPECT_EQ(read(name()).whole, 1u);
  hak_samples_miss();
  EXPECT_EQ(read(name()).whole, 0u);
  hak_samples_miss();
  add(0x2000, 10, {1, 2});
  EXPECT_EQ(read(name()).whole, 0u);
}

TEST_F(Kept, SampledLaterIsNotWhole) {
  hak_samples_file_start(path_.c_str());
  add(0x1000, 10, {1, 2});
  EXPECT_EQ(read(name()).whole, 0u);
}

/* The table grows, and fills holes from the end. */
TEST_F(Kept, ChurnIsFollowed) {
  hak_samples_file_start(path_.c_str());
  std::mt19937_64 random(7);
  std::map<uint64_t, uint64_t> live;
  for (int step = 0; step < 60000; step++) {
    uint64_t address = 16 + random() % 8192 * 16;
    Sample out;
    if (live.count(address) == 0) {
      live[address] = 1 + random() % 100000;
      add(address, live[address], {random() % 3000 + 1, 9});
      continue;
    }
    ASSERT_TRUE(withdraw(address, &out));
    if (step % 5 == 0) hak_samples_restore(&out);
    else live.erase(address);
  }
  File file = read(name());
  ASSERT_EQ(file.rows.size(), live.size());
  for (auto &entry : live) EXPECT_EQ(file.rows[entry.first].bytes, entry.second);
  for (auto &entry : file.rows) EXPECT_EQ(file.stacks[entry.second.stack].size(), 2u);
  EXPECT_EQ(file.lost, 0u);
}

/* [bytes] At the peak, by stack: stored, or what is live if the stack has not changed since. */
std::map<uint64_t, double> at_peak(const File &file) {
  std::map<uint64_t, double> found;
  for (auto &stack : file.stored) {
    if (stack.second.first == file.peak_number) found[stack.first] = stack.second.second;
  }
  for (auto &row : file.rows) {
    uint64_t stack = row.second.stack;
    if (file.stored.at(stack).first != file.peak_number) found[stack] += row.second.weight * static_cast<double>(row.second.bytes);
  }
  return found;
}

/* Counters that follow no sample say when the peak is: after each step the file says what was live then. */
TEST_F(Kept, ThePeakIsKept) {
  hak_samples_file_start(path_.c_str());
  std::mt19937_64 random(11);
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> live; /* bytes and stack, by address */
  std::map<uint64_t, double> now, then;
  uint64_t most = 0;
  for (int step = 0; step < 3000; step++) {
    uint64_t address = 16 + random() % 512 * 16, in_use = random() % 100 < 98 ? random() % 1000 : static_cast<uint64_t>(step);
    Sample out;
    auto known = live.find(address);
    if (known != live.end()) {
      ASSERT_TRUE(withdraw(address, &out));
      now[known->second.second] -= static_cast<double>(known->second.first);
      live.erase(known);
    } else {
      live[address] = {1 + random() % 1000, 1 + random() % 30};
      add(address, live[address].first, {live[address].second}, 1, in_use);
      now[live[address].second] += static_cast<double>(live[address].first);
      if (in_use > most) most = in_use, then = now;
    }
    if (step % 37 != 0 || most == 0) continue;
    File file = read(name());
    std::map<uint64_t, double> found;
    for (auto &entry : at_peak(file)) found[file.stacks[entry.first][0]] = entry.second;
    ASSERT_EQ(file.peak_in_use, most);
    for (auto &entry : then) ASSERT_EQ(found[entry.first], entry.second) << step << ", stack " << entry.first;
    for (auto &entry : found) ASSERT_EQ(then[entry.first], entry.second) << step << ", stack " << entry.first;
  }
  EXPECT_GT(most, 2000u);
}

TEST_F(Kept, AChildWritesAFileOfItsOwn) {
  hak_samples_file_start(path_.c_str());
  for (uint64_t n = 1; n <= 5000; n++) add(n * 64, n, {n % 700 + 1, 5}, 1, n == 5000 ? 9 : 1);
  std::string before = bytes_of(name());
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Sample out;
    bool ok = withdraw(64, &out);
    add(1 << 30, 7, {77, 5});
    File file = read(name());
    auto peak = at_peak(file);
    double bytes = 0;
    for (auto &entry : peak) bytes += entry.second;
    _exit(ok && file.peak_in_use == 9 && bytes == 12502500 && file.pid == static_cast<uint64_t>(getpid()) && file.rows.size() == 5000 && file.rows.count(64) == 0 &&
                  file.rows.count(1 << 30) == 1 && file.stacks[file.rows[128].stack].size() == 2
              ? 0
              : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(bytes_of(name()), before) << "the parent's file is as it was";
  add(1 << 30, 9, {1, 5});
  EXPECT_EQ(read(name()).rows[1 << 30].bytes, 9u);
  EXPECT_EQ(read(name(child)).rows[1 << 30].bytes, 7u);
}

TEST_F(Kept, WhatAnotherProgramLeftIsReplaced) {
  std::ofstream(name()) << "old";
  hak_samples_file_start(path_.c_str());
  EXPECT_EQ(read(name()).magic, "HAKPRO03");
}

TEST_F(Kept, InASandboxItKeepsWhatItHas) {
  hak_samples_file_start(path_.c_str());
  add(16, 1, {1});
  hak_samples_file_finish();
  size_t size = bytes_of(name()).size();
  testing::internal::CaptureStderr();
  for (uint64_t n = 2; n <= 80000; n++) add(n * 16, n, {n % 2000 + 1});
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "hakmem: profile_table: " + name() + " cannot grow; the samples in it stay\n");
  EXPECT_EQ(bytes_of(name()).size(), size);
  File file = read(name());
  EXPECT_GT(file.rows.size(), 40000u);
  EXPECT_EQ(file.rows.size() + file.lost, 80000u);
  Sample out;
  ASSERT_TRUE(withdraw(16, &out));
  EXPECT_EQ(read(name()).rows.count(16), 0u);
  pid_t child = fork();
  if (child == 0) {
    ASSERT_TRUE(withdraw(32, &out));
    _exit(access(name().c_str(), F_OK) == 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "no file may be opened any more";
  EXPECT_EQ(read(name()).rows.count(32), 1u);
}

TEST_F(Kept, AFullDiskIsOneLine) {
  const struct rlimit limit = {3 * kChunk, 3 * kChunk};
  setrlimit(RLIMIT_FSIZE, &limit);
  hak_samples_file_start(path_.c_str());
  testing::internal::CaptureStderr();
  for (uint64_t n = 1; n <= 5000; n++) add(n * 16, n, {1});
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "hakmem: profile_table: " + name() + " cannot grow; the samples in it stay\n");
  EXPECT_EQ(read(name()).rows.size(), (kChunk - 64) / 40);
  Sample out;
  for (uint64_t n = 1; n <= 5000; n++) EXPECT_TRUE(withdraw(n * 16, &out));
  EXPECT_EQ(read(name()).rows.size(), 0u);
}

TEST_F(Kept, AFolderThatIsNotThereIsOneLine) {
  testing::internal::CaptureStderr();
  hak_samples_file_start((folder_ + "/none/t").c_str());
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said, "hakmem: profile_table: " + folder_ + "/none/t." + std::to_string(getpid()) +
                      " cannot be made; no samples are kept\n");
  add(16, 1, {1});
  Sample out;
  EXPECT_TRUE(withdraw(16, &out));
}

}  // namespace
