/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* report_test.cpp: the text of malloc_stats and malloc_info.
 *
 * what      observe/report.c over made-up numbers.
 * failure   A number that is missing or out of place fails the test.
 * not here  Whether the numbers are right: hakmem_test.cpp. Whether the XML parses: tests/api.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <sstream>
#include <string>

extern "C" {
#include "observe/report.h"
#include "tables/counters.h"
#include "tables/settings.h"
}

namespace {

void append(void *to, const char *text, size_t bytes) { static_cast<std::string *>(to)->append(text, bytes); }

struct hak_stats numbers() {
  struct hak_stats stats = {};
  stats.in_use = 1;
  stats.mapped = UINT64_MAX;
  stats.threads = 12;
  return stats;
}

std::string text_of(void (*report)(const struct hak_stats *, hak_report_put *, void *)) {
  std::string text;
  const struct hak_stats stats = numbers();
  report(&stats, append, &text);
  return text;
}

/* The line that begins with these words; empty when there is none. */
std::string line_of(const std::string &text, const std::string &begin) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.rfind(begin, 0) == 0) return line;
  }
  return "";
}

TEST(Report, NumbersEndInOneColumn) {
  const std::string text = text_of(hak_report_text);
  EXPECT_EQ(line_of(text, "  in use").substr(39, 5), "  1  ") << text;
  EXPECT_EQ(line_of(text, "  mapped").substr(20, 24), "  18446744073709551615  ") << text;
  EXPECT_EQ(line_of(text, "  threads").substr(39, 5), " 12  ") << text;
}

TEST(Report, CountersThatAreNotZero) {
  EXPECT_EQ(line_of(text_of(hak_report_text), "  fork_repairs"), "");
  hak_count(HAK_COUNTER_fork_repairs, 7);
  EXPECT_EQ(line_of(text_of(hak_report_text), "  fork_repairs").substr(39, 5), "  7  ");
  EXPECT_NE(text_of(hak_report_xml).find("<counter name=\"fork_repairs\" value=\"7\"/>\n"), std::string::npos);
}

TEST(Report, ARouteIsToldOnlyWhereCallsAreCounted) {
  const char *const none = "<counter name=\"alloc_magazine\" value=\"0\"/>\n";
  EXPECT_EQ(text_of(hak_report_xml).find("alloc_magazine"), std::string::npos);
  ASSERT_EQ(hak_settings_set("count_calls", "on", false), 0);
  EXPECT_NE(text_of(hak_report_xml).find(none), std::string::npos);
}

TEST(Report, SettingsThatWereChanged) {
  EXPECT_EQ(line_of(text_of(hak_report_text), "  lab_cache_heap_percent"), "");
  ASSERT_EQ(hak_settings_set("lab_cache_heap_percent", "77", false), 0);
  EXPECT_EQ(line_of(text_of(hak_report_text), "  lab_cache_heap_percent").substr(39), " 77");
  ASSERT_EQ(hak_settings_set("counters_file", std::string(200, 'p').c_str(), true), 0);
  EXPECT_EQ(line_of(text_of(hak_report_text), "  counters_file"), "  counters_file " + std::string(200, 'p'));
}

TEST(Report, XmlHasEveryNumber) {
  const std::string text = text_of(hak_report_xml);
  EXPECT_EQ(text.rfind("<malloc version=\"1\">\n", 0), 0u);
  EXPECT_NE(text.find("<stat name=\"mapped\" value=\"18446744073709551615\"/>\n"), std::string::npos);
  EXPECT_NE(text.find("<stat name=\"threads\" value=\"12\"/>\n"), std::string::npos);
  EXPECT_EQ(text.substr(text.size() - 10), "</malloc>\n");
}

}  // namespace
