/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_kernel_test.cpp: kernel calls of big blocks that fit no free mapping.
 *
 * what      The whole library over the real kernel, counted by the library's counters. Also the cost of a refused
 *           request.
 * owner     Each case runs in a separate process.
 * failure   More calls than a move for each block.
 * not here  Which pages move: big_cache_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <string>

namespace {

constexpr size_t kKiB = 1024, kMiB = kKiB * kKiB;

size_t page() { return getauxval(AT_PAGESZ); }

uint64_t counter(const std::string &wanted) {
  uint64_t value = 0;
  const char *name = nullptr;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++)
    if (wanted == name) return value;
  ADD_FAILURE() << "no counter is called " << wanted;
  return 0;
}

uint64_t kernel_calls() {
  return counter("kernel_map") + counter("kernel_unmap") + counter("kernel_remap") + counter("kernel_advise");
}

void use(size_t bytes) {
  auto *p = static_cast<char *>(hak_malloc(bytes));
  ASSERT_NE(p, nullptr);
  for (size_t at = 0; at < bytes; at += 4 * kKiB) p[at] = 1;
  hak_free(p);
}

/* The first blocks make tables, and costs are measured. */
constexpr uint64_t kOnce = 60;

/* Moves pay, whatever this machine's costs are: a MiB has few pages where pages are long. Steps grow: after blocks of
 * 38 MiB all smaller ones stay cached for a while, and none has to move. */
TEST(BigKernel, BlocksThatGrowALittleEachTimeCostACallEach) {
  ASSERT_EQ(hak_set("lab_cost_page", "1000000"), 0);
  for (const size_t step : std::set<size_t>{page(), 4 * page(), 64 * kKiB, 256 * kKiB}) {
    const uint64_t before = kernel_calls(), moved = counter("big_moved");
    constexpr uint64_t kBlocks = 150;
    for (size_t i = 0; i < kBlocks; i++) use(kMiB + i * step);
    EXPECT_LE(kernel_calls() - before, 2 * kBlocks + kOnce) << "step " << step;
    EXPECT_GT(counter("big_moved") - moved, kBlocks / 4) << "step " << step;
    hak_trim(0);
  }
}

/* Some free mappings have been moved before, in parts: the library knows these seams. */
TEST(BigKernel, BlocksOfRandomSizesCostAFewCallsEach) {
  std::mt19937 random(7);
  char *slot[8] = {};
  constexpr uint64_t kBlocks = 2000;
  const uint64_t before = kernel_calls();
  for (uint64_t i = 0; i < kBlocks; i++) {
    char *&p = slot[random() % 8];
    const size_t bytes = kMiB + random() % 100 * 4 * kKiB;
    hak_free(p);
    p = static_cast<char *>(hak_malloc(bytes));
    std::memset(p, 1, bytes);
  }
  EXPECT_LE(kernel_calls() - before, 10 * kBlocks + kOnce);
  for (char *p : slot) hak_free(p);
}

/* Requests more than the address space has. */
void ask_for(size_t bytes) {
  EXPECT_EQ(hak_malloc(bytes), nullptr);
  EXPECT_EQ(hak_calloc(1, bytes), nullptr);
  EXPECT_EQ(hak_aligned_alloc(4 * kKiB, bytes), nullptr);
  void *p = hak_malloc(16);
  EXPECT_EQ(hak_realloc(p, bytes), nullptr);
  hak_free(p);
}

uint64_t calls_for(size_t bytes) {
  constexpr uint64_t kTimes = 100;
  ask_for(bytes);
  const uint64_t before = kernel_calls();
  for (uint64_t i = 0; i < kTimes; i++) ask_for(bytes - i * 16);
  return (kernel_calls() - before + kTimes - 1) / kTimes;
}

TEST(Refused, ASizeThatNoProcessHasAddressesForCostsNoCall) {
  for (const size_t bytes : {size_t{PTRDIFF_MAX}, size_t{PTRDIFF_MAX} / 2, (size_t{1} << 47) + 4096}) {
    EXPECT_EQ(calls_for(bytes), 0u) << bytes;
  }
}

/* Four requests: glibc makes two calls of mmap and one of brk for each request. */
TEST(Refused, ASizeThatTheKernelRefusesIsAskedForOnce) {
  for (size_t i = 0; i < 1000; i++) hak_free(hak_malloc(i * 100)); /* much memory could be released in vain */
  for (const size_t bytes : {(size_t{1} << 47) - 4096, size_t{1} << 46}) EXPECT_LE(calls_for(bytes), 4u) << bytes;
}

/* Calls for blocks of one size, when memory is used up: glibc makes a call of brk and a call of mmap for each block. */
uint64_t calls_when_full(size_t bytes) {
  constexpr uint64_t kTimes = 100;
  struct rlimit before = {}, limit = {};
  getrlimit(RLIMIT_DATA, &before);
  limit = {64 * kMiB, before.rlim_max};
  EXPECT_EQ(setrlimit(RLIMIT_DATA, &limit), 0);
  while (hak_malloc(bytes) != nullptr) {
  }
  const uint64_t calls = kernel_calls();
  for (uint64_t i = 0; i < kTimes; i++) EXPECT_EQ(hak_malloc(bytes), nullptr);
  const uint64_t made = kernel_calls() - calls;
  EXPECT_EQ(setrlimit(RLIMIT_DATA, &before), 0);
  EXPECT_NE(hak_malloc(bytes), nullptr);
  return made / kTimes;
}

TEST(Refused, ASmallBlockIsAskedForOnce) { EXPECT_LE(calls_when_full(64), 2u); }
TEST(Refused, ABlockOfASlabOfItsOwnIsAskedForOnce) { EXPECT_LE(calls_when_full(3000), 2u); }
TEST(Refused, AShortRunIsAskedForOnce) { EXPECT_LE(calls_when_full(40000), 2u); }
TEST(Refused, ARunIsAskedForOnce) { EXPECT_LE(calls_when_full(300000), 2u); }

}  // namespace
