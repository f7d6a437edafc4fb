/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// static_owner.cpp: a statically linked program with HAKMEM as its only malloc, also for libc and libstdc++.
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "hakmem/hakmem.h"
#include "workload.h"

static void expect_owned(const void *p, const char *what) { work_expect(p != nullptr && hak_owns(p), what); }

static void libc_blocks() {
  char *copy = strdup("text");
  expect_owned(copy, "strdup");
  free(copy);
  char *text = nullptr;
  work_expect(asprintf(&text, "%d", 5) == 1, "asprintf");
  expect_owned(text, "asprintf");
  free(text);
  char *line = nullptr;
  size_t length = 0;
  FILE *file = fopen("/proc/self/status", "r");
  expect_owned(file, "fopen");
  work_expect(getline(&line, &length, file) > 0, "getline");
  expect_owned(line, "getline");
  free(line);
  fclose(file);
}

static void cxx_blocks() {
  const auto *number = new int(5);
  expect_owned(number, "new");
  delete number;
  const std::vector<std::string> texts(100, std::string(100, 'x'));
  expect_owned(texts.data(), "std::vector");
  expect_owned(texts[50].data(), "std::string");
}

int main() {
  libc_blocks();
  cxx_blocks();
  std::thread(work, 5).join();
  work(6);
  puts("done");
  return 0;
}
