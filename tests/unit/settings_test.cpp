/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* settings_test.cpp: the settings: parsing, limits, the three ways in, and messages about wrong values.
 *
 * what      tables/settings.c with the real table. Each test restores the settings.
 * failure   A wrong value or a wrong text fails the test.
 * not here  hak_set and hak_get through the public interface: hakmem_test.cpp.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "tables/settings.h"
}

namespace {

class Knobs : public testing::Test {
 protected:
  void SetUp() override { std::memcpy(&saved_, &g_settings, sizeof saved_); }
  void TearDown() override { std::memcpy(&g_settings, &saved_, sizeof saved_); }

 private:
  struct hak_settings saved_;
};

std::string get(const char *name) {
  char text[HAK_SETTING_PATH_BYTES];
  EXPECT_EQ(hak_settings_get(name, text, sizeof text), 0) << name;
  return text;
}

/* Loads with these variables and options; returns the output on stderr. */
std::string load(std::vector<std::string> variables, const char *options = nullptr, bool secure = false) {
  std::vector<char *> env;
  for (auto &variable : variables) env.push_back(variable.data());
  env.push_back(nullptr);
  testing::internal::CaptureStderr();
  hak_settings_load_as(env.data(), options, secure);
  return testing::internal::GetCapturedStderr();
}

TEST_F(Knobs, BeginAsTheTableSays) {
  const struct hak_setting_row *row;
  for (unsigned n = 0; (row = hak_settings_row(n)) != nullptr; n++) {
    EXPECT_FALSE(get(row->name).empty() && row->type != HAK_SETTING_path) << row->name;
    EXPECT_LE(row->min, row->initial) << row->name;
    EXPECT_GE(row->max, row->initial) << row->name;
  }
  EXPECT_EQ(hak_setting(big_threshold), uint64_t{1} << 20);
  EXPECT_EQ(hak_settings_row(1000), nullptr);
}

TEST_F(Knobs, BytesTakeSuffixes) {
  const std::pair<const char *, uint64_t> good[] = {
      {"0", 0},         {"1", 1},         {"1023", 1023},   {"1K", 1024},       {"1k", 1024},
      {"64M", 64 << 20}, {"64m", 64 << 20}, {"2G", 2ull << 30}, {"1024G", 1ull << 40}, {"1T", 1ull << 40}, {"0t", 0},
      {"0012", 12},
  };
  for (auto [text, value] : good) {
    EXPECT_EQ(hak_settings_set("big_cache_bytes", text, false), 0) << text;
    EXPECT_EQ(hak_setting(big_cache_bytes), value) << text;
  }
}

TEST_F(Knobs, MalformedNumbersChangeNothing) {
  ASSERT_EQ(hak_settings_set("big_cache_bytes", "7M", false), 0);
  const uint64_t generation = g_settings_generation;
  for (const char *text : {"", " ", "K", "-1", "+1", " 1", "1 ", "1KK", "1KB", "1P", "1TB", "1.5M", "0x10", "1e3", "ten",
                           "1025G", "18446744073709551616", "18446744073709551615G", "17179869184G",
                           "2T", "16777216T", "99999999999999999999999999"}) {
    EXPECT_EQ(hak_settings_set("big_cache_bytes", text, false), EINVAL) << text;
  }
  EXPECT_EQ(hak_setting(big_cache_bytes), uint64_t{7} << 20);
  EXPECT_EQ(g_settings_generation, generation);
}

TEST_F(Knobs, CountsTakeNoSuffix) {
  EXPECT_EQ(hak_settings_set("lab_big_cache_blocks", "64", false), 0);
  EXPECT_EQ(hak_setting(big_cache_blocks), 64u);
  EXPECT_EQ(hak_settings_set("lab_big_cache_blocks", "1K", false), EINVAL);
  EXPECT_EQ(hak_settings_set("lab_big_cache_blocks", "129", false), EINVAL);
  EXPECT_EQ(hak_settings_set("lab_cache_heap_percent", "100", false), 0);
  EXPECT_EQ(hak_settings_set("lab_cache_heap_percent", "101", false), EINVAL);
  EXPECT_EQ(hak_setting(big_cache_blocks), 64u);
}

TEST_F(Knobs, LimitsAreInclusive) {
  EXPECT_EQ(hak_settings_set("lab_big_threshold", "256K", true), 0);
  EXPECT_EQ(hak_settings_set("lab_big_threshold", "262143", true), EINVAL);
  EXPECT_EQ(hak_settings_set("lab_big_threshold", "32M", true), 0);
  EXPECT_EQ(hak_settings_set("lab_big_threshold", "33554433", true), EINVAL);
  EXPECT_EQ(hak_setting(big_threshold), uint64_t{32} << 20);
}

TEST_F(Knobs, FlagsTakeSixWords) {
  for (const char *text : {"on", "1", "true"}) {
    ASSERT_EQ(hak_settings_set("count_calls", "off", false), 0);
    EXPECT_EQ(hak_settings_set("count_calls", text, false), 0) << text;
    EXPECT_EQ(get("count_calls"), "on");
  }
  for (const char *text : {"off", "0", "false"}) {
    ASSERT_EQ(hak_settings_set("count_calls", "on", false), 0);
    EXPECT_EQ(hak_settings_set("count_calls", text, false), 0) << text;
    EXPECT_EQ(get("count_calls"), "off");
  }
  for (const char *text : {"", "ON", "yes", "2", "on ", "o"}) {
    EXPECT_EQ(hak_settings_set("count_calls", text, false), EINVAL) << text;
  }
}

TEST_F(Knobs, APriceIsAWordOrANumber) {
  const std::pair<const char *, uint64_t> words[] = {{"speed", 8500}, {"balanced", 640000}, {"lean", 5140000}};
  EXPECT_EQ(get("price"), "balanced");
  for (auto [word, value] : words) {
    EXPECT_EQ(hak_settings_set("price", word, false), 0) << word;
    EXPECT_EQ(hak_setting(price), value) << word;
    ASSERT_EQ(hak_settings_set("price", "1", false), 0);
    EXPECT_EQ(hak_settings_set("price", std::to_string(value).c_str(), false), 0) << word;
    EXPECT_EQ(get("price"), word);
  }
  for (const char *text : {"0", "8501", "1000000000000"}) {
    EXPECT_EQ(hak_settings_set("price", text, false), 0) << text;
    EXPECT_EQ(get("price"), text);
  }
  for (const char *text : {"", "Lean", "lean ", "1K", "-1", "1000000000001", "on"}) {
    EXPECT_EQ(hak_settings_set("price", text, false), EINVAL) << text;
  }
  EXPECT_EQ(hak_setting(price), 1000000000000u);
}

TEST_F(Knobs, HugePagesTakeThreeWords) {
  EXPECT_EQ(hak_setting(huge_pages), uint64_t{HAK_HUGE_AUTO});
  const std::pair<const char *, uint64_t> words[] = {
      {"off", HAK_HUGE_OFF}, {"auto", HAK_HUGE_AUTO}, {"on", HAK_HUGE_ON}};
  for (auto [word, value] : words) {
    EXPECT_EQ(hak_settings_set("huge_pages", word, true), 0) << word;
    EXPECT_EQ(hak_setting(huge_pages), value) << word;
    EXPECT_EQ(get("huge_pages"), word);
  }
  for (const char *text : {"", "0", "1", "true", "always", "AUTO"}) {
    EXPECT_EQ(hak_settings_set("huge_pages", text, true), EINVAL) << text;
  }
  EXPECT_EQ(hak_settings_set("huge_pages", "off", false), EPERM);
  EXPECT_EQ(get("huge_pages"), "on");
}

TEST_F(Knobs, PathsFitOrAreRefused) {
  const std::string longest(HAK_SETTING_PATH_BYTES - 1, 'p');
  EXPECT_EQ(hak_settings_set("counters_file", longest.c_str(), true), 0);
  EXPECT_EQ(get("counters_file"), longest);
  EXPECT_EQ(hak_settings_set("counters_file", (longest + "p").c_str(), true), EINVAL);
  EXPECT_EQ(get("counters_file"), longest);
  EXPECT_EQ(hak_settings_set("counters_file", "", true), 0);
  EXPECT_EQ(get("counters_file"), "");
}

TEST_F(Knobs, StartSettingsAreRefusedLater) {
  EXPECT_EQ(hak_settings_set("lab_big_threshold", "512K", false), EPERM);
  EXPECT_EQ(hak_settings_set("counters_file", "/x", false), EPERM);
  EXPECT_EQ(hak_settings_set("no_such", "1", false), ENOENT);
  EXPECT_EQ(hak_settings_set("", "1", false), ENOENT);
}

TEST_F(Knobs, EachChangeCounts) {
  const uint64_t generation = g_settings_generation;
  ASSERT_EQ(hak_settings_set("count_calls", "on", false), 0);
  ASSERT_EQ(hak_settings_set("lab_cache_heap_percent", "5", false), 0);
  EXPECT_EQ(g_settings_generation, generation + 2);
}

TEST_F(Knobs, TextIsCanonicalAndGoesBackIn) {
  const std::pair<const char *, const char *> texts[] = {
      {"1048576", "1M"}, {"1024K", "1M"}, {"1536K", "1536K"}, {"1025", "1025"}, {"0K", "0"}, {"1024G", "1T"},
  };
  for (auto [given, canonical] : texts) {
    ASSERT_EQ(hak_settings_set("process_cache_bytes", given, false), 0) << given;
    EXPECT_EQ(get("process_cache_bytes"), canonical);
    EXPECT_EQ(hak_settings_set("process_cache_bytes", canonical, false), 0) << canonical;
    EXPECT_EQ(get("process_cache_bytes"), canonical);
  }
}

TEST_F(Knobs, GetSaysWhenItDoesNotFit) {
  ASSERT_EQ(hak_settings_set("big_cache_bytes", "64M", false), 0);
  char text[8] = "before";
  EXPECT_EQ(hak_settings_get("big_cache_bytes", text, 3), ERANGE);
  EXPECT_EQ(hak_settings_get("big_cache_bytes", text, 0), ERANGE);
  EXPECT_STREQ(text, "before");
  EXPECT_EQ(hak_settings_get("big_cache_bytes", text, 4), 0);
  EXPECT_STREQ(text, "64M");
  EXPECT_EQ(hak_settings_get("nothing", text, sizeof text), ENOENT);
}

TEST_F(Knobs, TheEnvironmentIsRead) {
  EXPECT_EQ(load({"PATH=/bin", "HAKMEM_COUNT_CALLS=on", "HAKMEM_LAB_BIG_THRESHOLD=512K", "HAKMEM_COUNTERS_FILE=/a=b,c"}), "");
  EXPECT_EQ(get("count_calls"), "on");
  EXPECT_EQ(get("lab_big_threshold"), "512K");
  EXPECT_EQ(get("counters_file"), "/a=b,c");
}

TEST_F(Knobs, TheEnvironmentWinsOverOptions) {
  EXPECT_EQ(load({"HAKMEM_LAB_CACHE_HEAP_PERCENT=7"}, "lab_cache_heap_percent=6,count_calls=on,,big_cache_bytes=1M,"), "");
  EXPECT_EQ(get("lab_cache_heap_percent"), "7");
  EXPECT_EQ(get("count_calls"), "on");
  EXPECT_EQ(get("big_cache_bytes"), "1M");
}

TEST_F(Knobs, NothingToReadIsFine) {
  testing::internal::CaptureStderr();
  hak_settings_load(nullptr, nullptr);
  hak_settings_load_as(nullptr, "", true);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(Knobs, RaisedRightsIgnoreEnvironmentAndPaths) {
  EXPECT_EQ(load({"HAKMEM_COUNT_CALLS=on", "HAKMEM_NONSENSE=1"}, "counters_file=/etc/x,lab_cache_heap_percent=9", true), "");
  EXPECT_EQ(get("count_calls"), "off");
  EXPECT_EQ(get("counters_file"), "");
  EXPECT_EQ(get("lab_cache_heap_percent"), "9");
}

TEST_F(Knobs, OneLineForEachMalformedValue) {
  EXPECT_EQ(load({"HAKMEM_COUNT_CALLS=maybe"}), "hakmem: HAKMEM_COUNT_CALLS=maybe ignored: allowed: on, off, 1, 0, true, false\n");
  EXPECT_EQ(load({"HAKMEM_LAB_BIG_THRESHOLD=1"}),
            "hakmem: HAKMEM_LAB_BIG_THRESHOLD=1 ignored: allowed: 256K to 32M bytes, with or without K, M, G or T\n");
  EXPECT_EQ(load({"HAKMEM_LAB_BIG_CACHE_BLOCKS="}), "hakmem: HAKMEM_LAB_BIG_CACHE_BLOCKS= ignored: allowed: 0 to 128\n");
  EXPECT_EQ(load({"HAKMEM_PRICE=cheap"}),
            "hakmem: HAKMEM_PRICE=cheap ignored: allowed: speed, balanced, lean, or 0 to 1000000000000\n");
  EXPECT_EQ(load({"HAKMEM_HUGE_PAGES=always"}), "hakmem: HAKMEM_HUGE_PAGES=always ignored: allowed: off, auto, on\n");
  EXPECT_EQ(load({}, "count_calls"), "hakmem: hak_options: count_calls= ignored: allowed: on, off, 1, 0, true, false\n");
  EXPECT_EQ(get("count_calls"), "off");
}

TEST_F(Knobs, TheNearestIsNamedForAnUnknownName) {
  const std::pair<const char *, const char *> slips[] = {
      {"HAKMEM_PRIZE=lean", "price (HAKMEM_PRICE)"},
      {"HAKMEM_COUNT_CALL=on", "count_calls (HAKMEM_COUNT_CALLS)"},
      {"HAKMEM_BACKGROUND_THRAED=off", "background_thread (HAKMEM_BACKGROUND_THREAD)"},
      {"HAKMEM_SOFTLIMIT=1G", "soft_limit (HAKMEM_SOFT_LIMIT)"},
      {"HAKMEM_LAB_BIG-CACHE-BLOCKS=1", "lab_big_cache_blocks (HAKMEM_LAB_BIG_CACHE_BLOCKS)"},
      {"HAKMEM_COUNTER_FILE=x", "counters_file (HAKMEM_COUNTERS_FILE)"},
      {"HAKMEM_PROCESS_CACHE=1M", "process_cache_bytes (HAKMEM_PROCESS_CACHE_BYTES)"},
      {"HAKMEM_huge=on", "huge_pages (HAKMEM_HUGE_PAGES)"},
      {"HAKMEM_count=on", "count_calls (HAKMEM_COUNT_CALLS)"},
      {"HAKMEM_Count=on", "count_calls (HAKMEM_COUNT_CALLS)"},
  };
  for (auto [variable, nearest] : slips) {
    EXPECT_EQ(load({variable}), std::string("hakmem: ") + variable + " ignored: no such setting; nearest: " + nearest + "\n");
  }
  EXPECT_EQ(load({}, "COUNT_CALLS=on"), "hakmem: hak_options: COUNT_CALLS=on ignored: no such setting; nearest: count_calls\n");
}

TEST_F(Knobs, NothingIsNamedWhereNothingIsNear) {
  for (const char *variable : {"HAKMEM_FOO=1", "HAKMEM_=", "HAKMEM_A=1", "HAKMEM_IT=1", "HAKMEM_TRANSPARENT=on"}) {
    EXPECT_EQ(load({variable}), std::string("hakmem: ") + variable + " ignored: no such setting, nor one like it\n");
  }
}

TEST_F(Knobs, WhatIsNotASettingsVariableIsNotSpokenOf) {
  EXPECT_EQ(load({"HAKMEM=1", "HAKMEMORY=1", "XHAKMEM_FOO=1", ""}), "");
  EXPECT_NE(load({"HAKMEM_A=1", "HAKMEM_COUNT_CALLS=on", "HAKMEM_B=1"}).find("HAKMEM_B=1 ignored"), std::string::npos);
  EXPECT_EQ(get("count_calls"), "on");
}

TEST_F(Knobs, EveryNameWithASlipInItIsFoundBack) {
  const struct hak_setting_row *row;
  for (unsigned n = 0; (row = hak_settings_row(n)) != nullptr; n++) {
    for (size_t at = 0; row->name[at] != '\0'; at++) {
      const std::string name = row->name;
      for (const std::string &slip : {name.substr(0, at) + name.substr(at + 1), name.substr(0, at) + 'q' + name.substr(at)}) {
        const std::string said = load({}, (slip + "=1").c_str());
        EXPECT_NE(said.find(" nearest: " + name + "\n"), std::string::npos) << said;
      }
    }
  }
}

TEST_F(Knobs, ASoftLimitAboveTheHardOneIsReportedAtStart) {
  const std::string said = "hakmem: soft_limit=2G ignored: it is above hard_limit=1536M, which holds alone\n";
  EXPECT_EQ(load({"HAKMEM_SOFT_LIMIT=2G", "HAKMEM_HARD_LIMIT=1536M"}), said);
  EXPECT_EQ(get("soft_limit"), "0");
  EXPECT_EQ(get("hard_limit"), "1536M");
  EXPECT_EQ(load({}, "soft_limit=2G"), said);
  EXPECT_EQ(load({"HAKMEM_SOFT_LIMIT=2G"}, "hard_limit=1536M"), said);
  EXPECT_EQ(load({}, "hard_limit=1536M,soft_limit=2G", true), said);
}

TEST_F(Knobs, LimitsThatGoTogetherAreNotSpokenOf) {
  EXPECT_EQ(load({"HAKMEM_SOFT_LIMIT=1G", "HAKMEM_HARD_LIMIT=1G"}), "");
  EXPECT_EQ(load({"HAKMEM_SOFT_LIMIT=2G", "HAKMEM_HARD_LIMIT=3G"}, "soft_limit=9G,hard_limit=1G"), "");
  EXPECT_EQ(get("soft_limit"), "2G");
  EXPECT_EQ(load({"HAKMEM_SOFT_LIMIT=5G", "HAKMEM_HARD_LIMIT=0"}), "");
  EXPECT_EQ(get("soft_limit"), "5G");
}

TEST_F(Knobs, BothLimitsCanBeRaisedOneByOne) {
  for (auto order : {std::pair{"soft_limit", "hard_limit"}, std::pair{"hard_limit", "soft_limit"}}) {
    for (const char *value : {"1G", "3G", "2G"}) {
      EXPECT_EQ(hak_settings_set(order.first, value, false), 0);
      EXPECT_EQ(hak_settings_set(order.second, value, false), 0);
      EXPECT_EQ(get("soft_limit") + get("hard_limit"), std::string(value) + value);
    }
  }
}

TEST_F(Knobs, WhatIsSaidIsShortAndPrintable) {
  const std::string path(5000, 'x');
  EXPECT_EQ(load({"HAKMEM_COUNTERS_FILE=" + path}), "hakmem: HAKMEM_COUNTERS_FILE=" + std::string(60, 'x') +
                                                        "... ignored: allowed: a path of at most 255 bytes, not a device's\n");
  EXPECT_EQ(load({"HAKMEM_COUNT_CALLS=a\nb\x1b\xff"}).rfind("hakmem: HAKMEM_COUNT_CALLS=a?b?? ignored", 0), 0u);
  const std::string said = load({"HAKMEM_" + path + "=" + path});
  EXPECT_LT(said.size(), 400u);
  EXPECT_EQ(said.back(), '\n');
}

TEST_F(Knobs, ANumberTooLongToKeepIsNotCutToAGoodOne) {
  EXPECT_NE(load({"HAKMEM_LAB_CACHE_HEAP_PERCENT=" + std::string(400, '0') + "1"}), "");
  EXPECT_EQ(get("lab_cache_heap_percent"), "70");
}

TEST_F(Knobs, AnOldNameIsAnsweredWithTheNewOne) {
  const std::pair<const char *, const char *> moved[] = {
      {"HAKMEM_HELPER=off", "now named background_thread (HAKMEM_BACKGROUND_THREAD)"},
      {"HAKMEM_COUNT=on", "now named count_calls (HAKMEM_COUNT_CALLS)"},
      {"HAKMEM_SITES=on", "now named site_all_sizes (HAKMEM_SITE_ALL_SIZES)"},
      {"HAKMEM_LIMITS_FOLDER=/x", "now named cgroup_dir (HAKMEM_CGROUP_DIR)"},
      {"HAKMEM_BIG_THRESHOLD=2M", "now the laboratory's: lab_big_threshold (HAKMEM_LAB_BIG_THRESHOLD)"},
      {"HAKMEM_LEARN_LOG=/x", "now the laboratory's: lab_learn_log (HAKMEM_LAB_LEARN_LOG)"},
  };
  for (auto [variable, now] : moved) {
    EXPECT_EQ(load({variable}), std::string("hakmem: ") + variable + " ignored: " + now + "\n");
  }
  EXPECT_EQ(load({}, "helper=off"), "hakmem: hak_options: helper=off ignored: now named background_thread\n");
  EXPECT_EQ(get("background_thread"), "on");
}

TEST_F(Knobs, TheProductHasTwentySix) {
  unsigned product = 0;
  const struct hak_setting_row *row;
  for (unsigned n = 0; (row = hak_settings_row(n)) != nullptr; n++) product += std::strncmp(row->name, "lab_", 4) != 0;
  EXPECT_EQ(product, 26u) << "a new setting of the product replaces an old one, or is a row of lab_settings.def";
}

}  // namespace
