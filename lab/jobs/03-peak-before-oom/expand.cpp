/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// expand.cpp: loads a table of 48 MiB, then makes rows of it until the kernel ends it (a control group of 256 MiB).
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

using Rows = std::vector<std::unique_ptr<char[]>>;

__attribute__((noinline)) void add_row(Rows &rows, std::size_t bytes, int fill) {
  rows.emplace_back(new char[bytes]);
  std::memset(rows.back().get(), fill, bytes);
}

__attribute__((noinline)) void load_table(Rows &table) {
  for (int i = 0; i < 48 * 1024; i++) add_row(table, 1024, i);
}

__attribute__((noinline)) void expand_rows(const Rows &table) {
  Rows rows;
  for (long i = 0;; i++) {
    add_row(rows, 1024, table[static_cast<std::size_t>(i) % table.size()][0]);
    if (i % 1024 == 0) std::fprintf(stderr, "truth: %ld bytes\n", i * 1024);
  }
}

int main() {
  Rows table;
  load_table(table);
  expand_rows(table);
}
