/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* utilization_test.cpp: hak_page_utilization.
 *
 * what      Known slabs, as the test has all blocks of the class, against the call's figures; a program that
 *           defragments by the figures; threads that allocate while further threads ask.
 * owner     Each case runs in a separate process.
 * failure   A figure that differs from the count, or slabs that do not become fewer.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <sys/auxv.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBytes = 1024, kSlab = 65536, kSlots = kSlab / kBytes;
const size_t kPage = getauxval(AT_PAGESZ);

uintptr_t number(const void *p) { return reinterpret_cast<uintptr_t>(p); }
uintptr_t slab_of(const void *p) { return number(p) / kSlab; }

int ask(const void *p, struct hak_utilization *u) {
  *u = {};
  u->version = HAK_UTILIZATION_VERSION;
  u->size = sizeof *u;
  return hak_page_utilization(p, u);
}

/* Maximum age of a class's figures. */
void let_them_age() { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }

/* Slabs of which the first has 1 block, the second 2, and so on. */
std::vector<void *> scattered(size_t slabs) {
  std::vector<void *> all, kept;
  for (size_t i = 0; i < slabs * kSlots; i++) all.push_back(hak_malloc(kBytes));
  std::map<uintptr_t, size_t> number_of, seen;
  for (void *p : all) number_of.emplace(slab_of(p), number_of.size() + 1);
  for (void *p : all) {
    if (seen[slab_of(p)]++ < number_of[slab_of(p)]) kept.push_back(p);
    else hak_free(p);
  }
  hak_trim(0);
  let_them_age();
  return kept;
}

/* A block in the slab that serves the thread would move to where it lies. */
TEST(Utilization, NoBlockLeavesTheCurrentSlab) {
  scattered(40);
  unsigned sparse = 0;
  for (unsigned i = 0; i < 5000; i++) {
    struct hak_utilization u;
    ASSERT_EQ(ask(hak_malloc(kBytes), &u), 0);
    if (u.current == 0) continue;
    ASSERT_EQ(u.worth_moving, 0u) << i;
    sparse += u.slab_out < u.slab_blocks && u.slab_out * u.class_slabs * 8 <= u.class_out * 9;
  }
  EXPECT_GT(sparse, 0u) << "of which some are as empty as those worth a move";
}

TEST(Utilization, CountsWhatTheTestCounted) {
  const std::vector<void *> blocks = scattered(40);
  std::map<uintptr_t, size_t> in_slab, on_page;
  for (void *p : blocks) in_slab[slab_of(p)]++, on_page[number(p) / kPage]++;
  size_t slabs = 0, out = 0;
  for (const auto &[slab, n] : in_slab) {
    if (n < kSlots) slabs++, out += n;
  }
  ASSERT_GT(slabs, 30u);
  for (char *p : {static_cast<char *>(blocks.front()), static_cast<char *>(blocks[99]) + kBytes - 1,
                  static_cast<char *>(blocks.back())}) {
    struct hak_utilization u;
    ASSERT_EQ(ask(p, &u), 0);
    EXPECT_EQ(u.block_bytes, kBytes);
    EXPECT_EQ(u.slab_bytes, kSlab);
    EXPECT_EQ(u.slab_blocks, kSlots);
    EXPECT_EQ(u.slab_out, in_slab[slab_of(p)]);
    EXPECT_EQ(u.class_slabs, slabs);
    EXPECT_EQ(u.class_out, out);
    EXPECT_EQ(u.page_bytes, kPage);
    EXPECT_EQ(u.page_out, on_page[number(p) / kPage] * kBytes);
    EXPECT_EQ(u.current, 0u);
    EXPECT_EQ(u.worth_moving, u.slab_out < kSlots && u.slab_out * slabs * 8 <= out * 9 ? 1u : 0u);
  }
}

TEST(Utilization, TheSlabThatServesIsNotLeft) {
  const std::vector<void *> blocks = scattered(40);
  void *p = nullptr;
  for (unsigned i = 0; i < 100; i++) p = hak_malloc(kBytes); /* a thread that needs few blocks owns no slab */
  struct hak_utilization u;
  ASSERT_EQ(ask(p, &u), 0);
  EXPECT_EQ(u.current, u.slab_out < u.slab_blocks ? 1u : 0u);
  EXPECT_EQ(u.worth_moving, 0u);
}

TEST(Utilization, BlocksThatHaveNoSlab) {
  for (size_t n : {size_t{40000}, size_t{300000}, size_t{5} << 20}) {
    char *p = static_cast<char *>(hak_malloc(n));
    struct hak_utilization u;
    ASSERT_EQ(ask(p + n / 2, &u), 0) << n;
    EXPECT_EQ(u.block_bytes, hak_usable_size(p));
    EXPECT_EQ(u.slab_bytes, u.block_bytes);
    EXPECT_EQ(u.slab_blocks, 1u);
    EXPECT_EQ(u.slab_out, 1u);
    EXPECT_EQ(u.page_out, u.page_bytes);
    EXPECT_EQ(u.class_slabs, 0u);
    EXPECT_EQ(u.worth_moving, 0u);
    hak_free(p);
  }
}

TEST(Utilization, ASampledBlock) {
  ASSERT_EQ(hak_profile_start(1), 0);
  void *p = hak_malloc(kBytes);
  struct hak_utilization u;
  ASSERT_EQ(ask(p, &u), 0);
  EXPECT_EQ(u.block_bytes, kBytes);
  EXPECT_EQ(u.current, 1u);
  EXPECT_EQ(u.worth_moving, 0u);
  hak_profile_stop();
}

