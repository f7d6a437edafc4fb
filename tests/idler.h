/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* idler.h: a thread that runs given functions, and idles between.
 *
 * locks     A mutex and a condition variable: ThreadSanitizer sees both from here, but no std::future.
 */
#ifndef HAK_TESTS_IDLER_H
#define HAK_TESTS_IDLER_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

class Idler {
 public:
  Idler() = default;
  ~Idler() { end(); }
  Idler(const Idler &) = delete;
  Idler &operator=(const Idler &) = delete;

  /* Returns when the thread has run the function. */
  void run(const std::function<void()> &task) {
    std::unique_lock<std::mutex> lock(mutex_);
    task_ = &task;
    changed_.notify_all();
    changed_.wait(lock, [this] { return task_ == nullptr; });
  }

  void end() {
    if (!thread_.joinable()) return;
    run([this] { over_ = true; });
    thread_.join();
  }

 private:
  void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!over_) {
      changed_.wait(lock, [this] { return task_ != nullptr; });
      (*task_)();
      task_ = nullptr;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()> *task_ = nullptr;
  bool over_ = false;
  std::thread thread_{[this] { serve(); }};
};

#endif
