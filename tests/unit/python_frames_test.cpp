/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* python_frames_test.cpp: lines of Python between return addresses, from interpreters made by hand.
 *
 * what      record/python_frames.c and profile_places.c. An interpreter is a few objects with the fields of a version at
 *           the offsets that the test knows by the headers of CPython. A hostile one is memory full of numbers.
 * owner     Each case runs in a separate process.
 * not here  Real interpreters: cli/tests/test_python_frames.py.
 */
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "os/allowed.h"
#include "record/profile_places.h"
#include "record/python_frames.h"
}

namespace {

using Words = std::vector<uint64_t>;
constexpr unsigned kMost = 128;

uint64_t code_type, text_type; /* their addresses are what counts */
uint64_t g_state[64];
uint64_t *g_state_now = g_state;

uint64_t *state_of_thread() { return g_state_now; }

uint64_t address_of(const void *p) { return reinterpret_cast<uint64_t>(p); }

/* Offsets as in the headers of each version. */
struct Version {
  uint64_t number;
  unsigned chain, code, outer, instruction, owner, first_line, instructions, ascii, wide;
};

const Version kVersions[] = {
    {0x030b02f0, 56, 32, 48, 56, 69, 72, 184, 48, 72},
    {0x030c01f0, 56, 0, 8, 56, 70, 68, 192, 40, 56},
    {0x030d05f0, 72, 0, 8, 56, 70, 68, 200, 40, 56},
    {0x030e00f0, 72, 0, 8, 56, 74, 68, 208, 40, 56},
};

struct Block {
  alignas(16) char bytes[1024] = {};
  template <class T>
  void put(unsigned at, T value) {
    memcpy(bytes + at, &value, sizeof value);
  }
};

/* An interpreter in the middle of calls. */
class Interpreter {
 public:
  explicit Interpreter(const Version &version) : v(version) {
    g_allowed = true;
    memset(g_state, 0, sizeof g_state);
    g_state_now = g_state;
    knows_loop(0, 0);
  }

  void knows_loop(uint64_t begin, uint64_t end) {
    const struct hak_python found = {address_of(reinterpret_cast<void *>(state_of_thread)), address_of(&code_type),
                                     address_of(&text_type), v.number, begin, end};
    hak_python_take(&found);
  }

  uint64_t text(const std::string &ascii) {
    Block &block = add();
    block.put(8, address_of(&text_type));
    block.put(16, static_cast<uint64_t>(ascii.size()));
    block.put(32, 1u << 2 | 1u << 5 | 1u << 6);
    memcpy(block.bytes + v.ascii, ascii.data(), ascii.size());
    return address_of(block.bytes);
  }

  uint64_t wide(const std::u16string &text) {
    Block &block = add();
    block.put(8, address_of(&text_type));
    block.put(16, static_cast<uint64_t>(text.size()));
    block.put(32, 2u << 2 | 1u << 5);
    memcpy(block.bytes + v.wide, text.data(), text.size() * 2);
    return address_of(block.bytes);
  }

  /* Lines 10, 11, 14 and 12, of two instructions each; then one without a line. */
  uint64_t code(uint64_t name, uint64_t file) {
    Block &table = add(), &block = add();
    const uint8_t lines[] = {0x80 | 0 << 3 | 1, 0x11,  0x80 | 11 << 3 | 1, 1, 2, 0x80 | 13 << 3 | 1, 6,
                             0x80 | 14 << 3 | 1, 5, 0, 1, 1, 0x80 | 15 << 3 | 1};
    table.put(16, static_cast<uint64_t>(sizeof lines));
    memcpy(table.bytes + 32, lines, sizeof lines);
    block.put(8, address_of(&code_type));
    block.put(v.first_line, 10u);
    block.put(112, file);
    block.put(128, name);
    block.put(136, address_of(table.bytes));
    return address_of(block.bytes);
  }

  uint64_t frame(uint64_t code, unsigned instruction, uint64_t outer) {
    Block &block = add();
    fill_frame(block.bytes, code, instruction, outer, 0);
    return address_of(block.bytes);
  }

