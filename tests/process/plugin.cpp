/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// plugin.cpp: a library that allocates at its opening, in use, at a thread's end, and at its closing.
#include <string>
#include <thread>
#include <vector>

#include "workload.h"

namespace {
std::vector<std::string> at_load(100, std::string(200, 'p'));
thread_local std::vector<std::string> in_thread;
}  // namespace

extern "C" void plugin_use() {
  in_thread.assign(20, at_load.front());
  std::thread([] {
    in_thread.assign(30, at_load.back());
    work(4);
  }).join();
}
