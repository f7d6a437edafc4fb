/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// feed.cpp: a server with a cache of constant size, and an audit list that only grows: an hour's growth in some seconds.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

using Bytes = std::unique_ptr<char[]>;

static volatile std::sig_atomic_t g_ended = 0;

__attribute__((noinline)) Bytes fetch_page(std::size_t bytes) {
  Bytes page(new char[bytes]);
  std::memset(page.get(), 1, bytes);
  return page;
}

__attribute__((noinline)) Bytes append_audit(std::size_t bytes) {
  Bytes entry(new char[bytes]);
  std::memset(entry.get(), 2, bytes);
  return entry;
}

__attribute__((noinline)) std::size_t answer(int number) {
  std::vector<std::string> words;
  for (int i = 0; i < 20; i++) words.push_back("an answer has words, and this is number " + std::to_string(number + i));
  return words.back().size();
}

static void end(int) {
  g_ended = 1;
}

int main(int count, char **words) {
  const int seconds = count > 1 ? std::atoi(words[1]) : 12;
  std::signal(SIGTERM, end);
  std::vector<Bytes> cache(8192), audit;
  for (auto &page : cache) page = fetch_page(4096);
  std::size_t sum = 0;
  for (int tick = 0; tick < seconds * 100 && !g_ended; tick++) {
    for (int i = 0; i < 40; i++) {
      cache[static_cast<std::size_t>(tick * 40 + i) % cache.size()] = fetch_page(4096);
      audit.push_back(append_audit(512));
      sum += answer(i);
    }
    if (tick % 10 == 0) std::fprintf(stderr, "audit: %zu bytes\n", audit.size() * 512);
    usleep(9000);
  }
  std::fprintf(stderr, "truth: %zu bytes\n", audit.size() * 512);
  std::_Exit(sum == 1);
}
