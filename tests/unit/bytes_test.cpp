/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bytes_test.cpp: memory copied, filled and compared, beside libc's own.
 *
 * what      base/bytes.c by the library's symbols, for all lengths up to some lines, with every overlap and at
 *           unaligned places.
 * failure   A byte that differs, or a written byte outside.
 */
#include <gtest/gtest.h>

#include <array>
#include <cstring>

extern "C" {
void *hak_memmove(void *to, const void *from, size_t n);
void *hak_memset(void *to, int value, size_t n);
int hak_memcmp(const void *one, const void *other, size_t n);
}

namespace {

constexpr size_t kMost = 300, kRoom = 1024;
using Room = std::array<unsigned char, kRoom>;

Room numbered() {
  Room room;
  for (size_t i = 0; i < kRoom; i++) room[i] = static_cast<unsigned char>(i * 7 + i / 251);
  return room;
}

TEST(Bytes, MovedAsLibcDoes) {
  for (size_t n = 0; n < kMost; n++) {
    for (const size_t to : {256, 257, 263, 272, 300, 320, 333, 400}) {
      for (const size_t from : {256, 258, 271, 289, 319, 320, 321, 420}) {
        Room ours = numbered(), libcs = ours;
        EXPECT_EQ(hak_memmove(&ours[to], &ours[from], n), &ours[to]);
        memmove(&libcs[to], &libcs[from], n);
        ASSERT_EQ(ours, libcs) << n << " bytes from " << from << " to " << to;
      }
    }
  }
}

TEST(Bytes, FilledAsLibcDoes) {
  for (size_t n = 0; n < kMost; n++) {
    for (const int value : {0, 0x5a, 0xff, -3, 0x1234}) {
      Room ours = numbered(), libcs = ours;
      EXPECT_EQ(hak_memset(&ours[n % 19], value, n), &ours[n % 19]);
      memset(&libcs[n % 19], value, n);
      ASSERT_EQ(ours, libcs) << n;
    }
  }
}

TEST(Bytes, ComparedByTheFirstThatDiffers) {
  for (size_t n = 0; n < kMost; n++) {
    const Room one = numbered();
    Room other = one;
    EXPECT_EQ(hak_memcmp(&one[3], &other[3], n), 0);
    other[3 + n] ^= 0x80;
    EXPECT_EQ(hak_memcmp(&one[3], &other[3], n), 0) << "behind the end";
    const int sign = memcmp(&one[3], &other[3], n + 1);
    EXPECT_EQ(hak_memcmp(&one[3], &other[3], n + 9) < 0, sign < 0) << n;
    EXPECT_NE(hak_memcmp(&one[3], &other[3], n + 9), 0) << n;
  }
}

}  // namespace
