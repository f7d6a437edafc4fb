/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_test.cpp: every form of operator new and delete, with libhakmem.so preloaded.
 *
 * what      Success, alignment and the rules of failure: bad_alloc, the new-handler's loop, nothrow.
 * owner     Each test deletes its blocks and removes its new-handler.
 * failure   A block of another allocator, a wrong alignment or a missing exception fails the test.
 * not here  Programs without a C++ runtime: new_without_runtime.c.
 */
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

/* By linker names: clang declares the sized forms only on request. */
extern "C" {
void delete_sized(void *p, size_t n) __asm__("_ZdlPvm");
void delete_array_sized(void *p, size_t n) __asm__("_ZdaPvm");
void delete_sized_aligned(void *p, size_t n, std::align_val_t align) __asm__("_ZdlPvmSt11align_val_t");
void delete_array_sized_aligned(void *p, size_t n, std::align_val_t align) __asm__("_ZdaPvmSt11align_val_t");
}

namespace {

using Align = std::align_val_t;

constexpr size_t kMiB = size_t{1} << 20;
const volatile size_t kTooMuch = SIZE_MAX / 2 - 4096; /* below PTRDIFF_MAX: refused for lack of memory */
const volatile size_t kAbsurd = SIZE_MAX;

/* Each form of new and the deletes that may free its block. The compiler never omits explicit calls of operator new,
 * but may omit new-expressions. */
struct Form {
  const char *name;
  void *(*make)(size_t n);
  std::vector<void (*)(void *p, size_t n)> give_back;
};

const std::vector<Form> plain_forms = {
    {"new", [](size_t n) { return ::operator new(n); },
     {[](void *p, size_t) { ::operator delete(p); }, [](void *p, size_t n) { delete_sized(p, n); },
      [](void *p, size_t) { ::operator delete(p, std::nothrow); }}},
    {"new[]", [](size_t n) { return ::operator new[](n); },
     {[](void *p, size_t) { ::operator delete[](p); }, [](void *p, size_t n) { delete_array_sized(p, n); },
      [](void *p, size_t) { ::operator delete[](p, std::nothrow); }}},
    {"new(nothrow)", [](size_t n) { return ::operator new(n, std::nothrow); },
     {[](void *p, size_t) { ::operator delete(p); }, [](void *p, size_t n) { delete_sized(p, n); }}},
    {"new[](nothrow)", [](size_t n) { return ::operator new[](n, std::nothrow); },
     {[](void *p, size_t) { ::operator delete[](p); }, [](void *p, size_t n) { delete_array_sized(p, n); }}},
};

template <size_t align>
std::vector<Form> aligned_forms() {
  constexpr Align a{align};
  return {
      {"new(align)", [](size_t n) { return ::operator new(n, a); },
       {[](void *p, size_t) { ::operator delete(p, a); }, [](void *p, size_t n) { delete_sized_aligned(p, n, a); },
        [](void *p, size_t) { ::operator delete(p, a, std::nothrow); }}},
      {"new[](align)", [](size_t n) { return ::operator new[](n, a); },
       {[](void *p, size_t) { ::operator delete[](p, a); },
        [](void *p, size_t n) { delete_array_sized_aligned(p, n, a); },
        [](void *p, size_t) { ::operator delete[](p, a, std::nothrow); }}},
      {"new(align, nothrow)", [](size_t n) { return ::operator new(n, a, std::nothrow); },
       {[](void *p, size_t) { ::operator delete(p, a); }, [](void *p, size_t n) { delete_sized_aligned(p, n, a); }}},
      {"new[](align, nothrow)", [](size_t n) { return ::operator new[](n, a, std::nothrow); },
       {[](void *p, size_t) { ::operator delete[](p, a); },
        [](void *p, size_t n) { delete_array_sized_aligned(p, n, a); }}},
  };
}

bool owned(const void *p) {
  static auto *owns = reinterpret_cast<bool (*)(const void *)>(dlsym(RTLD_DEFAULT, "hak_owns"));
  return owns != nullptr && owns(p);
}

void round_trip(const Form &form, size_t n, size_t align) {
  for (auto give_back : form.give_back) {
    void *p = form.make(n);
    ASSERT_NE(p, nullptr) << form.name << " " << n;
    EXPECT_TRUE(owned(p)) << form.name << " " << n;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % align, 0u) << form.name << " " << n;
    std::memset(p, 0x5a, n);
    give_back(p, n);
  }
}

