/* SPDX-License-Identifier: MIT OR Apache-2.0 */
// patterns.cpp: makes the sequences of calls that take slow paths, one callgrind dump for each pattern.
//
// what      `pattern_probe` lists the scenarios and sizes; `pattern_probe SCENARIO BYTES` runs a scenario under
//           valgrind --tool=callgrind with the library preloaded. Collection is on in a pattern's calls alone. A
//           dump is named "<pattern> <block> <operations> <operation>"; dumps of one pattern are added up.
// owner     patterns.py starts the probe and reads the dumps.
// locks     Two threads take turns at a barrier and never run at once: the count does not depend on the threads' order.
// orders    The barrier's.
// hot path  The library's; the probe's instructions lie in a separate object and are not counted.
// failure   Exit 1 with one line when a call fails, 2 with the usage.
// not here  Counting, judging, the table (patterns.py).
#include <pthread.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

namespace {

using probe::give_up;
using probe::kept;

constexpr std::size_t most_blocks = 32768;
constexpr std::size_t heap_bytes = 32 << 20;
constexpr std::size_t most_cached = 1024;  // more than a magazine holds
void *blocks[most_blocks];

// xorshift64* (Vigna, 2016), the same numbers in every run.
std::uint64_t random_state = 88172645463325252u;
std::uint64_t random_number() {
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 2685821657736338717u >> 32;
}

void *make(std::size_t bytes) { return kept(std::malloc(bytes), "malloc", bytes); }

std::size_t blocks_of(std::size_t bytes) { return std::min(most_blocks, heap_bytes / bytes); }

void make_all(std::size_t from, std::size_t to, std::size_t bytes) {
  for (std::size_t i = from; i < to; ++i) blocks[i] = make(bytes);
}

void free_all(std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) std::free(blocks[i]);
}

void shuffle(std::size_t n) {
  for (std::size_t i = n; i > 1; --i) std::swap(blocks[i - 1], blocks[random_number() % i]);
}

void dump(const char *pattern, std::size_t bytes, std::size_t operations, const char *operation) {
  char name[96];
  std::snprintf(name, sizeof name, "%s %zu %zu %s", pattern, bytes, operations, operation);
  CALLGRIND_DUMP_STATS_AT(name);
}

// Counts this thread's instructions in `work`; valgrind keeps the switch per thread.
template <typename Work>
void count(const char *pattern, std::size_t bytes, std::size_t operations, const char *operation, Work work) {
  CALLGRIND_TOGGLE_COLLECT;
  work();
  CALLGRIND_TOGGLE_COLLECT;
  dump(pattern, bytes, operations, operation);
}

// ---- slabs ----

// At 8 MiB the library reads files of the machine for limits: not counted.
void reach_8_mib() { std::free(make(9 << 20)); }

// A fresh heap: runs are cut, slabs opened, the magazine grows. Then every block is freed in order.
void fresh(std::size_t bytes) {
  reach_8_mib();
  std::size_t n = blocks_of(bytes);
  count("fresh", bytes, n, "malloc", [=] { make_all(0, n, bytes); });
  count("give_back", bytes, n, "free", [=] { free_all(0, n); });
}

// Every eighth block is never freed, so that the slabs stay open (all but the last few, of which only the magazine had
// a part): refills and flushes of neighbours. The last refill asks for more than needed: enough free blocks are left,
// so that no slab is opened.
void partial(std::size_t bytes) {
  std::size_t n = blocks_of(bytes) / 8 * 7;
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 7 == 0) make(bytes);
    blocks[i] = make(bytes);
  }
  free_all(0, n);
  n -= most_cached;
  count("refill", bytes, n, "malloc", [=] { make_all(0, n, bytes); });
  count("flush", bytes, n, "free", [=] { free_all(0, n); });
}

