/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* drain_idle_test.cpp: other threads' magazines are emptied.
 *
 * what      reclaim/drain_idle.c with the whole library below it. The owner is a thread that runs given functions,
 *           between drains by the test's thread; the linker puts this file's barrier in front of the kernel's: the
 *           barrier can be refused, or run a function of the owner.
 * owner     Each case runs in a separate process.
 * failure   A block that is lost or handed out twice, or a budget that differs from the bytes held, fails the test.
 * not here  Owners at work meanwhile: tests/stress/drain_test.cpp. Every order of memory: tests/model/drain_test.cpp.
 */
#include <gtest/gtest.h>
#include <hakmem/hakmem.h>

#include <array>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "../idler.h"

#ifndef _Noreturn
#define _Noreturn [[noreturn]]
#endif
extern "C" {
#include "blocks/depot.h"
#include "blocks/slab.h"
#include "cache/magazine.h"
#include "cache/registry.h"
#include "entry/thread.h"
#include "internal.h"
#include "os/os.h"
#include "reclaim/background_thread.h"
#include "reclaim/drain_idle.h"
#include "tables/classes.h"

bool __real_hak_os_barrier(void);
bool __wrap_hak_os_barrier(void);
}

namespace {

using Context = struct hak_context;

constexpr unsigned kClass = HAK_CLASS_64;
constexpr size_t kBytes = 64;
constexpr size_t kMany = 400;
constexpr int kLooks = 5; /* the first, and four that find the same */

unsigned barriers;
bool refused;
std::function<void()> at_barrier;

/* A thread with magazines. */
class Owner {
 public:
  Owner() {
    run([this] {
      hak_free(hak_malloc(1));
      context_ = hak_context;
    });
  }

  void run(const std::function<void()> &task) { idler_.run(task); }
  void end() { idler_.end(); }

  Context *context() { return context_; }
  size_t blocks(unsigned c = kClass) { return hak_magazine_blocks(context_, c); }
  bool emptied(unsigned c = kClass) { return hak_has_class(context_->emptied, c); }

 private:
  Context *context_ = nullptr;
  Idler idler_;
};

/* Allocates and frees n blocks; by an owner of colour 0, so that the class is kClass. */
void burst(size_t n, size_t bytes = kBytes) {
  std::vector<void *> blocks(n);
  for (void *&p : blocks) p = hak_malloc(bytes);
  for (void *p : blocks) hak_free(p);
}

void drain_all() {
  struct hak_fault fault = {HAK_ERROR_none, nullptr};
  hak_drain_all(&fault);
  EXPECT_EQ(fault.error, HAK_ERROR_none);
}

void look(int times) {
  struct hak_fault fault = {HAK_ERROR_none, nullptr};
  for (int i = 0; i < times; i++) hak_drain_idle(&fault, false);
  EXPECT_EQ(fault.error, HAK_ERROR_none);
}

size_t cost_of_class(unsigned c, size_t capacity, bool with_blocks) {
  if (capacity == 0) return 0;
  return (with_blocks ? capacity * g_class[c].bytes : 0) + (capacity + 1) * sizeof(void *);
}

/* Capacity of contexts and depot: an emptied class is its array only. */
size_t held_by_all() {
  size_t bytes = 0;
  for (unsigned c = 1; c < HAK_CLASSES; c++) bytes += hak_depot_blocks(c) * g_class[c].bytes;
  for (Context *x = hak_registry_first(); x != nullptr; x = x->next)
    for (unsigned c = 1; c < HAK_CLASSES; c++)
      bytes += cost_of_class(c, x->capacity[c], !hak_has_class(x->emptied, c));
  return bytes;
}

/* Blocks of kClass that are handed out by the slabs. */
uint64_t out() {
  uint64_t units;
  return hak_slab_handed_out(kClass, &units);
}

class Drain : public testing::Test {
 protected:
  void SetUp() override {
    hak_free(hak_malloc(1));
    hak_background_allow();
    hak_background_hold(); /* a sanitizer cannot follow the background thread */
  }

