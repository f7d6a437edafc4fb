/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* rows_test.cpp: rows of the learners, from a file into memory and back, with the whole library below.
 *
 * what      learn/policy_read.c, learn/policy_write.c and learn/rows.c on files that the test writes.
 * owner     Each case runs in a separate process.
 * failure   A row that is lost or changed, a row that acts where its learner is off, and counts of another process that
 *           are lost or counted twice fail the test.
 * not here  Processes one after the other and at once, and damaged files: tests/process/policy_test.py.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

extern "C" {
#include "runs/runs.h"
#include "base/arms.h"
#include "cache/capacity.h"
#include "learn/kinds.h"
#include "learn/learner.h"
#include "learn/policy.h"
#include "learn/rows.h"
#include "learn/tune.h"
#include "reclaim/release.h"
#include "retain/rent.h"
#include "tables/learning.h"
#include "tables/snapshot.h"
#include "tables/threshold.h"
}

namespace {

using Lines = std::vector<std::string>;

const std::string kPaid = " 1 2 3 4 5 6 7 8", kSums = " 9 8 7 6 5 4 3 2";
const Lines kRows = {
    "kind runs 2 256" + kPaid, "kind slabs 0 128" + kPaid, "level runs 0 5 640" + kPaid, "level runs 63 4 32768" + kPaid,
    "level slabs 48 7 128" + kPaid, "capacity 1024 9 20 6 65535" + kSums, "capacity 64 10 13 0 1" + kSums, "arm threshold 5 40",
    "arm slack 3 96", "arm place 1 7", "rating 0 384256 3 0", "rating 5 390000 12 0", "rating 11 300000 2 1",
    "pulls slack 0 10 131072 0", "pulls slack 4 16 65536 1", "pulls place 1 7 1000 0",
};

struct Rows : testing::Test {
  char folder[32] = "/tmp/rows-XXXXXX";
  std::string path;

  void SetUp() override {
    ASSERT_NE(mkdtemp(folder), nullptr);
    path = std::string(folder) + "/policy";
  }
  void TearDown() override {
    unlink(path.c_str());
    rmdir(folder);
  }

  static void all(const char *value) {
    for (const char *name : {"kinds", "class", "caches", "threshold", "slack", "place"})
      ASSERT_EQ(hak_set((std::string("lab_learn_") + name).c_str(), value), 0);
  }

  void write(const Lines &rows, const char *first = "hakmem-policy 3") const {
    std::string text = std::string(first) + "\n";
    for (const std::string &row : rows) text += row + "\n";
    uint64_t sum = 0xcbf29ce484222325u;
    for (unsigned char c : text) sum = (sum ^ c) * 0x100000001b3u;
    char end[64];
    std::snprintf(end, sizeof end, "end %zu %016llx\n", rows.size() + 1, static_cast<unsigned long long>(sum));
    std::ofstream(path) << text << end;
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  }

  int read() const { return hak_policy_read(path.c_str()).error; }
  int save() const { return hak_policy_write(path.c_str()); }

  /* Without the first line and the end. */
  Lines written() const {
    Lines lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines.size() < 2 ? Lines() : Lines(lines.begin() + 1, lines.end() - 1);
  }

  static bool has(const Lines &lines, const std::string &line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  }
};

/* ---- to memory and back ---- */

TEST_F(Rows, EachKindComesBack) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write(kRows);
  ASSERT_EQ(read(), 0);
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(save(), 0) << "rows of learners alone";
  const Lines lines = written();
  for (const std::string &row : kRows) EXPECT_TRUE(has(lines, row)) << row << testing::PrintToString(lines);
  EXPECT_EQ(lines.size(), kRows.size());
}

TEST_F(Rows, AClassComesBackWithHalfOfItsWeight) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"class 5376 77", "capacity 5376 6 16 0 9" + kSums, "capacity 5120 6 16 0 9" + kSums});
  ASSERT_EQ(read(), 0);
  void *p = hak_malloc(5136);
  EXPECT_EQ(hak_usable_size(p), 5376u);
  hak_free(p);
  ASSERT_EQ(save(), 0);
  const Lines lines = written();
  EXPECT_TRUE(has(lines, "class 5376 38"));
  EXPECT_TRUE(has(lines, "capacity 5376 6 16 0 9" + kSums)) << "of the class that was added";
}

