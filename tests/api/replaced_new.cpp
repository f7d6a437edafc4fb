/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* replaced_new.cpp: a program that replaces one pair of operator new and delete, and uses all forms.
 *
 *     replaced_new_plain, _array, _aligned, _aligned_array
 *
 * what      REPLACES names the pair. The pair's blocks have a header, so that a block freed by the wrong allocator is
 *           detected: the library's delete reports a wrong pointer, the program's delete misses the mark. The pair must
 *           serve every form that the standard defines in terms of the pair, also when the pair throws, and no further
 *           form.
 * owner     Checks delete all blocks.
 * failure   A line per failed check, and exit status 1.
 * not here  Programs that replace nothing: new_test.cpp.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "new_forms.h"

namespace {

constexpr std::uint64_t mark = 0x6f776e20626c6f63;
constexpr std::size_t header = new_forms_align; /* keeps every alignment in use here */
const volatile std::size_t refused = 12345, thrown_at = 23456;

int failures, made, deleted;

void check(bool ok, const char *form, const char *what) {
  if (ok) return;
  std::printf("failed: %s: %s\n", form, what);
  failures++;
}

struct Refusal {};

/* Returns a block with the mark in its header; for two sizes, throws an exception of the program. */
void *own_make(std::size_t n) {
  if (n == refused) throw std::bad_alloc();
  if (n == thrown_at) throw Refusal();
  auto *p = static_cast<char *>(std::aligned_alloc(new_forms_align, header + (n + header - 1) / header * header));
  if (p == nullptr) throw std::bad_alloc();
  std::memcpy(p, &mark, sizeof mark);
  made++;
  return p + header;
}

void own_delete(void *p) {
  if (p == nullptr) return;
  std::uint64_t found;
  std::memcpy(&found, static_cast<char *>(p) - header, sizeof found);
  if (found != mark) {
    std::puts("failed: a delete of the program's got a block that is not its own");
    std::abort();
  }
  deleted++;
  std::free(static_cast<char *>(p) - header);
}

/* Families that the replaced pair serves: arrays are made of single objects. */
bool is_served(Family family, Family pair) {
  if (family == pair) return true;
  return (pair == Family::plain && family == Family::array) ||
         (pair == Family::aligned && family == Family::aligned_array);
}

}  // namespace

#define PAIR_plain()                                      \
  void *operator new(std::size_t n) { return own_make(n); } \
  void operator delete(void *p) noexcept { own_delete(p); }
#define PAIR_array()                                        \
  void *operator new[](std::size_t n) { return own_make(n); } \
  void operator delete[](void *p) noexcept { own_delete(p); }
#define PAIR_aligned()                                                      \
  void *operator new(std::size_t n, std::align_val_t) { return own_make(n); } \
  void operator delete(void *p, std::align_val_t) noexcept { own_delete(p); }
#define PAIR_aligned_array()                                                  \
  void *operator new[](std::size_t n, std::align_val_t) { return own_make(n); } \
  void operator delete[](void *p, std::align_val_t) noexcept { own_delete(p); }
#define PAIR_OF(name) PAIR_##name()
#define PAIR(name) PAIR_OF(name)
PAIR(REPLACES)

namespace {

constexpr Family pair_family = Family::REPLACES;

void check_round_trip(const NewForm &form, void (*give_back)(void *, std::size_t), std::size_t n) {
  const bool served = is_served(form.family, pair_family);
  const int made_before = made, deleted_before = deleted;
  void *p = form.make(n);
  check(p != nullptr, form.name, "gave nothing");
  check(made - made_before == served, form.name, served ? "the program's new was not called" : "the program's new was called");
  std::memset(p, 0x5a, n);
  give_back(p, n);
  check(deleted - deleted_before == served, form.name,
        served ? "the program's delete was not called" : "the program's delete was called");
}

void check_round_trips(const NewForm &form) {
  for (auto give_back : form.give_back) {
    for (std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{3} << 20})
      check_round_trip(form, give_back, n);
    give_back(nullptr, 0);
  }
}

enum class Outcome { block, null, bad_alloc, refusal };

Outcome outcome_of(const NewForm &form, std::size_t n) {
  try {
    void *p = form.make(n);
    if (p == nullptr) return Outcome::null;
    form.give_back[0](p, n);
    return Outcome::block;
  } catch (const std::bad_alloc &) {
    return Outcome::bad_alloc;
  } catch (const Refusal &) {
    return Outcome::refusal;
  }
}

/* A form that is not made of the replaced pair never fails here. */
void check_exceptions(const NewForm &form) {
  const bool served = is_served(form.family, pair_family);
  const Outcome bad_alloc = form.nothrow ? Outcome::null : Outcome::bad_alloc;
  const Outcome refusal = form.nothrow ? Outcome::null : Outcome::refusal;
  check(outcome_of(form, refused) == (served ? bad_alloc : Outcome::block), form.name, "bad_alloc");
  check(outcome_of(form, thrown_at) == (served ? refusal : Outcome::block), form.name, "an exception of another type");
}

}  // namespace

int main() {
  for (const NewForm &form : new_forms()) {
    check_round_trips(form);
    check_exceptions(form);
  }
  if (failures == 0) std::puts("done");
  return failures != 0;
}