  /* Every block is in one place, and the owner's calls work as before. */
  void expect_all_is_well(Owner &owner) {
    owner.run([] {
      std::set<void *> seen;
      std::vector<void *> blocks(3 * kMany);
      for (void *&p : blocks) p = hak_malloc(kBytes);
      for (void *p : blocks) EXPECT_TRUE(seen.insert(p).second) << p << " was handed out twice";
      for (void *p : blocks) hak_free(p);
    });
    EXPECT_FALSE(owner.emptied());
    EXPECT_EQ(hak_inside_budget(), held_by_all());
    owner.end();
    hak_trim(0);
    EXPECT_EQ(out(), 0u) << "blocks are lost";
    EXPECT_EQ(hak_inside_budget(), 0u);
  }
};

TEST_F(Drain, AllButTheLastGoesBack) {
  Owner owner;
  owner.run([] { burst(kMany); });
  const size_t before = owner.blocks(), budget = hak_inside_budget();
  EXPECT_GT(before, 100u);
  drain_all();
  EXPECT_EQ(owner.blocks(), 1u);
  EXPECT_EQ(out(), 1u);
  EXPECT_LT(hak_inside_budget(), budget / 2);
  EXPECT_EQ(hak_inside_budget(), held_by_all());
  EXPECT_EQ(barriers, 1u);
  drain_all();
  EXPECT_EQ(owner.blocks(), 1u);
  EXPECT_EQ(barriers, 1u) << "nothing was left to shut";
  expect_all_is_well(owner);
}

TEST_F(Drain, TheOwnerBeginsAnew) {
  Owner owner;
  owner.run([] { burst(kMany); });
  const unsigned grown = owner.context()->capacity[kClass];
  drain_all();
  owner.run([] { hak_free(hak_malloc(kBytes)); });
  EXPECT_FALSE(owner.emptied());
  EXPECT_LT(owner.context()->capacity[kClass], grown);
  EXPECT_GT(owner.context()->capacity[kClass], 0u);
  expect_all_is_well(owner);
}

TEST_F(Drain, AnEmptyMagazineGivesItsBudget) {
  Owner owner;
  std::vector<void *> blocks(kMany);
  owner.run([&] {
    burst(kMany);
    for (void *&p : blocks) p = hak_malloc(kBytes);
    while (owner.blocks() != 0) blocks.push_back(hak_malloc(kBytes));
  });
  drain_all();
  EXPECT_TRUE(owner.emptied());
  EXPECT_EQ(hak_inside_budget(), held_by_all());
  owner.run([&] {
    for (void *p : blocks) hak_free(p);
  });
  expect_all_is_well(owner);
}

TEST_F(Drain, OneBarrierForManyThreads) {
  std::vector<std::unique_ptr<Owner>> owners;
  for (int i = 0; i < 40; i++) {
    owners.push_back(std::make_unique<Owner>());
    owners.back()->run([] {
      for (unsigned c = 1; c < HAK_CLASSES_USED; c += 3) burst(20, g_class[c].bytes);
    });
  }
  drain_all();
  EXPECT_EQ(barriers, 1u);
  EXPECT_EQ(hak_inside_budget(), held_by_all());
  owners.clear();
  hak_trim(0);
  EXPECT_EQ(hak_inside_budget(), 0u);
}

TEST_F(Drain, TrimReachesOtherThreads) {
  Owner owner;
  owner.run([] { burst(kMany); });
  hak_trim(0);
  EXPECT_EQ(owner.blocks(), 1u);
  expect_all_is_well(owner);
}

/* ---- which classes are idle ---- */

TEST_F(Drain, IdleClassesAreThoseThatLookTheSame) {
  Owner owner;
  owner.run([] { burst(kMany), burst(20, 1024); });
  std::vector<void *> held;
  for (int i = 0; i < 2 * kLooks; i++) {
    look(1);
    owner.run([&] { held.push_back(hak_malloc(kBytes)); });
  }
  EXPECT_FALSE(owner.emptied());
  EXPECT_GT(owner.blocks(), 100u) << "in use";
  EXPECT_TRUE(owner.emptied(hak_class_of(1024)));
  look(kLooks);
  EXPECT_TRUE(owner.emptied());
  owner.run([&] {
    for (void *p : held) hak_free(p);
  });
  expect_all_is_well(owner);
}

TEST_F(Drain, NoBarrierWhereNothingIsIdle) {
  Owner owner;
  owner.run([] { burst(kMany); });
  look(kLooks - 1);
  EXPECT_EQ(barriers, 0u);
  look(1);
  EXPECT_EQ(barriers, 1u);
  look(kLooks);
  EXPECT_EQ(barriers, 1u);
}

/* ---- for a thread that starves ---- */

class Starved : public Drain {
 protected:
  void SetUp() override {
    Drain::SetUp();
    at_work_.run([] { burst(kMany); });
    for (auto &owner : owners_) {
      owner = std::make_unique<Owner>();
      owner->run([] {
        for (unsigned c = 1; c < HAK_CLASSES_USED; c += 4) burst(70, g_class[c].bytes);
      });
    }
    ASSERT_EQ(hak_set("process_cache_bytes", std::to_string(hak_inside_budget() + 1).c_str()), 0);
  }

