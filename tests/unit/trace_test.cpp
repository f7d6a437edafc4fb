/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The trace: events as bytes; and the file of a program with threads that traces itself. */
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "hakmem/hakmem.h"
extern "C" {
#include "record/trace_chunks.h"
#include "record/trace_encode.h"
#include "tables/settings.h"
}

extern "C" const char hak_options[] = "trace_file=/tmp/unit_trace_calls";

namespace {

class Encoded {
 public:
  Encoded() { hak_encode_start(&encoder_, 1000); }

  std::vector<unsigned> next(const hak_trace_event &event) {
    uint8_t text[HAK_TRACE_EVENT_MOST];
    return std::vector<unsigned>(text, text + hak_encode(&encoder_, &event, text));
  }

 private:
  hak_trace_encoder encoder_;
};

hak_trace_event event_at(hak_trace_op op, uint64_t ns, uint64_t site, uint32_t depth) {
  hak_trace_event event{};
  event.op = op;
  event.ns = ns;
  event.site = site;
  event.depth = depth;
  return event;
}

unsigned slot(uint64_t site, uint64_t depth) { return ((site * 0x9E3779B97F4A7C15u + depth) >> 32) % 31; }

using bytes = std::vector<unsigned>;

TEST(Encode, EachOperationHasItsFields) {
  Encoded encoded;
  hak_trace_event event = event_at(HAK_TRACE_ALLOC, 1005, 0x1000, 2);
  event.came = 0x100;
  event.size = 24;
  EXPECT_EQ(encoded.next(event), (bytes{1 | 31 << 3, 0x80, 0x40, 2, 5, 32, 24}));
  event = event_at(HAK_TRACE_FREE, 1005, 0x1000, 2);
  event.went = 0x100;
  EXPECT_EQ(encoded.next(event), (bytes{4 | slot(0x1000, 2) << 3, 0, 32}));
  event = event_at(HAK_TRACE_RESIZE, 1305, 0xff0, 0);
  event.went = 0x80;
  event.size = 200;
  event.took = 7;
  EXPECT_EQ(encoded.next(event), (bytes{5 | 31 << 3, 31, 0, 0xac, 2, 15, 31, 0xc8, 1, 7}));
  event = event_at(HAK_TRACE_ALIGNED, 1306, 0x1000, 2);
  event.came = 0x110; /* behind the block before the failed block */
  event.size = 1;
  event.align = 4096;
  EXPECT_EQ(encoded.next(event), (bytes{3 | slot(0x1000, 2) << 3, 1, 2, 1, 12}));
}

TEST(Encode, TheSameAddressAtAnotherDepthIsAnotherSite) {
  Encoded encoded;
  hak_trace_event event = event_at(HAK_TRACE_FREE, 1000, 0x1000, 2);
  EXPECT_EQ(encoded.next(event).front() >> 3, 31U);
  EXPECT_NE(encoded.next(event).front() >> 3, 31U);
  event.depth = 3;
  EXPECT_EQ(encoded.next(event).front() >> 3, 31U);
}

TEST(Encode, NoEventIsLongerThanTheRoomKeptForIt) {
  Encoded encoded;
  const uint64_t far = UINT64_C(1) << 63;
  for (hak_trace_op op : {HAK_TRACE_ALLOC, HAK_TRACE_ZEROED, HAK_TRACE_ALIGNED, HAK_TRACE_FREE, HAK_TRACE_RESIZE}) {
    hak_trace_event event = event_at(op, UINT64_MAX, far + op * 64, UINT32_MAX);
    event.went = event.came = far + op;
    event.size = event.took = UINT64_MAX;
    event.align = far;
    EXPECT_LE(encoded.next(event).size(), static_cast<size_t>(HAK_TRACE_EVENT_MOST));
  }
}

/* ---- the file ---- */

struct Found {
  std::map<uint32_t, uint64_t> events; /* of each thread */
  uint64_t lost = 0, modules = 0, processes = 0;
};

/* Walks the events of one chunk. */
void walk(const std::string &text, size_t at, Found *found) {
  const size_t end = at + HAK_CHUNK_BYTES;
  hak_trace_head head;
  while (at + sizeof head <= end) {
    memcpy(&head, &text[at], sizeof head);
    if (memcmp(&head.magic, "HAKT", 4) != 0) return;
    EXPECT_EQ(head.pid, static_cast<uint32_t>(getpid()));
    found->lost += head.lost;
    found->processes += head.kind == HAK_TRACE_PROCESS;
    found->modules += head.kind == HAK_TRACE_MODULES;
    if (head.kind == HAK_TRACE_EVENTS) found->events[head.thread] += head.sizes >> 32;
    at += sizeof head + ((head.sizes & UINT32_MAX) + 7) / 8 * 8;
  }
  EXPECT_LE(at, end);
}

std::string file_name() { return "/tmp/unit_trace_calls." + std::to_string(getpid()) + ".0"; }

Found read_file() {
  Found found;
  std::ifstream file(file_name(), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text.size() % HAK_CHUNK_BYTES, 0U);
  for (size_t at = 0; at < text.size(); at += HAK_CHUNK_BYTES) walk(text, at, &found);
  return found;
}

void make_calls(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) {
    void *p = hak_malloc(i % 300);
    p = hak_realloc(p, i % 3000 + 1);
    hak_free(hak_calloc(1, 50));
    hak_free(hak_memalign(64, 50));
    hak_free(p);
  }
}
constexpr uint64_t calls_a_round = 7;

TEST(Recorder, EveryCallOfEveryThreadIsInTheFile) {
  constexpr unsigned rounds = 5000, threads = 4;
  std::vector<std::thread> made;
  for (unsigned i = 0; i < threads; i++) made.emplace_back(make_calls, rounds);
  for (std::thread &thread : made) thread.join();
  const Found found = read_file();
  unlink(file_name().c_str());
  EXPECT_EQ(found.lost, 0U);
  EXPECT_EQ(found.processes, 1U);
  EXPECT_GE(found.modules, 1U);
  EXPECT_EQ(found.events.size(), threads);
  for (const auto &[thread, events] : found.events) EXPECT_EQ(events, rounds * calls_a_round) << thread;
}

TEST(Recorder, OneThreadAfterTheOtherInAFewChunks) {
  for (unsigned i = 0; i < 300; i++) std::thread(make_calls, 10).join();
  const Found found = read_file();
  std::ifstream file(file_name(), std::ios::ate);
  EXPECT_LE(file.tellg(), 6 * HAK_CHUNK_BYTES);
  unlink(file_name().c_str());
  EXPECT_EQ(found.events.size(), 300U);
  EXPECT_EQ(hak_set("trace_file", "elsewhere"), EPERM);
}

TEST(Recorder, ManyThreadsAtOnceLeaveTheirChunksToTheNext) {
  constexpr unsigned rounds = 5, threads = 100;
  for (unsigned round = 0; round < rounds; round++) {
    pthread_barrier_t all;
    pthread_barrier_init(&all, nullptr, threads);
    std::vector<std::thread> made;
    for (unsigned i = 0; i < threads; i++) made.emplace_back([&all] { make_calls(1), pthread_barrier_wait(&all); });
    for (std::thread &thread : made) thread.join();
    pthread_barrier_destroy(&all);
  }
  const Found found = read_file();
  std::ifstream file(file_name(), std::ios::ate);
  EXPECT_LE(file.tellg(), (threads + 6) * HAK_CHUNK_BYTES);
  unlink(file_name().c_str());
  EXPECT_EQ(found.events.size(), rounds * threads);
}

}  // namespace
