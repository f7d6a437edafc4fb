/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* leaks.cpp [signal]: a server that leaks the buffers of its sessions. Exits with 3, or by the signal. */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

struct Session {
  std::string user;
  char *buffer;
};

class Server {
 public:
  __attribute__((noinline)) void open(int number) {
    auto *session = new Session{"user-" + std::to_string(number), nullptr};
    session->buffer = static_cast<char *>(malloc(4000)); /* leaks */
    memset(session->buffer, 1, 4000);
    sessions_[number] = session;
  }

  /* The buffer is forgotten. */
  void close(int number) {
    delete sessions_[number];
    sessions_.erase(number);
  }

 private:
  std::map<int, Session *> sessions_;
};

}  // namespace

int main(int count, char **words) {
  Server server;
  for (int n = 0; n < 20000; n++) {
    server.open(n);
    server.close(n);
  }
  puts("served");
  fflush(stdout);
  if (count > 1) raise(atoi(words[1]));
  return 3;
}
