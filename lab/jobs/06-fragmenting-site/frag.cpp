/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// frag.cpp: of 400,000 messages of 256 B one in twenty is remembered, and holds its page; the others are freed.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <memory>
#include <set>
#include <unistd.h>
#include <vector>

using Message = std::unique_ptr<char[]>;

static volatile std::sig_atomic_t g_ended = 0;

__attribute__((noinline)) Message receive_message(int number) {
  Message message(new char[256]);
  std::memset(message.get(), number, 256);
  return message;
}

__attribute__((noinline)) Message remember_message(int number) {
  Message message(new char[256]);
  std::memset(message.get(), number, 256);
  return message;
}

static void end(int) {
  g_ended = 1;
}

int main() {
  std::signal(SIGTERM, end);
  std::vector<Message> remembered;
  {
    std::vector<Message> messages;
    for (int i = 0; i < 400000; i++) {
      messages.push_back(receive_message(i));
      if (i % 20 == 0) remembered.push_back(remember_message(i));
    }
  }
  for (int i = 0; i < 160 && !g_ended; i++) {
    for (int k = 0; k < 100; k++) receive_message(k);
    usleep(25000);
    if (i != 50) continue;
    std::set<std::uintptr_t> pages; // those that a remembered message holds
    for (auto &message : remembered) pages.insert(reinterpret_cast<std::uintptr_t>(message.get()) / 4096);
    std::fprintf(stderr, "truth: %zu bytes lost\n", pages.size() * 4096 - remembered.size() * 256);
  }
  std::exit(0);
}