  /* Takes and frees in a thread that has no magazine yet. */
  void starve() {
    young_.run([] { burst(kMany); });
  }

  Owner at_work_, young_;
  std::array<std::unique_ptr<Owner>, 4> owners_;
};

TEST_F(Starved, TheSecondLookTakesFromWhoRests) {
  EXPECT_EQ(hak_drain_asked(), UINT64_MAX) << "nobody asked";
  starve();
  const unsigned before = young_.context()->capacity[kClass];
  EXPECT_LT(hak_drain_asked(), 100u) << "it is not known yet who rests";
  EXPECT_EQ(barriers, 0u);
  EXPECT_EQ(hak_drain_asked(), UINT64_MAX);
  EXPECT_EQ(barriers, 1u);
  EXPECT_FALSE(hak_magazine_is_short());
  EXPECT_EQ(hak_inside_budget(), held_by_all());
  starve();
  EXPECT_GT(young_.context()->capacity[kClass], before);
  EXPECT_EQ(young_.context()->capacity[kClass], 1023u) << "as large as it gets";
}

TEST_F(Starved, WhoWorksKeepsItsMagazines) {
  starve();
  std::vector<void *> blocks(2);
  for (void *&p : blocks) {
    hak_drain_asked();
    at_work_.run([&p] { p = hak_malloc(kBytes); });
  }
  EXPECT_EQ(hak_drain_asked(), UINT64_MAX) << "nothing is owed any more";
  EXPECT_FALSE(at_work_.emptied());
  EXPECT_FALSE(hak_magazine_is_short());
  at_work_.run([&] {
    for (void *p : blocks) hak_free(p);
  });
  EXPECT_EQ(hak_inside_budget(), held_by_all());
}

TEST_F(Starved, NoLookWhereThereIsRoom) {
  ASSERT_EQ(hak_set("process_cache_bytes", "64M"), 0);
  starve();
  EXPECT_EQ(hak_drain_asked(), UINT64_MAX);
  EXPECT_EQ(barriers, 0u);
}

/* ---- where nothing may be drained ---- */

TEST_F(Drain, ARefusedBarrierLeavesEverything) {
  Owner owner;
  owner.run([] { burst(kMany); });
  const size_t before = owner.blocks();
  refused = true;
  drain_all();
  EXPECT_EQ(owner.blocks(), before);
  owner.run([] { burst(10); });
  EXPECT_EQ(owner.blocks(), before) << "it was opened again";
  EXPECT_NE(owner.context()->ceiling[kClass], nullptr);
  expect_all_is_well(owner);
}

TEST_F(Drain, NoneInASandboxNorWithoutAHelper) {
  Owner owner;
  owner.run([] { burst(kMany); });
  g_allowed = false;
  drain_all();
  look(kLooks);
  g_allowed = true;
  ASSERT_EQ(hak_set("background_thread", "off"), 0);
  drain_all();
  EXPECT_EQ(barriers, 0u);
  EXPECT_FALSE(owner.emptied());
}

/* ---- the owner moves meanwhile ---- */

TEST_F(Drain, AnOwnerThatPassedADoorIsLeftAlone) {
  Owner owner;
  owner.run([] { burst(kMany); });
  const size_t before = owner.blocks();
  at_barrier = [&] { owner.run([] { hak_free(hak_malloc(512)); }); };
  drain_all();
  EXPECT_EQ(owner.blocks(), before);
  EXPECT_FALSE(owner.emptied());
  at_barrier = nullptr;
  drain_all();
  EXPECT_EQ(owner.blocks(), 1u);
  expect_all_is_well(owner);
}

/* A call on the fast path, stopped between its read of floor or ceiling and its end, ends after the drain. */
TEST_F(Drain, APopUnderWayKeepsItsBlock) {
  Owner owner;
  owner.run([] { burst(kMany); });
  Context *x = owner.context();
  void **top = x->top[kClass];
  drain_all();
  owner.run([&] {
    x->top[kClass] = top - 1;
    void *p = top[-1];
    EXPECT_EQ(owner.blocks(), 0u);
    hak_free(p);
  });
  expect_all_is_well(owner);
}

TEST_F(Drain, APushUnderWayKeepsItsBlock) {
  Owner owner;
  void *p = nullptr;
  owner.run([&] {
    burst(kMany);
    p = hak_malloc(kBytes);
  });
  Context *x = owner.context();
  void **top = x->top[kClass];
  drain_all();
  owner.run([&] {
    *top = p;
    x->top[kClass] = top + 1;
    EXPECT_EQ(owner.blocks(), 2u);
  });
  expect_all_is_well(owner);
}

/* Slots below the top may be drained, and their blocks owned by any thread: a free of such a block is no double
 * free. */
TEST_F(Drain, AGoneBlockMayBeFreedAgain) {
  Owner owner;
  std::vector<void *> mine(3);
  for (void *&p : mine) p = hak_malloc(kBytes);
  owner.run([&] {
    hak_free(hak_malloc(kBytes));
    for (void *p : mine) hak_free(p);
  });
  Context *x = owner.context();
  void **top = x->top[kClass], *gone = top[-2];
  drain_all();
  std::vector<void *> blocks;
  for (unsigned i = 0; i < 10 * kMany && (blocks.empty() || blocks.back() != gone); i++)
    blocks.push_back(hak_malloc(kBytes));
  ASSERT_EQ(blocks.back(), gone);
  blocks.pop_back();
  owner.run([&] {
    x->top[kClass] = top - 1;
    void *p = top[-1];
    hak_free(gone);
    hak_free(p);
  });
  for (void *p : blocks) hak_free(p);
  expect_all_is_well(owner);
}

TEST_F(Drain, CountingBeginsAndEndsMeanwhile) {
  for (const bool before : {false, true}) {
    Owner owner;
    owner.run([] { burst(kMany); });
    if (!before) drain_all();
    ASSERT_EQ(hak_set("count_calls", "on"), 0);
    if (before) drain_all();
    owner.run([] { burst(10, 512); });
    EXPECT_TRUE(owner.emptied());
    ASSERT_EQ(hak_set("count_calls", "off"), 0);
    owner.run([] { burst(10, 512); });
    EXPECT_EQ(owner.context()->ceiling[kClass], nullptr) << "it stays shut";
    expect_all_is_well(owner);
  }
}

TEST_F(Drain, AnExitTakesTheRestAlong) {
  Owner owner;
  owner.run([] { burst(kMany); });
  drain_all();
  owner.end();
  hak_trim(0);
  EXPECT_EQ(out(), 0u);
  EXPECT_EQ(hak_inside_budget(), 0u);
}

}  // namespace

bool __wrap_hak_os_barrier(void) {
  barriers++;
  if (at_barrier) at_barrier();
  return !refused && __real_hak_os_barrier();
}
