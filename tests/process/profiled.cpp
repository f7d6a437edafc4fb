/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* profiled.cpp: programs with known memory, for tests of profiles.
 *
 * what      The first argument names the program; prints the live bytes of the end where the test asks for the figure.
 */
#include <hakmem/hakmem.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Node {
  char data[200];
};

std::vector<void *> kept;

__attribute__((noinline)) void leak_nodes(int n) {
  for (int i = 0; i < n; i++) kept.push_back(new Node); /* the leaking line */
}

__attribute__((noinline)) void use_for_a_while(int n) {
  for (int i = 0; i < n; i++) {
    void *volatile p = malloc(50 + static_cast<size_t>(i) % 3000);
    free(p);
  }
}

int leak() {
  for (int i = 0; i < 10; i++) {
    leak_nodes(20000);
    use_for_a_while(20000);
  }
  return 0;
}

/* Every block is freed, by a thread other than the allocating thread. */
int threads() {
  std::vector<std::vector<void *>> blocks(8);
  for (int round = 0; round < 2; round++) {
    std::vector<std::thread> workers;
    for (size_t n = 0; n < blocks.size(); n++) {
      workers.emplace_back([&blocks, n, round] {
        auto &mine = blocks[(n + static_cast<size_t>(round)) % blocks.size()];
        for (int i = 0; i < 20000 && round == 0; i++) mine.push_back(malloc(100 + static_cast<size_t>(i) % 1000));
        for (void *p : mine) round == 1 ? free(p) : static_cast<void>(memset(p, 1, 16));
      });
    }
    for (auto &worker : workers) worker.join();
  }
  return 0;
}

