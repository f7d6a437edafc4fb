/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// leak.cpp: four threads serve requests; a request with an error keeps its session. An index of 24 MiB is freed at the end.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Session {
  char data[1024];
};

static std::atomic<long> g_lost{0};

__attribute__((noinline)) Session *open_session(int id) {
  Session *session = new Session;
  std::memset(session->data, id, sizeof session->data);
  return session;
}

__attribute__((noinline)) std::vector<std::string> parse_request(int id) {
  std::vector<std::string> words;
  for (int i = 0; i < 8; i++) words.push_back("a word of the request, number " + std::to_string(id + i));
  return words;
}

__attribute__((noinline)) bool handle_request(int id) {
  Session *session = open_session(id);
  std::vector<std::string> words = parse_request(id);
  if (id % 4 == 0) return g_lost++, false; // the leak: the session of a failed request
  bool is_long = words[id % 8].size() + session->data[0] > 10;
  delete session;
  return is_long;
}

__attribute__((noinline)) std::vector<std::unique_ptr<char[]>> build_index() {
  std::vector<std::unique_ptr<char[]>> index;
  for (int i = 0; i < 24 * 256; i++) index.emplace_back(new char[4096]), std::memset(index.back().get(), i, 4096);
  return index;
}

int main() {
  auto index = build_index();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([] {
      for (int id = 0; id < 50000; id++) handle_request(id);
    });
  for (auto &thread : threads) thread.join();
  std::fprintf(stderr, "truth: %ld bytes\n", g_lost.load() * static_cast<long>(sizeof(Session)));
  return index.empty();
}