TEST_F(Rows, OfFiveClassesFourAreTaken) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"class 272 2", "class 5248 4", "class 5376 6", "class 5377 9", "class 5632 9", "class 5504 8", "class 2176 9"});
  ASSERT_EQ(read(), 0);
  ASSERT_EQ(save(), 0);
  EXPECT_EQ(written(), (Lines{"class 272 1", "class 5248 2", "class 5376 3", "class 5504 4"}))
      << "none of no class's size, none of a present class";
}

TEST_F(Rows, FilesOfTheFormatsBefore) {
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  for (const char *first : {"hakmem-policy 1", "hakmem-policy 2"}) {
    write({"process 5 512" + kPaid, "bin 28 2 256" + kPaid}, first);
    EXPECT_EQ(read(), 0) << first;
  }
  for (const char *first : {"hakmem-policy 0", "hakmem-policy 03", "hakmem-policy 04", "hakmem-policy 3 ", "hakmem-policy 4 ",
                            "hakmem-policy 4294967296", "hakmem-policy "}) {
    write({"process 5 512" + kPaid}, first);
    EXPECT_EQ(read(), EINVAL) << first;
  }
}

TEST_F(Rows, AFileOfANewerFormatIsNotReadAndStays) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"kind runs 2 256" + kPaid});
  ASSERT_EQ(read(), 0);
  const Lines newer = {"something new", "kind runs 5 512" + kPaid};
  for (const char *first : {"hakmem-policy 4", "hakmem-policy 31", "hakmem-policy 4294967295"}) {
    write(newer, first);
    const struct hak_policy_read result = hak_policy_read(path.c_str());
    EXPECT_EQ(result.error, EPROTONOSUPPORT) << first;
    EXPECT_STREQ(result.why, "it was written by a newer HAKMEM");
    EXPECT_EQ(save(), EPROTONOSUPPORT) << first;
    EXPECT_EQ(written(), newer) << first;
  }
}

TEST_F(Rows, WhatIsCutShortIsRefused) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write(kRows);
  const off_t bytes = static_cast<off_t>(std::ifstream(path, std::ios::ate).tellg());
  for (off_t end = bytes - 1; end >= 0; end -= 7) {
    ASSERT_EQ(truncate(path.c_str(), end), 0);
    ASSERT_EQ(read(), EINVAL) << end;
  }
  EXPECT_EQ(hak_capacity_learnt(hak_class_of(1024)), 0u) << "nothing of it was taken";
}

/* ---- when rows count ---- */

TEST_F(Rows, FrozenActsByAllOfThemWithoutASetting) {
  ASSERT_EQ(hak_set("mode", "frozen"), 0);
  EXPECT_FALSE(hak_rent_kinds_learn());
  Lines rows = kRows;
  rows.push_back("class 5376 77");
  write(rows);
  ASSERT_EQ(read(), 0);
  EXPECT_TRUE(hak_rent_kinds_learn());
  EXPECT_EQ(hak_capacity_learnt(hak_class_of(1024)), 9u | 20u << 8 | 6u << 16);
  EXPECT_EQ(hak_decided(HAK_DECIDED_threshold), 5u);
  EXPECT_EQ(hak_threshold(), hak_arm_threshold(4));
  EXPECT_EQ(hak_decided(HAK_DECIDED_slack), 3u);
  EXPECT_EQ(hak_decided(HAK_DECIDED_place), 1u);
  void *p = hak_malloc(5136);
  EXPECT_EQ(hak_usable_size(p), 5376u);
  hak_free(p);
  ASSERT_EQ(hak_set("lab_learn_slack", "on"), 0);
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  EXPECT_EQ(hak_decided(HAK_DECIDED_threshold), 0u) << "whose learner is off";
  EXPECT_EQ(hak_decided(HAK_DECIDED_slack), 3u);
  ASSERT_EQ(hak_set("mode", "frozen"), 0);
  EXPECT_EQ(hak_decided(HAK_DECIDED_threshold), 5u);
  ASSERT_EQ(hak_set("mode", "baseline"), 0);
  EXPECT_EQ(hak_decided(HAK_DECIDED_threshold), 0u);
  EXPECT_EQ(hak_capacity_learnt(hak_class_of(1024)), 0u);
  EXPECT_FALSE(hak_rent_kinds_learn());
}