  /* A call of the loop, whose record lies at `record`, of at least 128 bytes, runs the frames from `inner` to `entry`. */
  void call(char *record, uint64_t inner, uint64_t entry, uint64_t record_outside, uint64_t frame_outside) {
    if (v.number >> 16 == 0x030b) {
      memcpy(record + 8, &inner, 8);
      memcpy(record + 16, &record_outside, 8);
      reinterpret_cast<char *>(entry)[68] = 1;
    } else {
      fill_frame(record, 0, 0, frame_outside, 3);
    }
    const uint64_t outer = is_apart() ? frame_outside : address_of(record);
    memcpy(reinterpret_cast<char *>(entry) + v.outer, &outer, 8);
  }

  void runs(const char *record, uint64_t inner) {
    static Block chain;
    chain.put(0, inner);
    const uint64_t top = v.number >> 16 == 0x030b ? address_of(record) : v.number >> 16 == 0x030c ? address_of(chain.bytes)
                                                                                                 : inner;
    memcpy(reinterpret_cast<char *>(g_state) + v.chain, &top, 8);
  }

  bool is_apart() const { return v.number >> 16 == 0x030b; }
  const Version v;

 private:
  Block &add() {
    blocks.emplace_back();
    return blocks.back();
  }

  void fill_frame(char *bytes, uint64_t code, unsigned instruction, uint64_t outer, char owner) {
    const uint64_t at = code + v.instructions + 2 * instruction;
    memcpy(bytes + v.code, &code, 8);
    memcpy(bytes + v.outer, &outer, 8);
    memcpy(bytes + v.instruction, &at, 8);
    bytes[v.owner] = owner;
  }