// Scattered free slots: hardly any two blocks of a refill or a flush are neighbours.
void scattered(std::size_t bytes) {
  std::size_t n = blocks_of(bytes);
  make_all(0, n, bytes);
  shuffle(n);
  free_all(0, n / 2);
  count("scattered_refill", bytes, n / 2, "malloc", [=] { make_all(0, n / 2, bytes); });
  shuffle(n);
  count("random_free", bytes, n, "free", [=] { free_all(0, n); });
}

// ---- the depot ----

constexpr int rounds = 32;

struct handover {
  std::size_t bytes, n;
  pthread_barrier_t turn, end;
};

void wait(pthread_barrier_t *barrier) {
  int result = pthread_barrier_wait(barrier);
  if (result != 0 && result != PTHREAD_BARRIER_SERIAL_THREAD) give_up("waiting at a barrier", 0);
}

// Half of the rounds only warm both threads' magazines.
void take_turn(int round, const char *pattern, const char *operation, const handover &h,
               void (*work)(const handover &)) {
  if (round < rounds / 2) work(h);
  else count(pattern, h.bytes, h.n, operation, [&] { work(h); });
}

void freeing_thread(handover *h) {
  std::free(make(16));
  wait(&h->turn);
  for (int round = 0; round < rounds; ++round) {
    wait(&h->turn);
    take_turn(round, "depot_flush", "free", *h, [](const handover &x) { free_all(0, x.n); });
    wait(&h->turn);
  }
}

void allocating_thread(handover *h) {
  wait(&h->turn);
  for (int round = 0; round < rounds; ++round) {
    take_turn(round, "depot_refill", "malloc", *h, [](const handover &x) { make_all(0, x.n, x.bytes); });
    wait(&h->turn);
    wait(&h->turn);
  }
}

// Each thread with a cache adds 64 KiB of room per class to the depot; a flush of 8 KiB blocks needs the room of eight
// threads.
void bystander(handover *h) {
  std::free(make(16));
  wait(&h->turn);
  wait(&h->end);
}

// This thread allocates, the second thread frees, in turns: every block travels through the depot. The threads start in
// sequence, since the order of the first calls decides which classes the threads use.
void exchange(std::size_t bytes) {
  constexpr unsigned bystanders = 8;
  handover h{bytes, bytes <= 1024 ? 1024u : 64u, {}, {}};
  pthread_barrier_init(&h.turn, nullptr, 2);
  pthread_barrier_init(&h.end, nullptr, bystanders + 1);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < bystanders; ++i) {
    threads.emplace_back(bystander, &h);
    wait(&h.turn);
  }
  threads.emplace_back(freeing_thread, &h);
  allocating_thread(&h);
  wait(&h.end);
  for (std::thread &thread : threads) thread.join();
}

// ---- large and big blocks ----

// The same size again and again: a dirty run, or a kept mapping.
void pairs(const char *pattern, std::size_t bytes) {
  constexpr std::size_t n = 256;
  auto work = [=] {
    for (std::size_t i = 0; i < n; ++i) std::free(make(bytes));
  };
  work();
  count(pattern, bytes, n, "pair", work);
}

void run_pairs(std::size_t bytes) { pairs("run_pair", bytes); }
void large_pairs(std::size_t bytes) { pairs("large_pair", bytes); }

// More blocks at once than a magazine holds: blocks/large.c serves and takes back the rest.
void run_bursts(std::size_t bytes) {
  constexpr std::size_t n = 256, rounds = 4;
  auto work = [=] {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < n; ++i) blocks[i] = make(bytes);
      for (std::size_t i = 0; i < n; ++i) std::free(blocks[i]);
    }
  };
  work();
  count("run_burst", bytes, n * rounds, "pair", work);
}

void big_pairs(std::size_t bytes) { pairs("big_pair", bytes); }

// Grows a block in sixteen steps and frees the block, again and again.
void grow(const char *pattern, std::size_t bytes) {
  constexpr std::size_t n = 64, steps = 16;
  auto work = [=] {
    for (std::size_t i = 0; i < n; ++i) {
      void *p = nullptr;
      for (std::size_t step = 1; step <= steps; ++step) {
        p = kept(std::realloc(p, bytes / steps * step), "realloc", bytes);
      }
      std::free(p);
    }
  };
  work();
  count(pattern, bytes, n * steps, "realloc", work);
}

