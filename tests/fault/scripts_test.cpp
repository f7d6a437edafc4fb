/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* scripts_test.cpp: every kernel call of every script fails once.
 *
 * what      A script runs first without faults, to number its kernel calls. Then, for every number n, each in a
 *           separate process: call n alone fails, or n and n + 1, or n and all later calls, or the later calls of n's
 *           kind; a place in the address range is taken, or an old kernel maps elsewhere; only small mappings succeed.
 *           Afterwards no memory is lost: all blocks can be freed, the script works from end to end, and a repetition
 *           maps nothing more.
 *
 *               parent: fork ----------------> fork ----------------> fork ...
 *               child:  script, count calls     script, call 1 fails    script, call 2 fails
 *                       kernel heals: free all, script, script, compare mapped bytes
 *
 * owner     The parent makes no hak_ call, so that every child begins with an unused library.
 * failure   The child's findings, then the script and the call that failed.
 * not here  Failures at program start (start_test.cpp) and among threads (threads_test.cpp).
 */
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernel.h"
#include "scripts.h"

extern "C" {
#include "os/os.h"
}

namespace {

using fault::Answer;
using fault::Call;
using fault::Plan;
using fault::Script;
using fault::Session;

constexpr uint64_t kForever = UINT64_MAX;

/* Figures of a run without faults. */
struct Reference {
  uint64_t calls;
  uint64_t unexplained;
  Call kinds[fault::kRemembered + 1];
};

/* Runs `body` in a child. True if the child found nothing wrong. */
bool in_child(const std::function<void()> &body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status == 0;
}

void prepare(const Script &script, Session &session) {
  if (script.prepare != nullptr) script.prepare(session);
}

/* Runs the script from end to end; returns the bytes mapped after all blocks were freed. */
uint64_t run_whole(const Script &script) {
  Session session;
  prepare(script, session);
  script.run(session);
  session.give_everything();
  session.trim(0);
  return fault::mapped();
}

/* Decisions by time must not change the number of calls, nor the page that the first purge of a process tries: it stays
 * mapped where munmap is refused for ever. */
void keep_blocks_for_ever() {
  static char page[2 * 4096];
  ASSERT_EQ(hak_set("price", "1"), 0);
  hak_os_purge(reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(page) + 4095) / 4096 * 4096), 4096);
}

/* The kernel refuses no more: the library recovers. */
void expect_recovered(const Script &script, uint64_t unexplained) {
  run_whole(script);
  EXPECT_EQ(fault::unexplained_bytes(), unexplained) << "mappings are lost";
}

void expect_no_growth(const Script &script) {
  const uint64_t once = run_whole(script);
  for (int i = 0; i < 4; i++) EXPECT_EQ(run_whole(script), once) << "the script maps more each time";
}

void run_with(const Script &script, const Plan &plan, uint64_t unexplained) {
  keep_blocks_for_ever();
  Session session;
  prepare(script, session);
  fault::arm(plan);
  script.run(session);
  const uint64_t calls = fault::calls();
  fault::disarm();
  if (fault::refused() == 0 && plan.kinds == ~0U) {
    /* releases where the peak would rise depend on time: some calls fewer, or in another order */
    EXPECT_LT(calls, plan.first) << "no call was refused";
  }
  session.give_everything();
  expect_recovered(script, unexplained);
}

class Faults : public ::testing::TestWithParam<Script> {
 protected:
  void SetUp() override {
    auto *reference = static_cast<Reference *>(fault::shared_memory(sizeof(Reference)));
    ASSERT_TRUE(in_child([&] { measure(reference); }));
    reference_ = reference;
    ASSERT_GT(reference->calls, 5U);
    ASSERT_LE(reference->calls, fault::kRemembered);
  }

  /* Runs a child for every n that `concerns`, with the plan for n. */
  void for_every_call(const std::function<Plan(uint64_t)> &plan_of, const std::function<bool(Call)> &concerns) {
    unsigned concerned = 0, failed = 0;
    for (uint64_t n = 1; n <= reference_->calls && failed < 3; n++) {
      if (!concerns(reference_->kinds[n])) continue;
      concerned++;
      const bool good = in_child([&] { run_with(GetParam(), plan_of(n), reference_->unexplained); });
      EXPECT_TRUE(good) << "call " << n << " of " << reference_->calls << ", " << name_of(reference_->kinds[n]);
      failed += !good;
    }
    EXPECT_GT(concerned, 0U);
  }

  void for_every_call(const std::function<Plan(uint64_t)> &plan_of) {
    for_every_call(plan_of, [](Call) { return true; });
  }

  const Reference *reference_ = nullptr;

 private:
  static void measure(Reference *reference) {
    keep_blocks_for_ever();
    Session session;
    prepare(GetParam(), session);
    fault::arm({0, 0});
    GetParam().run(session);
    reference->calls = fault::calls();
    for (uint64_t n = 1; n <= reference->calls && n <= fault::kRemembered; n++) reference->kinds[n] = fault::kind_of(n);
    session.give_everything();
    run_whole(GetParam());
    reference->unexplained = fault::unexplained_bytes();
  }
};

