/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// copies.cpp: a process with 96 MiB of records forks a worker, which counts references in them, and so copies every page.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

struct Record {
  long references;
  char text[504];
};

using Records = std::vector<std::unique_ptr<Record>>;

__attribute__((noinline)) void load_records(Records &records) {
  for (int i = 0; i < 96 * 2048; i++) records.emplace_back(new Record), std::memset(records.back().get(), 1, sizeof(Record));
}

__attribute__((noinline)) void count_references(Records &records) {
  for (auto &record : records) record->references++;
}

static void work(Records &records) {
  count_references(records);
  std::fprintf(stderr, "truth: %zu bytes copied in child %d\n", records.size() * sizeof(Record), getpid());
  for (int i = 0; i < 160; i++) {
    std::vector<Record> some(8);
    usleep(25000);
  }
}

int main() {
  Records records;
  load_records(records);
  pid_t child = fork();
  if (child == 0) return work(records), 0;
  int status = 0;
  waitpid(child, &status, 0);
  return status != 0;
}