const size_t sizes[] = {0, 1, 16, 17, 100, 1024, 1025, 5000, 32768, 32769, 300000, kMiB, 3 * kMiB};

TEST(New, PlainForms) {
  for (const Form &form : plain_forms) {
    for (size_t n : sizes) round_trip(form, n, 16);
  }
}

template <size_t align>
void aligned_round_trips() {
  for (const Form &form : aligned_forms<align>()) {
    for (size_t n : sizes) round_trip(form, n, align < 16 ? 16 : align);
  }
}

TEST(New, AlignedForms) {
  aligned_round_trips<1>();
  aligned_round_trips<8>();
  aligned_round_trips<16>();
  aligned_round_trips<32>();
  aligned_round_trips<64>();
  aligned_round_trips<4096>();
  aligned_round_trips<65536>();
  aligned_round_trips<2 * kMiB>();
}

TEST(New, NothingIsADifferentBlockEachTime) {
  void *p = ::operator new(0), *q = ::operator new(0);
  EXPECT_NE(p, nullptr);
  EXPECT_NE(p, q);
  ::operator delete(p);
  ::operator delete(q);
}

TEST(New, DeletesTakeNull) {
  for (const Form &form : plain_forms) {
    for (auto give_back : form.give_back) give_back(nullptr, 0);
  }
  for (const Form &form : aligned_forms<64>()) {
    for (auto give_back : form.give_back) give_back(nullptr, 0);
  }
}

struct alignas(256) Wide {
  char bytes[300];
};

TEST(New, ExpressionsAndContainers) {
  std::unique_ptr<Wide> wide(new Wide());
  std::unique_ptr<Wide[]> wides(new Wide[7]);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wide.get()) % 256, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(wides.get()) % 256, 0u);
  std::map<int, std::string> map;
  for (int i = 0; i < 10000; i++) map[i * 7919 % 10007] = std::string(static_cast<size_t>(i % 200), 'x');
  EXPECT_EQ(map.size(), 10000u);
  EXPECT_TRUE(owned(&*map.begin()));
}

/* ---- failure ---- */

template <class Ask>
bool throws_bad_alloc(Ask ask) {
  try {
    ask();
  } catch (const std::bad_alloc &) {
    return true;
  }
  return false;
}

TEST(NewFails, WithBadAlloc) {
  for (size_t n : {size_t{kTooMuch}, size_t{kAbsurd}, SIZE_MAX / 2 + 1}) {
    EXPECT_TRUE(throws_bad_alloc([n] { ::operator delete(::operator new(n)); })) << n;
    EXPECT_TRUE(throws_bad_alloc([n] { ::operator delete[](::operator new[](n)); })) << n;
    EXPECT_TRUE(throws_bad_alloc([n] { ::operator delete(::operator new(n, Align{64}), Align{64}); })) << n;
    EXPECT_TRUE(throws_bad_alloc([n] { ::operator delete[](::operator new[](n, Align{64}), Align{64}); })) << n;
  }
  std::vector<char> vector;
  EXPECT_THROW(vector.reserve(PTRDIFF_MAX), std::bad_alloc);
  EXPECT_EQ(vector.capacity(), 0u);
}

TEST(NewFails, WithNullWhereNothrowIsAsked) {
  for (size_t n : {size_t{kTooMuch}, size_t{kAbsurd}, SIZE_MAX / 2 + 1}) {
    EXPECT_EQ(::operator new(n, std::nothrow), nullptr);
    EXPECT_EQ(::operator new[](n, std::nothrow), nullptr);
    EXPECT_EQ(::operator new(n, Align{64}, std::nothrow), nullptr);
    EXPECT_EQ(::operator new[](n, Align{64}, std::nothrow), nullptr);
  }
}

TEST(NewFails, ForAlignmentsThatAreNoPowerOfTwo) {
  const volatile size_t three = 3, none = 0;
  EXPECT_TRUE(throws_bad_alloc([&] { ::operator delete(::operator new(8, Align{three}), Align{three}); }));
  EXPECT_TRUE(throws_bad_alloc([&] { ::operator delete(::operator new(8, Align{none}), Align{none}); }));
  EXPECT_EQ(::operator new(8, Align{three}, std::nothrow), nullptr);
}

