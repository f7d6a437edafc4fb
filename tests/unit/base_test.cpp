/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* base_test.cpp: arithmetic on words, text without malloc, and edit distances.
 *
 * what      base/bits.h, base/fmt.c, base/str.c and base/edits.c against the standard library's answers.
 * failure   A wrong number or a wrong letter fails the test.
 * not here  Atomics: all tests under ThreadSanitizer.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

extern "C" {
#include "base/arms.h"
#include "base/bits.h"
#include "base/edits.h"
#include "base/fmt.h"
#include "base/str.h"
}

namespace {

TEST(Bits, PowersOfTwo) {
  EXPECT_FALSE(hak_is_power_of_two(0));
  for (unsigned b = 0; b < 64; b++) {
    const size_t n = size_t{1} << b;
    EXPECT_TRUE(hak_is_power_of_two(n)) << n;
    if (b > 1) {
      EXPECT_FALSE(hak_is_power_of_two(n - 1)) << n;
    }
    if (b > 0) {
      EXPECT_FALSE(hak_is_power_of_two(n + 1)) << n;
    }
  }
}

int sign(int n) { return (n > 0) - (n < 0); }

TEST(Arms, SlackGrowsByTheCode) {
  uint64_t before = 0;
  EXPECT_EQ(hak_arm_slack(1), 0u);
  for (unsigned code = 2; code <= HAK_ARM_SLACKS; code++) {
    EXPECT_GT(hak_arm_slack(code), before) << code;
    before = hak_arm_slack(code);
  }
  EXPECT_EQ(before, 42u);
}

TEST(Text, AsLibcsFunctionsOfTheseNames) {
  static const char *const kTexts[] = {"", "a", "b", "ab", "abc", "abab", "bab", "\xff", "a\xff", "a,b,c", "/a/b"};
  for (const char *one : kTexts) {
    char copy[32] = "head ";
    EXPECT_EQ(hak_strlen(one), std::strlen(one));
    EXPECT_STREQ(hak_strcat(copy, one), ("head " + std::string(one)).c_str());
    EXPECT_STREQ(hak_strcpy(copy, one), one);
    for (const char what : {'a', 'b', 'c', '/', '\0'}) {
      EXPECT_EQ(hak_strchr(one, what), std::strchr(one, what)) << one << what;
      EXPECT_EQ(hak_memchr(one, what, std::strlen(one)), std::memchr(one, what, std::strlen(one))) << one << what;
    }
    EXPECT_EQ(hak_strrchr(one, 'b'), std::strrchr(one, 'b')) << one;
    for (const char *other : kTexts) {
      EXPECT_EQ(sign(hak_strcmp(one, other)), sign(std::strcmp(one, other))) << one << other;
      EXPECT_EQ(hak_strstr(one, other), std::strstr(one, other)) << one << other;
      for (size_t n = 0; n < 5; n++) {
        EXPECT_EQ(sign(hak_strncmp(one, other, n)), sign(std::strncmp(one, other, n))) << one << other << n;
      }
    }
  }
}

TEST(Bits, RoundingUp) {
  for (size_t to = 1; to <= 4096; to *= 2) {
    for (size_t n = 0; n < 3 * to + 2; n++) {
      const size_t up = hak_round_up(n, to);
      ASSERT_EQ(up % to, 0u);
      ASSERT_GE(up, n);
      ASSERT_LT(up - n, to);
    }
  }
  EXPECT_EQ(hak_round_up(SIZE_MAX - 4095, 4096), SIZE_MAX - 4095);
}

TEST(Bits, LowestAndHighest) {
  for (unsigned low = 0; low < 64; low++) {
    for (unsigned high = low; high < 64; high++) {
      const uint64_t word = uint64_t{1} << low | uint64_t{1} << high;
      ASSERT_EQ(hak_lowest_bit(word), low);
      ASSERT_EQ(hak_highest_bit(word), high);
    }
  }
  EXPECT_EQ(hak_lowest_bit(UINT64_MAX), 0u);
  EXPECT_EQ(hak_highest_bit(UINT64_MAX), 63u);
}

TEST(Bits, MinAndMax) {
  EXPECT_EQ(hak_min(1, 2), 1u);
  EXPECT_EQ(hak_min(SIZE_MAX, 0), 0u);
  EXPECT_EQ(hak_max(1, 2), 2u);
  EXPECT_EQ(hak_max(SIZE_MAX, 0), SIZE_MAX);
}

struct Line : hak_line {
  Line() { hak_line_start(this); }
  std::string str() const {
    EXPECT_EQ(std::strlen(text), used);
    return text;
  }
};

TEST(Fmt, NumbersAsTheStandardLibraryWritesThem) {
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < 2000; i++) {
    const uint64_t value = i < 4 ? uint64_t{0} - i : random() >> i % 64;
    Line dec, hex;
    hak_line_dec(&dec, value);
    hak_line_hex(&hex, value);
    char expected[32];
    std::snprintf(expected, sizeof expected, "0x%llx", static_cast<unsigned long long>(value));
    ASSERT_EQ(dec.str(), std::to_string(value));
    ASSERT_EQ(hex.str(), expected);
  }
}

