/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new.cpp: every form of operator new and delete.
 *
 * what      The basic forms, new and delete of one object, plain and aligned, are malloc and free. Every other form
 *           calls the form by which the standard defines it, through the symbol table: a program that replaces a form
 *           has replaced all forms made of it. A basic form that fails calls the new-handler until the allocation
 *           succeeds or no handler is set; without a handler the form throws std::bad_alloc, and a nothrow form returns
 *           null.
 *
 *              new[](nothrow) -> new[] --> new -> fast path -> block              (every call that succeeds)
 *              new(nothrow) ---------------^        \-> null -> handler? -> slow path ... -> block
 *                                                                 \-> none -> throw, out of the program's runtime
 *              delete[](size) -> delete[] --> delete -> fast path
 *              delete(size) --------------------^
 *
 * hot path  The inline malloc and free of entry/fast_path.h; an extra jump in a form that calls a basic form. A nothrow
 *           form must catch and cannot jump: if the component forms are still the library's, whose failure needs no
 *           exception, the nothrow form is malloc itself.
 * failure   std::bad_alloc. Every name of the C++ runtime is a weak reference, so that C programs load the library
 *           without libstdc++. A runtime that was loaded later (dlopen of a C++ plugin) is looked up at the failure. In
 *           a process without a runtime: one line on stderr and abort.
 * not here  A program's own forms. All forms are weak: the compiler then assumes of no form that calls reach this
 *           definition, and the linker lets a program that holds the archive define some of the forms.
 */
#include <dlfcn.h>

#include <new>

/* gcc warns of a function named like a struct, as in C (stat, hak_stats). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include "base/bits.h"
#include "base/fmt.h"
#include "entry/front.h"
#include "os/catch.h"
#include "os/lookup.h"
#include "os/os.h"
}
#pragma GCC diagnostic pop
#include "api/exports.h"

/* 1: the runtime is linked with the library (a fully static program), so its names are ordinary references. */
#ifndef HAK_CXX_LINKED
#define HAK_CXX_LINKED 0
#endif

#if HAK_CXX_LINKED
#define CXX_NAME(name) __asm__(name)
#else
#define CXX_NAME(name) __asm__(name) __attribute__((weak))
/* Referenced by the code that the compiler makes for `try` and `catch`. */
__asm__(".weak __gxx_personality_v0\n"
        ".weak __cxa_begin_catch\n"
        ".weak __cxa_end_catch\n"
        ".weak _Unwind_Resume\n"
        ".weak _ZSt9terminatev\n");
#endif

extern "C" {
std::new_handler cxx_get_new_handler() noexcept CXX_NAME("_ZSt15get_new_handlerv");
void cxx_throw_bad_alloc() CXX_NAME("_ZSt17__throw_bad_allocv");
}