TEST(Utilization, RefusesWhatIsNoBlock) {
  struct hak_utilization u;
  int local = 0;
  void *p = hak_malloc(kBytes), *big = hak_malloc(size_t{5} << 20);
  hak_free(p);
  hak_free(big);
  hak_trim(0);
  errno = 7;
  for (const void *wrong : {static_cast<const void *>(&local), static_cast<const void *>(nullptr),
                            reinterpret_cast<const void *>(UINTPTR_MAX), static_cast<const void *>(p),
                            static_cast<const void *>(big)}) {
    EXPECT_EQ(ask(wrong, &u), ENOENT) << wrong;
  }
  EXPECT_EQ(errno, 7);
  p = hak_malloc(kBytes);
  EXPECT_EQ(hak_page_utilization(p, nullptr), EINVAL);
  u.version = HAK_UTILIZATION_VERSION + 1;
  u.size = sizeof u;
  EXPECT_EQ(hak_page_utilization(p, &u), EINVAL);
  u.version = 0;
  EXPECT_EQ(hak_page_utilization(p, &u), EINVAL);
  u.version = HAK_UTILIZATION_VERSION;
  u.size = 7;
  EXPECT_EQ(hak_page_utilization(p, &u), EINVAL);
  u.size = offsetof(struct hak_utilization, slab_bytes);
  u.slab_bytes = 5;
  EXPECT_EQ(hak_page_utilization(p, &u), 0);
  EXPECT_EQ(u.block_bytes, kBytes);
  EXPECT_EQ(u.slab_bytes, 5u);
  EXPECT_EQ(u.size, offsetof(struct hak_utilization, slab_bytes));
}

size_t slabs_of(const std::vector<void *> &blocks) {
  std::set<uintptr_t> slabs;
  for (void *p : blocks) slabs.insert(slab_of(p));
  return slabs.size();
}

/* As hakmem.h says: moved blocks are freed in batches of some hundred. */
void defragment(std::vector<void *> *blocks) {
  std::vector<void *> old;
  for (void *&p : *blocks) {
    struct hak_utilization u;
    if (ask(p, &u) != 0 || u.worth_moving == 0) continue;
    old.push_back(p);
    p = std::memcpy(hak_malloc(kBytes), p, kBytes);
    if (old.size() < 500) continue;
    for (void *each : old) hak_free(each);
    old.clear();
  }
  for (void *each : old) hak_free(each);
}

TEST(Utilization, ServesToDefragment) {
  std::vector<void *> all, kept;
  for (size_t i = 0; i < 200 * kSlots; i++) all.push_back(hak_malloc(kBytes));
  std::mt19937 random(1);
  for (void *p : all) {
    if (random() % 4 == 0) kept.push_back(p);
    else hak_free(p);
  }
  for (size_t i = 0; i < kept.size(); i++) std::memset(kept[i], static_cast<int>(i % 251), kBytes);
  hak_trim(0);
  ASSERT_GT(slabs_of(kept), 190u);
  for (int pass = 0; pass < 8; pass++) let_them_age(), defragment(&kept);
  EXPECT_LT(slabs_of(kept), 100u); /* 50 would be full, 77 to 82 were seen */
  for (size_t i = 0; i < kept.size(); i++) {
    const auto *bytes = static_cast<const unsigned char *>(kept[i]);
    ASSERT_EQ(bytes[0], i % 251);
    ASSERT_EQ(bytes[kBytes - 1], i % 251);
  }
}

TEST(Utilization, WhileOthersAllocate) {
  std::atomic<bool> done{false};
  void *own = hak_malloc(kBytes);
  std::vector<std::thread> others;
  for (int t = 0; t < 2; t++) {
    others.emplace_back([&done] {
      while (!done.load()) {
        std::vector<void *> blocks;
        for (size_t i = 0; i < 3 * kSlots; i++) blocks.push_back(hak_malloc(kBytes));
        for (void *p : blocks) hak_free(p);
      }
    });
  }
  for (int i = 0; i < 3000; i++) {
    struct hak_utilization u;
    ASSERT_EQ(ask(own, &u), 0);
    ASSERT_EQ(u.block_bytes, kBytes);
    ASSERT_LE(u.slab_out, u.slab_blocks);
    ASSERT_GE(u.page_out, kBytes);
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  done = true;
  for (std::thread &each : others) each.join();
}

TEST(Utilization, AGuardedBlockIsAloneInItsSlab) {
  struct hak_utilization u;
  ASSERT_EQ(hak_set("guard_bytes", "1"), 0);
  auto *p = static_cast<char *>(hak_malloc(100));
  ASSERT_EQ(hak_set("guard_bytes", "0"), 0);
  ASSERT_EQ(hak_usable_size(p), 100U) << "not guarded";
  EXPECT_EQ(ask(p + 50, &u), 0);
  EXPECT_EQ(u.block_bytes, 100U);
  EXPECT_EQ(u.slab_out, u.slab_blocks);
  EXPECT_EQ(u.worth_moving, 0U);
  EXPECT_EQ(ask(p + 4096, &u), ENOENT);
  hak_free(p);
  EXPECT_EQ(ask(p, &u), ENOENT);
}

}  // namespace
