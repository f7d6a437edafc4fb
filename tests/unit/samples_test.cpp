/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* samples_test.cpp: sampled blocks and their stacks, and the messages of a profile.
 *
 * what      record/profile_samples.c against a map, record/profile_proto.c against bytes written by hand.
 * not here  Whole profiles: tests/process/profile_test.py.
 */
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "record/profile_proto.h"
#include "record/profile_samples.h"

void hak_inside_table_damage(void);
void hak_inside_table_vanish(void);
}

namespace {

using Sample = struct hak_sample;
using Backtrace = struct hak_backtrace;

void add(uint64_t address, uint64_t bytes, std::vector<uint64_t> frames, double weight = 1, uint64_t in_use = 0) {
  Sample sample = {address, bytes, bytes - 1, weight, nullptr, 0, 0, nullptr};
  hak_samples_add(&sample, frames.data(), static_cast<unsigned>(frames.size()), in_use);
}

bool withdraw(uint64_t address, Sample *out, bool brief = false) {
  return hak_samples_withdraw(reinterpret_cast<void *>(address), brief, out);
}

struct Sums {
  double taken = 0, live = 0, blocks = 0;
};

void note(const Backtrace *stack, void *to) {
  Sums &sums = (*static_cast<std::map<std::vector<uint64_t>, Sums> *>(to))[{stack->frame, stack->frame + stack->depth}];
  EXPECT_EQ(sums.taken, 0) << "the stack is there twice";
  sums = {stack->taken.bytes, stack->live.bytes, stack->live.blocks};
}

std::map<std::vector<uint64_t>, Sums> all() {
  std::map<std::vector<uint64_t>, Sums> found;
  hak_samples_lock();
  hak_samples_visit(note, &found);
  hak_samples_unlock();
  return found;
}

TEST(Table, EqualStacksAreOne) {
  add(0x1000, 10, {1, 2, 3});
  add(0x2000, 20, {1, 2, 3}, 4);
  add(0x3000, 30, {1, 2});
  Sample out;
  EXPECT_TRUE(withdraw(0x1000, &out));
  EXPECT_EQ(out.bytes, 10u);
  auto found = all();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ((found[{1, 2, 3}].taken), 90);
  EXPECT_EQ((found[{1, 2, 3}].live), 80);
  EXPECT_EQ((found[{1, 2, 3}].blocks), 4);
  EXPECT_EQ((found[{1, 2}].live), 30);
}

TEST(Table, WhatStaysIsNotCountedAgain) {
  add(0x1000, 10, {1});
  Sample out;
  ASSERT_TRUE(withdraw(0x1000, &out));
  out.address = 0x5000;
  hak_samples_restore(&out);
  EXPECT_FALSE(withdraw(0x1000, &out));
  auto found = all();
  EXPECT_EQ((found[{1}].taken), 10);
  EXPECT_EQ((found[{1}].live), 10);
}

/* Addresses close together and far apart, in and out at random. */
TEST(Table, ChurnIsFollowed) {
  std::mt19937_64 random(7);
  std::map<uint64_t, uint64_t> live;
  for (int step = 0; step < 200000; step++) {
    uint64_t address = 16 + random() % 4096 * (step % 2 ? 16 : 65536);
    auto known = live.find(address);
    Sample out;
    if (known == live.end()) {
      live[address] = 1 + random() % 100000;
      add(address, live[address], {random() % 50 + 1, 9});
    } else {
      ASSERT_TRUE(withdraw(address, &out));
      ASSERT_EQ(out.bytes, known->second);
      live.erase(known);
    }
  }
  double sum = 0, expected = 0;
  for (auto &entry : all()) sum += entry.second.live;
  for (auto &entry : live) expected += static_cast<double>(entry.second);
  EXPECT_EQ(sum, expected);
  for (auto &entry : live) {
    Sample out;
    EXPECT_TRUE(withdraw(entry.first, &out));
  }
}

struct Peak {
  double blocks, bytes;
  uint64_t samples;
};

void note_at_peak(const Backtrace *stack, void *to) {
  EXPECT_EQ(stack->peak.number, g_samples.peak.number);
  (*static_cast<std::map<uint64_t, Peak> *>(to))[stack->frame[0]] = {stack->peak.blocks, stack->peak.bytes,
                                                                     stack->peak.evidence.samples};
}

std::map<uint64_t, Peak> peaks() {
  std::map<uint64_t, Peak> found;
  hak_samples_lock();
  hak_samples_visit(note_at_peak, &found);
  hak_samples_unlock();
  return found;
}

/* More is in use at the end than at any sample. */
TEST(Table, TheEndMayBeThePeak) {
  add(0x1000, 10, {1}, 1, 100);
  hak_samples_lock();
  hak_samples_end_peak(90);
  EXPECT_EQ(g_samples.peak.in_use, 100u);
  hak_samples_end_peak(300);
  hak_samples_unlock();
  EXPECT_EQ(g_samples.peak.in_use, 300u);
  EXPECT_EQ(peaks()[1].bytes, 10);
}

/* What the counters say, not what the samples sum up to, is the peak. */
TEST(Table, ThePeakStaysAsItWas) {
  Sample out;
  add(0x1000, 10, {1}, 3, 100);
  add(0x2000, 20, {2}, 1, 200); /* the peak */
  add(0x3000, 1000, {1}, 1, 150);
  ASSERT_TRUE(withdraw(0x1000, &out));
  ASSERT_TRUE(withdraw(0x2000, &out));
  add(0x4000, 40, {4}, 1, 200);
  auto found = peaks();
  EXPECT_EQ(g_samples.peak.in_use, 200u);
  EXPECT_EQ(found[1].blocks, 3);
  EXPECT_EQ(found[1].bytes, 30);
  EXPECT_EQ(found[1].samples, 1u);
  EXPECT_EQ(found[2].bytes, 20);
  EXPECT_EQ(found[4].bytes, 0);
  add(0x5000, 50, {5}, 1, 201);
  found = peaks();
  EXPECT_EQ(found[1].bytes, 1000);
  EXPECT_EQ(found[2].bytes, 0);
  EXPECT_EQ(found[4].bytes, 40);
  EXPECT_EQ(found[5].bytes, 50);
}

TEST(Table, AMovedBlockIsAtThePeakOnce) {
  Sample out;
  add(0x1000, 10, {1}, 1, 5);
  ASSERT_TRUE(withdraw(0x1000, &out));
  out.address = 0x5000;
  hak_samples_restore(&out);
  add(0x2000, 20, {2}, 1, 6);
  ASSERT_TRUE(withdraw(0x5000, &out));
  EXPECT_EQ(peaks()[1].bytes, 10);
}

TEST(Table, AForkThatCutItIsRepaired) {
  for (uint64_t n = 1; n <= 300; n++) add(n * 64, n, {n % 7 + 1});
  hak_inside_table_damage();
  hak_inside_table_vanish();
  Sample out;
  for (uint64_t n = 1; n <= 300; n++) {
    EXPECT_TRUE(withdraw(n * 64, &out)) << n;
    EXPECT_EQ(out.bytes, n);
  }
  for (auto &entry : all()) EXPECT_EQ(entry.second.live, 0);
}

std::string text_of(const struct hak_proto &message) { return {message.bytes, message.bytes + message.used}; }

TEST(Proto, NumbersAndBytesAreAsWrittenDown) {
  struct hak_proto message, inner;
  hak_proto_start(&message);
  hak_proto_number(&message, 1, 150);
  EXPECT_EQ(text_of(message), "\x08\x96\x01");
  hak_proto_start(&message);
  hak_proto_bytes(&message, 2, "hi", 2);
  EXPECT_EQ(text_of(message), "\x12\x02hi");
  hak_proto_start(&inner);
  hak_proto_varint(&inner, UINT64_MAX);
  hak_proto_start(&message);
  hak_proto_message(&message, 20, &inner);
  EXPECT_EQ(text_of(message), "\xa2\x01\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(Proto, WhatDoesNotFitIsLeftOut) {
  struct hak_proto message;
  std::string text(HAK_PROTO_BYTES, 'x');
  hak_proto_start(&message);
  hak_proto_number(&message, 1, 1);
  hak_proto_bytes(&message, 2, text.data(), text.size());
  EXPECT_TRUE(message.full);
  EXPECT_EQ(text_of(message), "\x08\x01");
}

}  // namespace