/* Scripts that make the address range grow. */
class Places : public Faults {
 protected:
  void for_every_place(const std::function<Plan(uint64_t)> &plan_of) {
    for_every_call(plan_of, [](Call call) { return call == Call::place; });
  }
};

TEST_P(Faults, EachCallAlone) {
  for_every_call([](uint64_t n) { return Plan{n, n}; });
}

TEST_P(Faults, EachCallAndTheNext) {
  for_every_call([](uint64_t n) { return Plan{n, n + 1}; });
}

TEST_P(Faults, EachCallAndAllAfter) {
  for_every_call([](uint64_t n) { return Plan{n, kForever}; });
}

TEST_P(Places, EachTaken) {
  for_every_place([](uint64_t n) { return Plan{n, n, Answer::taken}; });
}

TEST_P(Places, EachAndAllAfterTaken) {
  for_every_place([](uint64_t n) { return Plan{n, kForever, Answer::taken, only(Call::place)}; });
}

TEST_P(Places, EachElsewhere) {
  for_every_place([](uint64_t n) { return Plan{n, n, Answer::elsewhere}; });
}

TEST_P(Places, EachAndAllAfterElsewhere) {
  for_every_place([](uint64_t n) { return Plan{n, kForever, Answer::elsewhere, only(Call::place)}; });
}

/* As under a tight limit of address space: large mappings fail, small mappings succeed. */
TEST_P(Places, OnlySmallMappingsFromEachOn) {
  static constexpr unsigned kMaps = only(Call::map) | only(Call::place) | only(Call::remap);
  for_every_place([](uint64_t n) { return Plan{n, kForever, Answer::refuse, kMaps, 256 << 10}; });
}

/* One process meets all faults in sequence. */
TEST_P(Faults, AllInOneLife) {
  EXPECT_TRUE(in_child([this] {
    keep_blocks_for_ever();
    const uint64_t rounds = model::scaled(48);
    for (uint64_t i = 0; i < rounds && !HasFailure(); i++) {
      SCOPED_TRACE(i);
      const uint64_t n = 1 + i * reference_->calls / rounds;
      Session session;
      prepare(GetParam(), session);
      fault::arm({n, i % 2 == 0 ? n : kForever});
      GetParam().run(session);
      fault::disarm();
      session.give_everything();
    }
    expect_recovered(GetParam(), reference_->unexplained);
    expect_no_growth(GetParam());
  }));
}

/* Each script makes calls of its purpose's kind, without faults. */
struct Purpose {
  const char *script;
  Call call;
  unsigned at_least;
};

class Purposes : public Faults {
 protected:
  static std::vector<Purpose> purposes() {
    static constexpr Purpose kPurposes[] = {{"moved", Call::remap, 10}, {"moved", Call::unmap, 4},
                                            {"drained", Call::barrier, 4}};
    std::vector<Purpose> mine;
    for (const Purpose &purpose : kPurposes)
      if (std::strcmp(purpose.script, GetParam().name) == 0) mine.push_back(purpose);
    return mine;
  }

  unsigned made(Call call) const {
    unsigned n = 0;
    for (uint64_t i = 1; i <= reference_->calls; i++) n += reference_->kinds[i] == call;
    return n;
  }
};

TEST_P(Purposes, AreReached) {
  for (const Purpose &purpose : purposes()) EXPECT_GE(made(purpose.call), purpose.at_least) << name_of(purpose.call);
}

/* As if a sandbox refuses this kind, or there are too many mappings; the remaining kinds work. */
TEST_P(Purposes, EachAndAllOfItsKindAfter) {
  for (const Purpose &purpose : purposes()) {
    for_every_call([&](uint64_t n) { return Plan{n, kForever, Answer::refuse, only(purpose.call)}; },
                   [&](Call call) { return call == purpose.call; });
  }
}

std::string name_of_instance(const ::testing::TestParamInfo<Script> &instance) { return instance.param.name; }

constexpr Script kMoved = {"moved", fault::moved, fault::make_pages_dear}, kDrained = {"drained", fault::drained, fault::allow_draining};
constexpr Script kBeyondTheRange[] = {{"big_table", fault::big_table, fault::fill_big_table},
                                      {"big_cache", fault::big_cache, fault::fill_big_cache},
                                      kMoved};
constexpr Script kInTheRange[] = {
    {"slabs", fault::slabs},     {"magazines", fault::magazines}, {"depot", fault::depot},
    {"threads", fault::threads}, {"large", fault::large},         {"big", fault::big},
    {"aligned", fault::aligned}, {"zeroed", fault::zeroed},       {"trimmed", fault::trimmed},
    {"settings", fault::settings}, kDrained};

INSTANTIATE_TEST_SUITE_P(InTheRange, Faults, ::testing::ValuesIn(kInTheRange), name_of_instance);
INSTANTIATE_TEST_SUITE_P(BeyondTheRange, Faults, ::testing::ValuesIn(kBeyondTheRange), name_of_instance);
INSTANTIATE_TEST_SUITE_P(Both, Purposes, ::testing::Values(kMoved, kDrained), name_of_instance);
INSTANTIATE_TEST_SUITE_P(InTheRange, Places, ::testing::ValuesIn(kInTheRange), name_of_instance);

}  // namespace
