/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* hakmem_test.cpp: the names of hakmem.h that are not the malloc family.
 *
 * what      Version, statistics, counters, settings and ownership through the public interface, from a program that
 *           also defines settings at link time (hak_options).
 * owner     Tests free all blocks.
 * failure   A wrong answer fails the test.
 * not here  The family's rules: tests/api. Parsing: settings_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <cerrno>
#include <cstring>
#include <string>

extern "C" {
extern const char hak_options[];
const char hak_options[] = "lab_cache_heap_percent=43,lab_big_threshold=2M";
}

namespace {

std::string get(const char *name) {
  char text[64] = "";
  EXPECT_EQ(hak_get(name, text, sizeof text), 0) << name;
  return text;
}

TEST(Hakmem, SettingsAreReadBeforeTheFirstBlock) {
  EXPECT_EQ(get("lab_cache_heap_percent"), "43");
  EXPECT_EQ(get("lab_big_threshold"), "2M");
  hak_free(hak_malloc(1));
  EXPECT_EQ(get("lab_cache_heap_percent"), "43");
}

TEST(Hakmem, HasAVersion) {
  const std::string version = std::to_string(HAK_VERSION_MAJOR) + "." + std::to_string(HAK_VERSION_MINOR) + "." +
                              std::to_string(HAK_VERSION_PATCH);
  EXPECT_EQ(hak_version(), version);
}

TEST(Hakmem, SetAndGet) {
  EXPECT_EQ(hak_set("big_cache_bytes", "16M"), 0);
  EXPECT_EQ(get("big_cache_bytes"), "16M");
  hak_free(hak_malloc(1));
  EXPECT_EQ(get("big_cache_bytes"), "16M");
  EXPECT_EQ(hak_set("big_cache_bytes", "lots"), EINVAL);
  EXPECT_EQ(hak_set("big_cache_bytes", nullptr), EINVAL);
  EXPECT_EQ(hak_set("lab_big_threshold", "1M"), EPERM);
  EXPECT_EQ(hak_set("nothing", "1"), ENOENT);
  EXPECT_EQ(hak_set(nullptr, "1"), ENOENT);
  char text[2];
  EXPECT_EQ(hak_get("big_cache_bytes", text, sizeof text), ERANGE);
  EXPECT_EQ(hak_get("big_cache_bytes", nullptr, 0), ERANGE);
  EXPECT_EQ(hak_get("nothing", text, sizeof text), ENOENT);
  EXPECT_EQ(hak_get(nullptr, text, sizeof text), ENOENT);
}

TEST(Hakmem, StatsFollowTheBlocks) {
  struct hak_stats before = {};
  before.version = HAK_STATS_VERSION;
  before.size = sizeof before;
  struct hak_stats after = before;
  ASSERT_EQ(hak_get_stats(&before), 0);
  void *p = hak_malloc(8u << 20);
  ASSERT_EQ(hak_get_stats(&after), 0);
  EXPECT_EQ(after.version, uint32_t{HAK_STATS_VERSION});
  EXPECT_EQ(after.size, sizeof after);
  EXPECT_GE(after.big_live, before.big_live + (8u << 20));
  EXPECT_EQ(after.in_use, before.in_use + hak_usable_size(p));
  EXPECT_EQ(after.in_use, hak_bytes_in_use());
  EXPECT_GE(after.mapped, after.in_use);
  hak_free(p);
}

TEST(Hakmem, StatsFillNoMoreThanTheCallerHas) {
  struct hak_stats stats;
  std::memset(&stats, 0xa5, sizeof stats);
  stats.version = 1;
  stats.size = offsetof(struct hak_stats, cached);
  ASSERT_EQ(hak_get_stats(&stats), 0);
  EXPECT_EQ(stats.size, offsetof(struct hak_stats, cached));
  EXPECT_NE(stats.in_use, 0xa5a5a5a5a5a5a5a5u);
  EXPECT_EQ(stats.cached, 0xa5a5a5a5a5a5a5a5u);
  EXPECT_EQ(stats.threads, 0xa5a5a5a5a5a5a5a5u);
}

TEST(Hakmem, StatsRefuseWhatTheyDoNotKnow) {
  struct hak_stats stats = {};
  stats.size = sizeof stats;
  EXPECT_EQ(hak_get_stats(&stats), EINVAL);
  stats.version = HAK_STATS_VERSION + 1;
  EXPECT_EQ(hak_get_stats(&stats), EINVAL);
  stats.version = HAK_STATS_VERSION;
  stats.size = 7;
  EXPECT_EQ(hak_get_stats(&stats), EINVAL);
  EXPECT_EQ(hak_get_stats(nullptr), EINVAL);
}

uint64_t counted(const std::string &prefix) {
  const char *name;
  uint64_t value, sum = 0;
  for (unsigned n = 0; hak_counter(n, &name, &value); n++) {
    if (prefix == std::string(name).substr(0, prefix.size())) sum += value;
  }
  return sum;
}

uint64_t freed() { return counted("free_") - counted("free_local") - counted("free_remote"); }

TEST(Hakmem, EveryCallIsCountedOnce) {
  ASSERT_EQ(hak_set("count_calls", "on"), 0);
  const uint64_t allocs = counted("alloc_"), frees = freed();
  void *p = hak_malloc(100);
  p = hak_realloc(p, 101);
  p = hak_realloc(p, 100000);
  void *q = hak_calloc(10, 10), *r = nullptr;
  EXPECT_EQ(hak_posix_memalign(&r, 256, 10), 0);
  EXPECT_EQ(hak_posix_memalign(&q, 3, 10), EINVAL);
  EXPECT_EQ(hak_aligned_alloc(48, 10), nullptr);
  EXPECT_EQ(hak_memalign(SIZE_MAX, 10), nullptr);
  EXPECT_EQ(hak_reallocarray(nullptr, SIZE_MAX, 2), nullptr);
  EXPECT_EQ(counted("alloc_"), allocs + 9);
  hak_free(p);
  hak_free_sized(q, 100);
  hak_free_aligned_sized(r, 256, 10);
  hak_free(nullptr);
  EXPECT_EQ(freed(), frees + 4);
  ASSERT_EQ(hak_set("count_calls", "off"), 0);
  hak_free(hak_malloc(100));
  EXPECT_EQ(counted("alloc_"), allocs + 9);
  EXPECT_EQ(freed(), frees + 4);
}

TEST(Hakmem, CountersEnd) {
  unsigned n = 0;
  while (hak_counter(n, nullptr, nullptr)) n++;
  EXPECT_GT(n, 10u);
  EXPECT_FALSE(hak_counter(n + 1000000, nullptr, nullptr));
}

TEST(Hakmem, OwnsItsBlocksOnly) {
  int local = 0;
  for (size_t n : {size_t{1}, size_t{40000}, size_t{5} << 20}) {
    void *p = hak_malloc(n);
    EXPECT_TRUE(hak_owns(p)) << n;
    EXPECT_TRUE(hak_owns(static_cast<char *>(p) + n - 1)) << n;
    hak_free(p);
  }
  EXPECT_FALSE(hak_owns(&local));
  EXPECT_FALSE(hak_owns(nullptr));
  EXPECT_FALSE(hak_owns(reinterpret_cast<void *>(UINTPTR_MAX)));
}

TEST(Hakmem, ASiteChangesNothingAboutTheBlock) {
  const int site = 0;
  void *p = hak_alloc_at(100, &site);
  ASSERT_NE(p, nullptr);
  EXPECT_GE(hak_usable_size(p), 100u);
  std::memset(p, 1, 100);
  hak_free(p);
  EXPECT_EQ(hak_alloc_at(SIZE_MAX, nullptr), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

}  // namespace