TEST(NewFails, InThreadsToo) {
  std::vector<std::thread> threads;
  int thrown[4] = {};
  for (int &count : thrown) {
    threads.emplace_back([&count] {
      for (int i = 0; i < 1000; i++) count += throws_bad_alloc([] { ::operator delete(::operator new(kTooMuch)); });
    });
  }
  for (auto &thread : threads) thread.join();
  for (int count : thrown) EXPECT_EQ(count, 1000);
}

/* ---- the new-handler ---- */

struct HandlerGuard {
  explicit HandlerGuard(std::new_handler handler) { std::set_new_handler(handler); }
  ~HandlerGuard() { std::set_new_handler(nullptr); }
};

int calls;

struct Refused : std::bad_alloc {};

TEST(NewHandler, IsAskedUntilItGivesUp) {
  calls = 0;
  HandlerGuard guard([] {
    if (++calls == 5) std::set_new_handler(nullptr);
  });
  EXPECT_TRUE(throws_bad_alloc([] { ::operator delete(::operator new(kTooMuch)); }));
  EXPECT_EQ(calls, 5);
}

TEST(NewHandler, IsAskedByNothrowToo) {
  for (const Form &form : {plain_forms[2], plain_forms[3], aligned_forms<64>()[2], aligned_forms<64>()[3]}) {
    calls = 0;
    HandlerGuard guard([] {
      if (++calls == 3) std::set_new_handler(nullptr);
    });
    EXPECT_EQ(form.make(kTooMuch), nullptr) << form.name;
    EXPECT_EQ(calls, 3) << form.name;
  }
}

TEST(NewHandler, MayThrow) {
  HandlerGuard guard([] { throw Refused(); });
  EXPECT_THROW(::operator delete(::operator new(kTooMuch)), Refused);
  EXPECT_THROW(::operator delete(::operator new(kTooMuch, Align{64}), Align{64}), Refused);
}

TEST(NewHandler, MayThrowAndNothrowStillGivesNull) {
  for (std::new_handler handler : {std::new_handler([] { throw Refused(); }), std::new_handler([] { throw 42; })}) {
    HandlerGuard guard(handler);
    for (int i = 0; i < 100; i++) {
      EXPECT_EQ(::operator new(kTooMuch, std::nothrow), nullptr);
      EXPECT_EQ(::operator new[](kTooMuch, std::nothrow), nullptr);
      EXPECT_EQ(::operator new(kTooMuch, Align{64}, std::nothrow), nullptr);
      EXPECT_EQ(::operator new[](kTooMuch, Align{64}, std::nothrow), nullptr);
    }
  }
}

/* Limits this process to `more` bytes of address space beyond the present. */
class Limit {
 public:
  explicit Limit(size_t more) {
    getrlimit(RLIMIT_AS, &before_);
    struct rlimit now = before_;
    now.rlim_cur = mapped() + more;
    setrlimit(RLIMIT_AS, &now);
  }
  ~Limit() { setrlimit(RLIMIT_AS, &before_); }

 private:
  static size_t mapped() {
    size_t pages = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) std::abort();
    std::fclose(file);
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  }
  struct rlimit before_ {};
};

void *reserve;

template <class Ask, class... Alignment>
void retries_after_the_handler_freed(Ask ask, Alignment... alignment) {
  malloc_trim(0); /* no freed block of that size is kept */
  reserve = ::operator new(1024 * kMiB);
  calls = 0;
  HandlerGuard guard([] {
    calls++;
    ::operator delete(reserve);
    reserve = nullptr;
    std::set_new_handler(nullptr);
  });
  Limit limit(64 * kMiB);
  void *p = ask();
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(owned(p));
  ::operator delete(p, alignment...);
}

TEST(NewHandler, MayMakeRoom) {
  retries_after_the_handler_freed([] { return ::operator new(512 * kMiB); });
  retries_after_the_handler_freed([] { return ::operator new[](512 * kMiB); });
  retries_after_the_handler_freed([] { return ::operator new(512 * kMiB, std::nothrow); });
  retries_after_the_handler_freed([] { return ::operator new(512 * kMiB, Align{8192}); }, Align{8192});
  retries_after_the_handler_freed([] { return ::operator new[](512 * kMiB, Align{8192}, std::nothrow); }, Align{8192});
}

}  // namespace