  std::deque<Block> blocks;
};

std::string told(uint64_t frame) {
  if (!hak_frame_is_place(frame)) return std::to_string(frame);
  const struct hak_place *place = hak_place_at(frame);
  EXPECT_EQ(strlen(place->text), place->name_bytes);
  EXPECT_EQ(strlen(place->text + place->name_bytes + 1), place->file_bytes);
  return std::string(place->text) + "@" + (place->text + place->name_bytes + 1) + ":" + std::to_string(place->line);
}

/* The array lies on the stack, below that of C that the test made. */
__attribute__((noinline)) std::vector<std::string> mixed(const Words &native, unsigned most = kMost, uint64_t sp = 0) {
  uint64_t frames[kMost + 1];
  for (unsigned n = 0; n <= kMost; n++) frames[n] = n < native.size() ? native[n] : 77;
  const unsigned now = hak_python_mix(frames, static_cast<unsigned>(native.size()), most, sp);
  std::vector<std::string> all;
  for (unsigned n = 0; n < now; n++) all.push_back(told(frames[n]));
  EXPECT_EQ(frames[kMost], 77u);
  return all;
}

using Told = std::vector<std::string>;

/* A stack of C with two calls of the loop: site 1001, 1002; loop 2003; 1004; loop 2005; main 1006. */
struct CStack {
  uint64_t returns_to_site = 1001, returns_to_1002 = 1002, returns_to_inner = 2003, pad4[3] = {5, 6, 7};
  char inner[128] = {};
  uint64_t pad1[3] = {5, 6, 7}, returns_to_1004 = 1004, pad2 = 8, returns_to_loop = 2005;
  char outer[128] = {};
  uint64_t pad3 = 9, returns_to_main = 1006;
};

class EachVersion : public testing::TestWithParam<Version> {};
INSTANTIATE_TEST_SUITE_P(Python, EachVersion, testing::ValuesIn(kVersions));

const Words kNative = {1001, 1002, 2003, 1004, 2005, 1006};

/* inner calls of f at line 11 from g at line 14; below a C function called by h at line 12. */
void run_two_calls(Interpreter &python, CStack &stack) {
  const uint64_t file = python.text("/srv/app.py");
  const uint64_t h = python.frame(python.code(python.text("h"), file), 6, 0);
  const uint64_t g = python.frame(python.code(python.text("C.g"), file), 4, 0);
  const uint64_t f = python.frame(python.code(python.wide(u"f\u00e9\u20ac"), file), 3, g);
  python.call(stack.outer, h, h, 0, 0);
  python.call(stack.inner, f, g, address_of(stack.outer), h);
  python.runs(stack.inner, f);
}

const Told kMixed = {"1001", "1002", "f\u00e9\u20ac@/srv/app.py:11", "C.g@/srv/app.py:14", "1004", "h@/srv/app.py:12",
                     "1006"};

TEST_P(EachVersion, LinesStandWhereTheLoopWas) {
  Interpreter python(GetParam());
  CStack stack;
  run_two_calls(python, stack);
  EXPECT_EQ(mixed(kNative), kMixed);
  EXPECT_EQ(mixed(kNative), kMixed) << "the second time the places are there already";
}

/* The inner call of the loop never wrote two variables where older return addresses lie. */
TEST_P(EachVersion, AnOlderAddressOnTheStackIsPassed) {
  Interpreter python(GetParam());
  CStack stack;
  run_two_calls(python, stack);
  for (uint64_t older : {1001, 1002, 2003, 2005, 1006}) {
    stack.pad1[1] = stack.pad4[1] = older;
    EXPECT_EQ(mixed(kNative), kMixed) << older;
  }
  python.knows_loop(2000, 2004);
  EXPECT_EQ(mixed(kNative), kMixed) << "the outer call is in a part of the loop that lies elsewhere";
  stack.pad4[1] = 1004;
  EXPECT_NE(mixed(kNative), kMixed) << "it is where the inner one would end";
  python.knows_loop(2000, 2999);
  EXPECT_EQ(mixed(kNative), kMixed) << "in order";
}

/* Each frame's address has the size of the frame before in its upper bits. */
Words with_sizes(const CStack &stack) {
  const uint64_t *slots[] = {&stack.returns_to_site, &stack.returns_to_1002, &stack.returns_to_inner, &stack.returns_to_1004,
                             &stack.returns_to_loop, &stack.returns_to_main};
  Words native = kNative;
  for (unsigned n = 1; n < native.size(); n++) native[n] |= static_cast<uint64_t>(slots[n] - slots[n - 1]) << 48;
  return native;
}

TEST_P(EachVersion, NoAddressOnTheStackMisleadsWhereSizesAreKnown) {
  Interpreter python(GetParam());
  CStack stack;
  run_two_calls(python, stack);
  const uint64_t sp = address_of(&stack.returns_to_1002);
  Words native = with_sizes(stack);
  for (uint64_t end : {2004, 0}) {
    python.knows_loop(end != 0 ? 2000 : 0, end);
    for (uint64_t older : {1001, 1002, 2003, 1004, 2005, 1006}) {
      stack.pad1[1] = stack.pad4[1] = older;
      EXPECT_EQ(mixed(native, kMost, sp), kMixed) << older << ", loop to " << end;
    }
  }
  python.knows_loop(2000, 2999);
  EXPECT_EQ(mixed(native, kMost, sp), kMixed) << "in order";
  hak_python_take(nullptr);
  EXPECT_EQ(mixed(native, kMost, sp), (Told{"1001", "1002", "2003", "1004", "2005", "1006"})) << "no interpreter";
}

TEST_P(EachVersion, BehindAFrameOfUnknownSizeTheLinesComeLast) {
  Interpreter python(GetParam());
  CStack stack;
  run_two_calls(python, stack);
  Words native = with_sizes(stack);
  native[4] &= ~0ull >> 16;
  const Told told = mixed(native, kMost, address_of(&stack.returns_to_1002));
  EXPECT_EQ(told, (Told{"1001", "1002", kMixed[2], kMixed[3], "1004", "2005", "1006", kMixed[5]}));
}

/* Not written inside of a test: a compiler may put the numbers on the stack, where the walk would find them. */
const Words kSite = {1001}, kDownToTheLoop = {1001, 1002, 2003, 1004}, kFromTheLoop = {2003, 1004, 2005, 1006};

TEST_P(EachVersion, TheCallSiteStays) {
  if (HAK_ASAN) GTEST_SKIP() << "the array would not lie below the frames";
  Interpreter python(GetParam());
  CStack stack;
  run_two_calls(python, stack);
  EXPECT_EQ(mixed(kFromTheLoop),
            (Told{"2003", "f\u00e9\u20ac@/srv/app.py:11", "C.g@/srv/app.py:14", "1004", "h@/srv/app.py:12", "1006"}));
}

TEST_P(EachVersion, WithoutAStackTheLinesComeBehindTheCallSite) {
  if (HAK_ASAN) GTEST_SKIP() << "the array would not lie below the frames";
  Interpreter python(GetParam());
  CStack stack;
  run_two_calls(python, stack);
  const Told lines = {"f\u00e9\u20ac@/srv/app.py:11", "C.g@/srv/app.py:14", "h@/srv/app.py:12"};
  EXPECT_EQ(mixed(kSite), (Told{"1001", lines[0], lines[1], lines[2]}));
  EXPECT_EQ(mixed(kDownToTheLoop), (Told{"1001", "1002", lines[0], lines[1], "1004", lines[2]}));
}

TEST_P(EachVersion, AFullStackLosesTheOutermostLines) {
  Interpreter python(GetParam());
  CStack stack;
  run_two_calls(python, stack);
  EXPECT_EQ(mixed({1001}, 2), (Told{"1001", "f\u00e9\u20ac@/srv/app.py:11"}));
  EXPECT_EQ(mixed(kNative, 6), (Told{"1001", "1002", "2003", "1004", "2005", "1006"}));
}

TEST_P(EachVersion, LinesOfEachInstruction) {
  Interpreter python(GetParam());
  CStack stack;
  const uint64_t code = python.code(python.text("f"), python.text("x.py"));
  const uint64_t lines[] = {10, 10, 11, 11, 14, 14, 12, 12, 0, 0, 0, 0};
  for (unsigned n = 0; n < sizeof lines / sizeof *lines; n++) {
    const uint64_t f = python.frame(code, n, 0);
    python.call(stack.inner, f, f, 0, 0);
    python.runs(stack.inner, f);
    EXPECT_EQ(mixed({1001})[1], "f@x.py:" + std::to_string(lines[n])) << n;
  }
}

/* Code that was freed, and other code where it lay: what is remembered of a place is found by its bytes. */
TEST_P(EachVersion, OtherBytesAtTheSameAddressesAreAnotherPlace) {
  Interpreter python(GetParam());
  CStack stack;
  const uint64_t name = python.text("f"), code = python.code(name, python.text("x.py"));
  const uint64_t f = python.frame(code, 2, 0);
  python.call(stack.inner, f, f, 0, 0);
  python.runs(stack.inner, f);
  EXPECT_EQ(mixed({1001})[1], "f@x.py:11");
  EXPECT_EQ(mixed({1001})[1], "f@x.py:11");
  uint64_t table;
  memcpy(&table, reinterpret_cast<char *>(code) + 136, sizeof table);
  reinterpret_cast<uint8_t *>(table)[32 + 2] = 0x80 | 12 << 3 | 1; /* two lines on instead of one */
  EXPECT_EQ(mixed({1001})[1], "f@x.py:12");
  reinterpret_cast<char *>(name)[python.v.ascii] = 'g';
  EXPECT_EQ(mixed({1001})[1], "g@x.py:12");
  const uint32_t later = 20;
  memcpy(reinterpret_cast<char *>(code) + python.v.first_line, &later, sizeof later);
  EXPECT_EQ(mixed({1001})[1], "g@x.py:22");
}

TEST_P(EachVersion, TheSameBytesInAnotherWidthAreAnotherPlace) {
  Interpreter python(GetParam());
  CStack stack;
  for (const bool wide : {true, false}) {
    const uint64_t name = wide ? python.wide(u"\u6161") : python.text("aa"), code = python.code(name, python.text("x.py"));
    const uint64_t f = python.frame(code, 2, 0);
    python.call(stack.inner, f, f, 0, 0);
    python.runs(stack.inner, f);
    EXPECT_EQ(mixed({1001})[1], wide ? "\u6161@x.py:11" : "aa@x.py:11");
  }
}

TEST_P(EachVersion, LongTextsAreCut) {
  Interpreter python(GetParam());
  CStack stack;
  const uint64_t code = python.code(python.text(std::string(300, 'n')), python.text("begin" + std::string(300, 'f') + "end"));
  const uint64_t f = python.frame(code, 0, 0);
  python.call(stack.inner, f, f, 0, 0);
  python.runs(stack.inner, f);
  EXPECT_EQ(mixed({1001})[1], std::string(120, 'n') + "@" + std::string(237, 'f') + "end:10");
}

TEST_P(EachVersion, ObjectsOfOtherTypesAreNoCode) {
  Interpreter python(GetParam());
  CStack stack;
  const uint64_t code = python.code(python.text("f"), python.text("x.py"));
  const uint64_t f = python.frame(code, 0, 0);
  python.call(stack.inner, f, f, 0, 0);
  python.runs(stack.inner, f);
  reinterpret_cast<uint64_t *>(code)[1] = address_of(&text_type);
  EXPECT_EQ(mixed(kNative), (Told{"1001", "1002", "2003", "1004", "2005", "1006"}));
}

TEST_P(EachVersion, NothingOfAnotherVersionInASandboxOrOutsideOfPython) {
  Version other = GetParam();
  other.number += 0x10000 * 7;
  CStack stack;
  const Told as_it_was = {"1001", "1002", "2003", "1004", "2005", "1006"};
  {
    Interpreter unknown(other);
    EXPECT_EQ(mixed(kNative), as_it_was);
  }
  Interpreter python(GetParam());
  run_two_calls(python, stack);
  g_allowed = false;
  EXPECT_EQ(mixed(kNative), as_it_was);
  g_allowed = true;
  g_state_now = nullptr;
  EXPECT_EQ(mixed(kNative), as_it_was);
  g_state_now = g_state;
  hak_python_take(nullptr);
  EXPECT_EQ(mixed(kNative), as_it_was);
}

/* Memory in which each word is a pointer to it, to its end, to nothing, or a number. */
TEST_P(EachVersion, HostileMemoryIsNoFault) {
  const size_t kPage = getauxval(AT_PAGESZ), kWords = std::max<size_t>(4096, kPage / 8); /* whole pages */
  char *map = static_cast<char *>(mmap(nullptr, kWords * 8 + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(map + kWords * 8, kPage, PROT_NONE), 0);
  auto *words = reinterpret_cast<uint64_t *>(map);
  Interpreter python(GetParam());
  std::mt19937_64 chance(7);
  CStack stack;
  unsigned longer = 0;
  for (unsigned round = 0; round < 800; round++) {
    for (size_t n = 0; n < kWords; n++) {
      const uint64_t at = address_of(map) + chance() % (kWords * 8 + 64), kinds[] = {
          at, at & ~7ull, at & ~7ull, at & ~7ull, address_of(&stack) + chance() % 400, chance(), chance() % 65536,
          chance() % 256, address_of(&code_type), address_of(&code_type), address_of(&text_type), address_of(&text_type)};
      words[n] = kinds[chance() % (sizeof kinds / sizeof *kinds)];
    }
    g_state_now = words + chance() % 4000;
    for (uint64_t &word : g_state) word = words[chance() % kWords];
    longer += mixed(kNative).size() > 6;
  }
  EXPECT_GT(longer, 0u) << "some of it looked like code";
}

TEST(Places, AreBoundedInNumber) {
  std::string name = "n";
  uint64_t last = 1, kept = 0;
  for (uint32_t line = 0; line < 70000; line++) {
    last = hak_place_find({name.data(), 1, HAK_PLACE_ASCII}, {name.data(), 1, HAK_PLACE_ASCII}, line);
    kept += last != 0;
  }
  EXPECT_EQ(last, 0u);
  EXPECT_EQ(kept, 65536u);
}

} // namespace
