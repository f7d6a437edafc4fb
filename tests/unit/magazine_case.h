/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* magazine_case.h: what cases of magazines ask and do: the memory that magazines and depot may hold, bursts of a class, a
 * barrier of threads.
 */
#ifndef HAK_TESTS_MAGAZINE_CASE_H
#define HAK_TESTS_MAGAZINE_CASE_H

#include <hakmem/hakmem.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <vector>

extern "C" {
#include "blocks/depot.h"
#include "cache/registry.h"
#include "tables/classes.h"
}

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;

using Context = struct hak_context;

inline Context *context() { return hak_thread_context(); }

inline bool is_small(unsigned c) { return g_class[c].bytes <= HAK_SMALL_MAX; }

/* Capacity of this context's magazines when full, plus their arrays [bytes]. */
inline size_t reserved(const Context *x, bool small_only) {
  size_t bytes = 0;
  for (unsigned c = 1; c < HAK_CLASSES; c++) {
    if (x->capacity[c] == 0 || (small_only && !is_small(c))) continue;
    bytes += x->capacity[c] * size_t{g_class[c].bytes} + (x->capacity[c] + 1) * sizeof(void *);
  }
  return bytes;
}

inline size_t depot_bytes() {
  size_t bytes = 0;
  for (unsigned c = 1; c < HAK_CLASSES; c++) bytes += hak_depot_blocks(c) * g_class[c].bytes;
  return bytes;
}

inline size_t reserved_by_all() {
  size_t bytes = depot_bytes();
  for (Context *x = hak_registry_first(); x != nullptr; x = x->next) bytes += reserved(x, false);
  return bytes;
}

/* The class that serves class c's size: c, or a larger class that c still shares. */
inline unsigned serving(unsigned c) { return hak_context_class(context(), g_class[c].bytes); }

/* Allocates and then frees n blocks of class c. */
inline void burst(unsigned c, size_t n) {
  std::vector<void *> blocks(n);
  for (void *&p : blocks) p = hak_malloc(g_class[c].bytes);
  for (void *p : blocks) hak_free(p);
}

/* The same, freed in another order each time. */
inline void burst_at_random(unsigned c, size_t n) {
  static std::mt19937 random(5);
  std::vector<void *> blocks(n);
  for (void *&p : blocks) p = hak_malloc(g_class[c].bytes);
  std::shuffle(blocks.begin(), blocks.end(), random);
  for (void *p : blocks) hak_free(p);
}

class Barrier {
 public:
  explicit Barrier(unsigned n) : n_(n) {}
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    const unsigned round = round_;
    if (++here_ == n_) {
      here_ = 0;
      round_++;
      all_.notify_all();
    }
    all_.wait(lock, [&] { return round != round_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  unsigned n_, here_ = 0, round_ = 0;
};

#endif