TEST(Fmt, AppendsAndStartsAgain) {
  Line line;
  hak_line_text(&line, "a");
  hak_line_text(&line, "");
  hak_line_text(&line, "bc");
  EXPECT_EQ(line.str(), "abc");
  hak_line_start(&line);
  EXPECT_EQ(line.str(), "");
}

TEST(Fmt, PadsToAColumnAndByAtLeastOneBlank) {
  Line line;
  hak_line_text(&line, "ab");
  hak_line_pad(&line, 5);
  EXPECT_EQ(line.str(), "ab   ");
  hak_line_pad(&line, 5);
  hak_line_pad(&line, 0);
  EXPECT_EQ(line.str(), "ab     ");
}

TEST(Fmt, CutsWhatDoesNotFit) {
  struct {
    Line line;
    char behind[16];
  } both;
  std::memset(both.behind, 'x', sizeof both.behind);
  for (int i = 0; i < 100; i++) hak_line_text(&both.line, "0123456");
  hak_line_dec(&both.line, UINT64_MAX);
  hak_line_pad(&both.line, 1000 * 0);
  const std::string text = both.line.str();
  EXPECT_EQ(text.size(), sizeof both.line.text - 1);
  for (size_t i = 0; i < text.size(); i++) ASSERT_EQ(text[i], static_cast<char>('0' + i % 7));
  for (const char c : both.behind) EXPECT_EQ(c, 'x');
}

TEST(Edits, FewestOfEachKind) {
  const struct {
    const char *one, *other;
    unsigned edits;
  } known[] = {
      {"", "", 0},          {"", "abc", 3},         {"abc", "abc", 0},     {"price", "prize", 1},
      {"count", "conut", 1}, {"ab", "ba", 1},        {"abc", "ca", 3},      {"hlepre", "helper", 2},
      {"kitten", "sitting", 3}, {"abcdef", "ghijkl", 6}, {"soft_limit", "softlimit", 1},
  };
  for (const auto &row : known) {
    EXPECT_EQ(hak_edits(row.one, row.other), row.edits) << row.one << " " << row.other;
    EXPECT_EQ(hak_edits(row.other, row.one), row.edits) << row.other << " " << row.one;
  }
}

TEST(Edits, LongWords) {
  const std::string longest(HAK_EDITS_LONGEST, 'x'), longer = longest + "x";
  EXPECT_EQ(hak_edits(longest.c_str(), longest.c_str()), 0u);
  EXPECT_EQ(hak_edits(longest.c_str(), ""), unsigned{HAK_EDITS_LONGEST});
  EXPECT_EQ(hak_edits(longer.c_str(), ""), unsigned{HAK_EDITS_MANY});
  EXPECT_EQ(hak_edits("", longer.c_str()), unsigned{HAK_EDITS_MANY});
}

}  // namespace