void large_grow(std::size_t bytes) { grow("large_grow", bytes); }
void big_grow(std::size_t bytes) { grow("big_grow", bytes); }

// ---- mixtures ----

// Frees a random block of `slots` live blocks and allocates a block of a random size, again and again.
void replace(const char *pattern, std::size_t slots, std::size_t smallest, std::size_t largest) {
  constexpr std::size_t n = 16384;
  auto work = [=] {
    for (std::size_t i = 0; i < n; ++i) {
      void *&p = blocks[random_number() % slots];
      std::free(p);
      p = make(smallest + random_number() % (largest - smallest + 1));
    }
  };
  work();
  count(pattern, largest, n, "pair", work);
}

void small_replace(std::size_t bytes) { replace("small_replace", 2048, 1, bytes); }
void mid_replace(std::size_t bytes) { replace("mid_replace", 2048, 1025, bytes); }
void large_replace(std::size_t bytes) { replace("large_replace", 256, 32769, bytes); }
void big_replace(std::size_t bytes) { replace("big_replace", 8, 1 << 20, bytes); }

// ---- sampling ----

// Sets `profile` with one sample in 2^40 bytes: no pair is sampled.
void begin_profile() {
  using set_function = int(const char *, const char *);
  auto *set = reinterpret_cast<set_function *>(dlsym(RTLD_DEFAULT, "hak_set"));
  if (!set || set("profile_bytes", "1099511627776") != 0 || set("profile", "1") != 0) give_up("sampling", 0);
}

void sampled_pairs(std::size_t bytes) {
  constexpr std::size_t n = 4096;
  auto work = [=] {
    for (std::size_t i = 0; i < n; ++i) std::free(make(bytes));
  };
  begin_profile();
  work();
  count("sampled_pair", bytes, n, "pair", work);
}

// ---- which ----

struct scenario {
  const char *name;
  void (*run)(std::size_t bytes);
  std::vector<std::size_t> sizes;
};

const scenario scenarios[] = {
    {"fresh", fresh, {64, 8192}},
    {"partial", partial, {64, 8192}},
    {"scattered", scattered, {64, 8192}},
    {"exchange", exchange, {32, 64, 8192}},
    {"run_pairs", run_pairs, {64 << 10, 256 << 10}},
    {"run_bursts", run_bursts, {64 << 10, 256 << 10}},
    {"large_pairs", large_pairs, {320 << 10}},
    {"large_grow", large_grow, {960 << 10}},
    {"big_pairs", big_pairs, {1 << 20, 2 << 20}},
    {"big_grow", big_grow, {16 << 20}},
    {"small_replace", small_replace, {1024}},
    {"mid_replace", mid_replace, {32768}},
    {"large_replace", large_replace, {(1 << 20) - 1}},
    {"big_replace", big_replace, {4 << 20}},
    {"sampled_pairs", sampled_pairs, {64, 8192}},
};

int list() {
  for (const scenario &s : scenarios) {
    for (std::size_t bytes : s.sizes) std::printf("%s %zu\n", s.name, bytes);
  }
  return 0;
}

int run(const char *name, const char *bytes) {
  for (const scenario &s : scenarios) {
    for (std::size_t size : s.sizes) {
      if (std::strcmp(name, s.name) != 0 || std::to_string(size) != bytes) continue;
      probe::name_library();
      s.run(size);
      return 0;
    }
  }
  std::fprintf(stderr, "pattern_probe: no scenario '%s %s'\n", name, bytes);
  return 2;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 1) return list();
  if (argc == 3) return run(argv[1], argv[2]);
  std::fprintf(stderr, "usage: pattern_probe [SCENARIO BYTES]\n");
  return 2;
}