TEST_F(Rows, TheUsersThresholdHolds) {
  g_settings.big_threshold = 3 << 20;
  ASSERT_EQ(hak_set("mode", "frozen"), 0);
  write(kRows);
  ASSERT_EQ(read(), 0);
  EXPECT_EQ(hak_threshold(), 3u << 20);
}

TEST_F(Rows, WhatIsOffIsNotTakenAndStays) {
  all("off");
  ASSERT_EQ(hak_set("lab_learn_slack", "on"), 0);
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write(kRows);
  ASSERT_EQ(read(), 0);
  EXPECT_EQ(hak_capacity_learnt(hak_class_of(1024)), 0u);
  EXPECT_EQ(hak_decided(HAK_DECIDED_threshold), 0u);
  EXPECT_EQ(hak_decided(HAK_DECIDED_slack), 3u);
  ASSERT_EQ(save(), 0);
  Lines lines = written(), rows = kRows;
  std::sort(lines.begin(), lines.end());
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(lines, rows);
}

TEST_F(Rows, TheBaselineTakesNone) {
  all("on");
  ASSERT_EQ(hak_set("mode", "baseline"), 0);
  write(kRows);
  ASSERT_EQ(read(), 0);
  EXPECT_EQ(save(), ENODATA);
  EXPECT_EQ(written(), kRows);
}

/* ---- hostile numbers, each within its bounds ---- */

TEST_F(Rows, AllArmsRetiredLeaveTwo) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  Lines rows = {"arm threshold 12 1", "arm slack 5 1", "arm place 1 1"};
  for (int n = 0; n < 12; n++) rows.push_back("rating " + std::to_string(n) + " 768000 1 1");
  for (int n = 0; n < 6; n++) rows.push_back("pulls slack " + std::to_string(n) + " 0 1099511627776 1");
  for (int n = 0; n < 2; n++) rows.push_back("pulls place " + std::to_string(n) + " 16777216 1099511627776 1");
  write(rows);
  ASSERT_EQ(read(), 0);
  hak_controller *c = hak_tune_controller(false);
  EXPECT_EQ(hak_elo_left(&c->elo), 2u);
  EXPECT_EQ(__builtin_popcount(c->ucb[HAK_TUNED_SLACK].dropped), 5);
  EXPECT_EQ(__builtin_popcount(c->ucb[HAK_TUNED_PLACE].dropped), 1);
  hak_window window = {};
  window.tries = 7;
  window.price = window.call_ns = window.page_ns = window.move_ns = 1000;
  for (uint64_t &asked : window.asked) asked = 1;
  for (unsigned n = 0; n < 20000; n++) {
    window.slow_calls += 256;
    window.pages += 100 + n % 7;
    const uint32_t arms = hak_controller_window(c, &window);
    ASSERT_LE(arms & 255, 12u);
    ASSERT_LE(arms >> 8 & 255, 5u);
    ASSERT_LE(arms >> 16 & 255, 1u);
  }
}

TEST_F(Rows, ALevelThatIsOutOfReachStaysAndMakesNoQuantumCoarser) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  const std::string here = "level runs 3 7 256" + kPaid;
  const Lines rows = {here, "level runs 64 7 128" + kPaid, "level runs 66060288 7 32768" + kPaid,
                      "level runs 67108863 7 32768" + kPaid};
  write(rows);
  ASSERT_EQ(read(), 0);
  ASSERT_EQ(save(), 0);
  EXPECT_EQ(written(), rows);
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(save(), 0);
  EXPECT_EQ(written(), (Lines{here}));
}

/* ---- another process wrote meanwhile ---- */

TEST_F(Rows, CountsThatCameSinceAreAddedOnce) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"arm threshold 0 40", "rating 2 384000 10 0", "rating 3 385000 10 0", "arm slack 1 20", "pulls slack 1 20 1000 0"});
  ASSERT_EQ(read(), 0);
  hak_controller *c = hak_tune_controller(false);
  c->tried[HAK_TUNED_THRESHOLD] += 8;
  c->elo.rating[3] += 256;
  c->elo.played[3] += 2;
  c->ucb[HAK_TUNED_SLACK].pulls[1] += 5 << 16;
  c->ucb[HAK_TUNED_SLACK].cost[1] += 50;
  write({"arm threshold 4 52", "rating 2 383900 13 0", "rating 3 385100 13 0", "arm slack 1 23", "pulls slack 1 23 1300 0"});
  for (int times = 0; times < 3; times++) {
    ASSERT_EQ(save(), 0);
    EXPECT_EQ(written(), (Lines{"arm threshold 4 60", "arm slack 1 23", "rating 2 383900 13 0", "rating 3 385356 15 0",
                                "pulls slack 1 28 1350 0"}));
  }
}