namespace {

/* ---- the C++ runtime, on the failing path only ---- */

/* Finds a name of a libstdc++ that was loaded after this library; null if no libstdc++ is loaded. */
void *find_later(const char *name) {
  if (HAK_CXX_LINKED) return nullptr;
  void *library = dlopen("libstdc++.so.6", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  void *found = hak_lookup()(library, name);
  dlclose(library); /* the library stays loaded: the process held a reference before */
  return found;
}

template <class Function>
Function *find(Function *linked, const char *name) {
  return linked != nullptr ? linked : reinterpret_cast<Function *>(find_later(name));
}

[[noreturn]] void die_without_runtime(size_t n) {
  struct hak_line line;
  hak_line_start(&line);
  hak_line_text(&line, "hakmem: operator new: no memory for ");
  hak_line_dec(&line, n);
  hak_line_text(&line, " bytes, and no C++ runtime to throw std::bad_alloc\n");
  hak_os_write_err(line.text, line.used);
  hak_os_abort(false);
}

[[noreturn]] HAK_NOINLINE void throw_bad_alloc(size_t n) {
  auto *thrower = find(cxx_throw_bad_alloc, "_ZSt17__throw_bad_allocv");
  if (thrower != nullptr) thrower();
  die_without_runtime(n);
}

std::new_handler current_handler() {
  auto *getter = find(cxx_get_new_handler, "_ZSt15get_new_handlerv");
  return getter != nullptr ? getter() : nullptr;
}

/* ---- after a failure ---- */

constexpr size_t malloc_align = 16;

/* The standard's loop. Ends when an allocation succeeds, the handler throws or ends the process, or no handler is
 * set. */
HAK_NOINLINE void *ask_handler(size_t align, size_t n, const void *site) {
  for (;;) {
    std::new_handler handler = current_handler();
    if (handler == nullptr) throw_bad_alloc(n);
    handler();
    bool zero = HAK_SECURE && n > HAK_SLAB_MAX && align <= malloc_align;
    void *p = align > malloc_align ? hak_slow_memalign(align, n, site)
              : zero               ? hak_slow_calloc(1, n, site)
                                   : hak_slow_alloc_at(n, site);
    if (p != nullptr) return p;
  }
}

/* True if the runtime was there at load. The test takes a name that the compiler does not know: gcc assumes that the
 * personality routine, which catching needs, is always there, weak or not. */
bool runtime_was_there(std::new_handler (*getter)()) { return getter != nullptr; }

/* Returns the block of `form`, or null if the form throws. If the runtime was loaded later, the runtime's nothrow form,
 * named `late`, catches; that form calls the program's present form. */
template <class... Align>
HAK_NOINLINE void *caught(void *(*form)(size_t, Align...), const char *late, size_t n, Align... align) noexcept {
  using nothrow_form = void *(size_t, Align..., const std::nothrow_t &);
  const std::nothrow_t nothrow{};
  if (!runtime_was_there(cxx_get_new_handler)) {
    auto *runtimes = reinterpret_cast<nothrow_form *>(find_later(late));
    return runtimes != nullptr ? runtimes(n, align..., nothrow) : form(n, align...);
  }
  try {
    return form(n, align...);
  } catch (...) {
    return nullptr;
  }
}

/* ---- four calls of the fast path, inlined so that the call site is the program's ---- */

HAK_NOINLINE void *make_slow(size_t n, const void *site, HAK_FOUND) {
  HAK_KEEP_FRAME();
  void *p = hak_slow_malloc(n, site, top, c, x);
  return HAK_LIKELY(p != nullptr) ? p : ask_handler(0, n, site);
}

/* A long block of the secure flavour is asked for as zero, before the handler and behind it. */
HAK_INLINE void *make(size_t n) {
  if (HAK_SECURE && n > HAK_SECURE_ZEROED) {
    void *p = hak_secured_malloc(n, __builtin_return_address(0));
    if (HAK_LIKELY(p != nullptr)) return p;
    return hak_front_dress(ask_handler(0, hak_front_room(n), __builtin_return_address(0)), n, malloc_align);
  }
  return hak_front_dress(hak_fast_malloc_or(hak_front_room(n), make_slow), n, malloc_align);
}

HAK_INLINE void *front_aligned(size_t align, size_t n) {
  if (align <= malloc_align) return hak_front_malloc(n);
  return hak_front_memalign(align, n, __builtin_return_address(0));
}

HAK_INLINE void *make_aligned(std::align_val_t alignment, size_t n) {
  auto align = static_cast<size_t>(alignment);
  if (HAK_UNLIKELY(!hak_is_power_of_two(align))) throw_bad_alloc(n);
  void *p = front_aligned(align, n);
  if (HAK_LIKELY(p != nullptr)) return p;
  return hak_front_dress(ask_handler(align, hak_front_aligned_room(align, n), __builtin_return_address(0)), n, align);
}

using any_align = std::align_val_t;
using no_throw = const std::nothrow_t &;
using plain_new = void *(size_t);
using aligned_new = void *(size_t, any_align);

constexpr char plain_nothrow[] = "_ZnwmRKSt9nothrow_t", aligned_nothrow[] = "_ZnwmSt11align_val_tRKSt9nothrow_t";
constexpr char array_nothrow[] = "_ZnamRKSt9nothrow_t", aligned_array_nothrow[] = "_ZnamSt11align_val_tRKSt9nothrow_t";

}  // namespace

#define REPLACEABLE HAK_EXPORT __attribute__((weak))

/* ---- new: the exported names are second names, so that the library's forms can be told from a program's ---- */

extern "C" {
HAK_HIDDEN void *hak_new(size_t n) { return make(n); }
HAK_HIDDEN void *hak_new_aligned(size_t n, any_align align) { return make_aligned(align, n); }
HAK_HIDDEN void *hak_new_array(size_t n) { return ::operator new(n); }
HAK_HIDDEN void *hak_new_array_aligned(size_t n, any_align align) { return ::operator new(n, align); }
}

REPLACEABLE void *operator new(size_t n) __attribute__((alias("hak_new")));
REPLACEABLE void *operator new(size_t n, any_align align) __attribute__((alias("hak_new_aligned")));
REPLACEABLE void *operator new[](size_t n) __attribute__((alias("hak_new_array")));
REPLACEABLE void *operator new[](size_t n, any_align align) __attribute__((alias("hak_new_array_aligned")));

/* ---- nothrow new ---- */

namespace {

/* True if every form that new(nothrow), and new[](nothrow), is made of is the library's. */
HAK_INLINE bool plain_is_ours() { return static_cast<plain_new *>(::operator new) == hak_new; }
HAK_INLINE bool aligned_is_ours() { return static_cast<aligned_new *>(::operator new) == hak_new_aligned; }
HAK_INLINE bool array_is_ours() {
  return plain_is_ours() && static_cast<plain_new *>(::operator new[]) == hak_new_array;
}
HAK_INLINE bool aligned_array_is_ours() {
  return aligned_is_ours() && static_cast<aligned_new *>(::operator new[]) == hak_new_array_aligned;
}

/* A handler's block comes from hak_new, dressed. */
HAK_INLINE void *make_dressed_nothrow(size_t n) noexcept {
  void *p = hak_front_malloc(n);
  if (HAK_LIKELY(p != nullptr) || current_handler() == nullptr) return p;
  return caught<>(hak_new, plain_nothrow, n);
}

HAK_NOINLINE void *make_nothrow_slow(size_t n, const void *site, HAK_FOUND) noexcept {
  HAK_KEEP_FRAME();
  void *p = hak_slow_malloc(n, site, top, c, x);
  if (HAK_LIKELY(p != nullptr) || current_handler() == nullptr) return p;
  return caught<>(hak_new, plain_nothrow, n);
}

HAK_INLINE void *make_nothrow(size_t n) {
  if (HAK_SECURE) return make_dressed_nothrow(n);
  return hak_fast_malloc_or(n, make_nothrow_slow);
}

HAK_INLINE void *make_aligned_nothrow(any_align align, size_t n) {
  if (HAK_UNLIKELY(!hak_is_power_of_two(static_cast<size_t>(align)))) return nullptr;
  void *p = front_aligned(static_cast<size_t>(align), n);
  if (HAK_LIKELY(p != nullptr) || current_handler() == nullptr) return p;
  return caught<any_align>(hak_new_aligned, aligned_nothrow, n, align);
}

}  // namespace

REPLACEABLE void *operator new(size_t n, no_throw) noexcept {
  return HAK_LIKELY(plain_is_ours()) ? make_nothrow(n) : caught<>(::operator new, plain_nothrow, n);
}

REPLACEABLE void *operator new[](size_t n, no_throw) noexcept {
  return HAK_LIKELY(array_is_ours()) ? make_nothrow(n) : caught<>(::operator new[], array_nothrow, n);
}

REPLACEABLE void *operator new(size_t n, any_align align, no_throw) noexcept {
  if (HAK_LIKELY(aligned_is_ours())) return make_aligned_nothrow(align, n);
  return caught<any_align>(::operator new, aligned_nothrow, n, align);
}

REPLACEABLE void *operator new[](size_t n, any_align align, no_throw) noexcept {
  if (HAK_LIKELY(aligned_array_is_ours())) return make_aligned_nothrow(align, n);
  return caught<any_align>(::operator new[], aligned_array_nothrow, n, align);
}

/* ---- delete: the class map gives the block's size; the secure flavour compares size and alignment ---- */

namespace {

HAK_INLINE void drop(void *p, size_t align) {
  hak_front_expect(p, SIZE_MAX, align);
  hak_front_free(p);
}

HAK_INLINE size_t number(any_align align) { return static_cast<size_t>(align); }

}  // namespace

REPLACEABLE void operator delete(void *p) noexcept { drop(p, malloc_align); }
REPLACEABLE void operator delete(void *p, any_align align) noexcept { drop(p, number(align)); }

REPLACEABLE void operator delete[](void *p) noexcept { ::operator delete(p); }
REPLACEABLE void operator delete[](void *p, any_align align) noexcept { ::operator delete(p, align); }

REPLACEABLE void operator delete(void *p, size_t n) noexcept {
  hak_front_expect(p, n, malloc_align);
  ::operator delete(p);
}

REPLACEABLE void operator delete[](void *p, size_t n) noexcept {
  hak_front_expect(p, n, malloc_align);
  ::operator delete[](p);
}

REPLACEABLE void operator delete(void *p, size_t n, any_align align) noexcept {
  hak_front_expect(p, n, number(align));
  ::operator delete(p, align);
}

REPLACEABLE void operator delete[](void *p, size_t n, any_align align) noexcept {
  hak_front_expect(p, n, number(align));
  ::operator delete[](p, align);
}

REPLACEABLE void operator delete(void *p, no_throw) noexcept { ::operator delete(p); }
REPLACEABLE void operator delete[](void *p, no_throw) noexcept { ::operator delete[](p); }
REPLACEABLE void operator delete(void *p, any_align align, no_throw) noexcept { ::operator delete(p, align); }
REPLACEABLE void operator delete[](void *p, any_align align, no_throw) noexcept { ::operator delete[](p, align); }