int forks() {
  leak_nodes(50000);
  pid_t child = fork();
  if (child == 0) {
    leak_nodes(100000);
    printf("%d\n", static_cast<int>(getpid()));
    return 0;
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

/* The first pile is the peak: it grows in steps with churn, and is freed before the second pile. Prints the usable bytes
 * of the first at its largest. `ends`: returns, else waits for its end. */
__attribute__((noinline)) size_t pile_up(std::vector<void *> &pile, size_t most, size_t size) {
  size_t have = 0;
  while (have < most) {
    void *p = malloc(size); /* the first pile */
    have += malloc_usable_size(p);
    pile.push_back(p);
    void *volatile q = malloc(size);
    free(q);
  }
  return have;
}

__attribute__((noinline)) void second_pile(size_t most) {
  for (size_t have = 0; have < most; have += 3000) kept.push_back(malloc(3000)); /* the second pile */
}

int peaks(size_t mib, bool ends) {
  std::vector<void *> first;
  size_t most = pile_up(first, mib << 20, 500);
  for (void *p : first) free(p);
  second_pile(mib << 18);
  printf("%zu\n", most);
  if (!ends) puts("ready");
  fflush(stdout);
  while (!ends) pause();
  return 0;
}

/* 100,000 blocks freed at once, 100,000 after one more request, and some that are kept. */
__attribute__((noinline)) void freed_at_once(int n) {
  for (int i = 0; i < n; i++) {
    void *volatile p = malloc(100);
    free(p);
  }
}

__attribute__((noinline)) void freed_later(int n) {
  void *volatile before = malloc(100);
  for (int i = 1; i < n; i++) {
    void *volatile p = malloc(100);
    free(before);
    before = p;
  }
  free(before);
}

int temporary() {
  freed_at_once(100000);
  freed_later(100000);
  leak_nodes(1000);
  return 0;
}

/* Stays at its peak for long, while each block is replaced many times: sums of samples vary, the counters do not. */
int level(size_t mib) {
  std::vector<void *> pile;
  std::mt19937 random(1);
  size_t most = pile_up(pile, mib << 20, 500);
  for (size_t n = 0; n < 20 * pile.size(); n++) {
    void *&p = pile[random() % pile.size()];
    free(p);
    p = malloc(500);
  }
  for (void *p : pile) free(p);
  printf("%zu\n", most);
  return 0;
}

int waits() {
  leak_nodes(50000);
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

/* Until the stop every thread is nearly always inside the allocator. */
int hurries() {
  std::vector<std::thread> workers;
  for (int n = 0; n < 3; n++) workers.emplace_back([] {
    for (;;) use_for_a_while(1000);
  });
  puts("ready");
  fflush(stdout);
  for (;;) use_for_a_while(1000);
}

/* A set of blocks of all sizes that grows and shrinks between two thirds of `most` and `most` [bytes], all bytes
 * touched. Free memory is released at every 128 KiB. */
void breathe(size_t most, unsigned seed, std::atomic<int> &grown) {
  std::vector<std::pair<void *, size_t>> pile;
  std::mt19937 random(seed);
  size_t have = 0;
  for (bool first = true;; first = false) {
    size_t to = first ? most : most * 2 / 3 + random() % (most / 3);
    while (have < to) {
      size_t n = random() % 100 == 0 ? 20000 + random() % 200000 : 16 + random() % 4000;
      void *p = malloc(n);
      pile.emplace_back(p, malloc_usable_size(p));
      memset(p, 1, pile.back().second);
      have += pile.back().second;
    }
    for (size_t freed = 0; have > to;) {
      have -= pile.back().second;
      freed += pile.back().second;
      free(pile.back().first);
      pile.pop_back();
      if (freed > 128 << 10) freed = 0, malloc_trim(0);
    }
    malloc_trim(0);
    if (first) grown++;
  }
}

int breathes() {
  std::atomic<int> grown{0};
  puts("starts");
  fflush(stdout);
  getchar();
  std::thread other([&grown] { breathe(96 << 20, 1, grown); });
  std::thread tells([&grown] {
    while (grown != 2) usleep(1000);
    puts("ready");
    fflush(stdout);
  });
  breathe(96 << 20, 2, grown);
  return 0;
}

void stop_well(int) { _exit(7); }

int handles() {
  signal(SIGTERM, stop_well);
  signal(SIGUSR2, SIG_IGN);
  return waits();
}

int switches(const char *path) {
  leak_nodes(10000);
  if (hak_profile_start(4096) != 0) return 1;
  leak_nodes(100000);
  hak_profile_stop();
  leak_nodes(100000);
  return hak_profile_dump(path);
}

/* Half of the blocks grow, in place or by a move, and one in four is freed. */
int all_kinds() {
  std::vector<void *> live;
  for (size_t i = 0; i < 20000; i++) {
    size_t n = i % 100 == 0 ? 100000 + i * 10 : 10 + i % 2000;
    void *p = i % 3 == 0 ? calloc(n, 1) : i % 3 == 1 ? aligned_alloc(64, n) : malloc(n);
    if (i % 2 == 0) p = realloc(p, n * 2);
    live.push_back(p);
    if (i % 4 == 0) free(p), live.pop_back();
  }
  size_t bytes = 0;
  for (void *p : live) bytes += malloc_usable_size(p);
  kept = live;
  printf("%zu\n", bytes);
  return 0;
}

__attribute__((noinline)) int deep(int n) {
  if (n == 0) {
    leak_nodes(20000);
    return 0;
  }
  return deep(n - 1) + 1;
}

/* malloc(bytes) while the frame pointer holds `pointer`. */
#if defined(__x86_64__)
void *malloc_with_frame(size_t bytes, uintptr_t pointer) {
  void *p;
  __asm__ volatile("push %%rbp; mov %2, %%rbp; mov %%rsp, %%rbx; and $-16, %%rsp; call malloc@plt; mov %%rbx, %%rsp; pop %%rbp"
                   : "=a"(p)
                   : "D"(bytes), "r"(pointer)
                   : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
  return p;
}
#else
void *malloc_with_frame(size_t bytes, uintptr_t pointer) {
  register size_t p __asm__("x0") = bytes;
  register uintptr_t odd __asm__("x20") = pointer;
  __asm__ volatile("mov x19, x29; mov x29, x20; bl malloc; mov x29, x19"
                   : "+r"(p)
                   : "r"(odd)
                   : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                     "x17", "x18", "x19", "x30", "memory", "cc");
  return reinterpret_cast<void *>(p);
}
#endif

/* The frame pointer holds arbitrary numbers: small, unreadable, or the address of a page of zeros. */
int odd_frames() {
  static char page[8192] __attribute__((aligned(4096)));
  const uintptr_t odd[] = {0, 1, 8, UINTPTR_MAX - 7, 0x7fffffffff00, reinterpret_cast<uintptr_t>(page)};
  for (uintptr_t pointer : odd) kept.push_back(malloc_with_frame(100, pointer));
  return 0;
}

}  // namespace

int main(int count, char **words) {
  std::string how = count > 1 ? words[1] : "";
  if (how == "leak") return leak();
  if (how == "threads") return threads();
  if (how == "fork") return forks();
  if (how == "waits") return waits();
  if (how == "peaks" && count > 2) return peaks(static_cast<size_t>(atoi(words[2])), count == 3);
  if (how == "temporary") return temporary();
  if (how == "level" && count > 2) return level(static_cast<size_t>(atoi(words[2])));
  if (how == "hurries") return hurries();
  if (how == "breathes") return breathes();
  if (how == "handles") return handles();
  if (how == "all") return all_kinds();
  if (how == "deep") return deep(100) - 100;
  if (how == "odd") return odd_frames();
  return how == "switches" && count > 2 ? switches(words[2]) : 2;
}