TEST_F(Rows, NothingIsAddedTwiceAfterAWriteThatFailed) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"kind runs 2 256" + kPaid, "arm slack 1 20", "pulls slack 1 20 1000 0"});
  ASSERT_EQ(read(), 0);
  hak_tune_controller(false)->ucb[HAK_TUNED_SLACK].pulls[1] += 5 << 16;
  const Lines others = {"kind runs 2 384" + kPaid, "arm slack 1 23", "pulls slack 1 23 1300 0"};
  write(others);
  rlimit before, none = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  none.rlim_max = before.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  const int error = save();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_EQ(error, EFBIG);
  EXPECT_EQ(written(), others);
  ASSERT_EQ(save(), 0);
  EXPECT_EQ(written(), (Lines{"kind runs 2 384" + kPaid, "arm slack 1 23", "pulls slack 1 28 1300 0"}));
}

TEST_F(Rows, TheRowOfMoreWaitsAndTheCapacityOfMoreWindowsStays) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"process 5 512" + kPaid, "kind runs 2 256" + kPaid, "level runs 3 2 32768" + kPaid, "capacity 1024 9 20 6 10" + kSums,
         "capacity 64 9 20 6 10" + kSums, "class 5376 200"});
  ASSERT_EQ(read(), 0);
  write({"process 1 256" + kSums, "kind runs 5 384" + kSums, "level runs 3 5 32768" + kSums, "level runs 4 5 128" + kPaid,
         "capacity 1024 8 19 0 11" + kSums, "capacity 64 8 19 0 9" + kSums, "class 5376 300", "class 272 7"});
  ASSERT_EQ(save(), 0);
  Lines lines = written(), rows = {"process 5 512" + kPaid, "kind runs 2 384" + kSums,
      "level runs 3 2 32768" + kPaid, "level runs 4 5 128" + kPaid, "capacity 1024 8 19 0 11" + kSums, "capacity 64 9 20 6 10" + kSums,
      "class 5376 300", "class 272 7"};
  std::sort(lines.begin(), lines.end());
  std::sort(rows.begin(), rows.end());
  EXPECT_EQ(lines, rows);
}

TEST_F(Rows, AFileThatOnlyThisProcessWroteIsReplaced) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"process 5 512" + kPaid, "kind runs 2 256" + kPaid, "pulls slack 1 20 1000 0", "arm slack 1 20"});
  ASSERT_EQ(read(), 0);
  for (int times = 0; times < 3; times++) {
    ASSERT_EQ(save(), 0);
    EXPECT_TRUE(has(written(), "process 5 512" + kPaid));
    EXPECT_TRUE(has(written(), "kind runs 2 256" + kPaid));
    EXPECT_TRUE(has(written(), "pulls slack 1 20 1000 0"));
  }
}

TEST_F(Rows, AWriteToAFurtherPathJoinsNothingAndLeavesTheFirst) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"arm slack 1 20", "pulls slack 1 20 1000 0"});
  ASSERT_EQ(read(), 0);
  hak_tune_controller(false)->ucb[HAK_TUNED_SLACK].pulls[1] += 5 << 16;
  std::string further = path + "2";
  const Lines own = {"arm slack 1 20", "pulls slack 1 25 1000 0"};
  for (int times = 0; times < 3; times++) ASSERT_EQ(hak_policy_write(further.c_str()), 0);
  write({"arm slack 1 23", "pulls slack 1 23 1300 0"}); /* by another process */
  ASSERT_EQ(save(), 0);
  EXPECT_EQ(written(), (Lines{"arm slack 1 23", "pulls slack 1 28 1300 0"}));
  std::swap(path, further);
  EXPECT_EQ(written(), own);
  write({"arm slack 1 90", "pulls slack 1 90 1300 0"});
  ASSERT_EQ(save(), 0);
  EXPECT_EQ(written(), (Lines{"arm slack 1 23", "pulls slack 1 28 1300 0"})) << "no row is joined";
  unlink(path.c_str());
  path = further;
}

