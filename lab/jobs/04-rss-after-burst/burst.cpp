/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// burst.cpp: a small server; four threads answer a burst of requests, whose documents are freed, and then one now and then.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

using Document = std::unique_ptr<char[]>;

static volatile std::sig_atomic_t g_ended = 0;
static std::atomic<long> g_live{0};

__attribute__((noinline)) Document make_document(std::size_t bytes) {
  Document document(new char[bytes]);
  std::memset(document.get(), 1, bytes);
  return document;
}

__attribute__((noinline)) Document remember_session(std::size_t bytes) {
  Document session(new char[bytes]);
  std::memset(session.get(), 2, bytes);
  g_live += static_cast<long>(bytes);
  return session;
}

static void serve(std::vector<Document> &sessions, int requests) {
  std::vector<Document> documents;
  for (int i = 0; i < requests; i++) {
    documents.push_back(make_document(2048 + static_cast<std::size_t>(i % 7) * 1024));
    if (i % 24 < 3) sessions.push_back(remember_session(4096));
  }
}

static void end(int) {
  g_ended = 1;
}

static void say_state(const char *word) {
  long pages = 0, resident = 0;
  std::FILE *file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) std::abort();
  std::fclose(file);
  std::fprintf(stderr, "%s: %ld bytes live, %ld resident\n", word, g_live.load(), resident * 4096);
}

int main() {
  std::signal(SIGTERM, end);
  std::vector<std::vector<Document>> sessions(4);
  std::vector<std::thread> threads;
  for (auto &own : sessions) threads.emplace_back([&own] { serve(own, 12000), serve(own, 12), pause(); });
  std::vector<Document> few;
  for (int i = 0; i < 200 && !g_ended; i++) {
    if (i == 70) say_state("truth");
    serve(few, 2);
    few.clear();
    usleep(25000);
  }
  std::fprintf(stderr, "ended\n");
  std::exit(0);
}
