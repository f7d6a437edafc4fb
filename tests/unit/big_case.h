/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* big_case.h: shared parts of the tests of big blocks.
 *
 * what      blocks/big.c over the fake kernel (fake_os.h), whose clock advances only by calls of a test.
 * owner     Each case runs in a separate process.
 * failure   A bound that does not hold, a block that is lost, or an inconsistent table.
 * not here  Tests.
 */
#ifndef HAK_TESTS_UNIT_BIG_CASE_H
#define HAK_TESTS_UNIT_BIG_CASE_H

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/big.h"
#include "fake_os.h"
#include "internal.h"
#include "os/os.h"
#include "retain/footprint.h"
#include "retain/rent.h"
#include "tables/counters.h"
#include "tables/settings.h"
}

inline constexpr size_t kMiB = size_t{1} << 20;

inline size_t page() { return hak_os_page_bytes(); }

inline char *alloc(size_t n, size_t align = 1, bool *zero = nullptr) {
  bool ignored = false;
  return static_cast<char *>(hak_big_alloc(n, align, 0, zero != nullptr ? zero : &ignored));
}

inline uint64_t live() {
  uint64_t live_bytes, kept;
  hak_big_bytes_now(&live_bytes, &kept);
  return live_bytes;
}

inline uint64_t kept() {
  uint64_t live_bytes, kept_bytes;
  hak_big_bytes_now(&live_bytes, &kept_bytes);
  return kept_bytes;
}

class Big : public testing::Test {
 protected:
  void SetUp() override {
    fake_os_reset();
    fake_os.huge_bytes = 2 * kMiB;
  }
  void TearDown() override { EXPECT_STREQ(hak_inside_big_wrong(), nullptr); }

  static std::vector<char *> blocks(size_t n, size_t bytes) {
    std::vector<char *> result;
    for (size_t i = 0; i < n; i++) result.push_back(alloc(bytes));
    return result;
  }
};

#endif