TEST_F(Rows, ARowThatWasNotWrittenIsNotInTheFile) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"process 5 512" + kPaid, "arm slack 1 20", "pulls slack 1 20 1000 0"});
  ASSERT_EQ(read(), 0);
  hak_tune_controller(false)->ucb[HAK_TUNED_SLACK].pulls[1] += 5 << 16;
  const Lines others = {"process 5 512" + kPaid, "arm slack 1 23", "pulls slack 1 23 1300 0"};
  write(others);
  ASSERT_EQ(hak_set("lab_learn_slack", "off"), 0);
  ASSERT_EQ(save(), 0);
  EXPECT_EQ(written(), others);
  ASSERT_EQ(hak_set("lab_learn_slack", "on"), 0);
  ASSERT_EQ(save(), 0);
  EXPECT_TRUE(has(written(), "pulls slack 1 28 1300 0")) << testing::PrintToString(written());
}

/* ---- what changes while a file is written ---- */

const struct hak_row_kind *kind_of(const std::string &word) {
  const struct hak_row_kind *kind = nullptr;
  for (unsigned n = 0; (kind = hak_row_kind(n)) != nullptr && kind->word != word; n++) {
  }
  return kind;
}

TEST_F(Rows, ARowOfTheFileGoesOnlyIfARowOfThatNameWasWritten) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  write({"kind runs 2 256" + kPaid, "level runs 3 2 256" + kPaid, "capacity 1024 9 20 6 10" + kSums});
  ASSERT_EQ(read(), 0);
  uint64_t number[HAK_ROW_NUMBERS];
  const struct hak_row_kind *runs = kind_of("kind runs"), *level = kind_of("level runs"), *slabs = kind_of("kind slabs"),
                     *capacity = kind_of("capacity");
  hak_rows_begin();
  ASSERT_FALSE(hak_row_out(slabs, 0, number));
  ASSERT_TRUE(hak_row_out(runs, 0, number));
  EXPECT_TRUE(hak_row_in(runs, number, HAK_ROW_HAS));
  hak_kinds_in(HAK_KIND_SLABS, number, HAK_ROW_TAKE); /* a wait was noted meanwhile */
  EXPECT_FALSE(hak_row_in(slabs, number, HAK_ROW_HAS)) << "it would be lost";
  ASSERT_TRUE(hak_row_out(capacity, hak_class_of(1024), number));
  ASSERT_EQ(hak_set("mode", "baseline"), 0); /* all words become 0 */
  EXPECT_TRUE(hak_row_in(capacity, number, HAK_ROW_HAS)) << "it would be there twice";
  number[0] = 64;
  EXPECT_FALSE(hak_row_in(capacity, number, HAK_ROW_HAS));
  ASSERT_TRUE(hak_row_out(level, 3, number));
  EXPECT_TRUE(hak_row_in(level, number, HAK_ROW_HAS));
  number[0] = 2;
  EXPECT_FALSE(hak_row_in(level, number, HAK_ROW_HAS));
  hak_rows_end();
}

/* As in a signal handler that interrupted the holder: to take the lock again would end the process. */
TEST_F(Rows, TheRunsAreNotHeldTwice) {
  ASSERT_TRUE(hak_runs_hold());
  EXPECT_FALSE(hak_runs_hold());
  hak_runs_let_go();
  ASSERT_TRUE(hak_runs_hold());
  hak_runs_let_go();
}

/* As in a signal handler that interrupted a window's end, or a release, and calls exit. */
TEST_F(Rows, AHolderThatNeverLetsGoIsWaitedForOnce) {
  all("on");
  ASSERT_EQ(hak_set("mode", "evolving"), 0);
  Lines rows = kRows;
  rows.push_back("process 5 512" + kPaid);
  std::sort(rows.begin(), rows.end());
  for (bool window : {true, false}) {
    write(rows);
    ASSERT_EQ(read(), 0);
    ASSERT_TRUE(window ? hak_learner_hold() : hak_release_hold());
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(read(), 0);
    EXPECT_EQ(save(), 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
    window ? hak_learner_let_go() : hak_release_let_go();
    Lines lines = written();
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines, rows);
  }
}

}  // namespace
