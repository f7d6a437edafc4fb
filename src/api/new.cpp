/* new.cpp: every form of operator new and delete.
 *
 * what      The forms that succeed are malloc and free. The ones that fail do what the standard says: ask the
 *           new-handler until it gives up, then throw std::bad_alloc, or return null where nothrow is asked for.
 *
 *               new -> front -> block                       (every call that succeeds)
 *                        \-> null -> handler? -> front ... -> block
 *                                      \-> none -> throw, out of the C++ runtime the program has
 *
 * owner     Nothing.
 * locks     None here.
 * orders    None here.
 * hot path  The front's inline malloc and free.
 * failure   std::bad_alloc. Every name of the C++ runtime is a weak reference, so that C programs load the library
 *           without libstdc++. A runtime that came later (dlopen of a C++ plugin) is looked up when it is needed. In
 *           a process that has none, one line on stderr and abort.
 * not here  A program that replaces operator new with blocks of its own must replace all the forms it uses: none
 *           of these forms calls another, so that each is as fast as malloc.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include <new>

/* gcc takes a function named like a struct, as C has them (stat, hak_stats), for an oversight. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include "base/bits.h"
#include "base/fmt.h"
#include "front/front.h"
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
/* What the compiler refers to for `try` and `catch` on its own account. */
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

/* A name of a libstdc++ that was loaded after this library; null when there is none. */
void *find_later(const char *name) {
  if (HAK_CXX_LINKED) return nullptr;
  void *library = dlopen("libstdc++.so.6", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return nullptr;
  void *found = dlsym(library, name);
  dlclose(library); /* the process still holds it, as it did before */
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
  abort();
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

/* The standard's loop. It ends when the handler made room, threw, was taken away, or ended the program. */
HAK_NOINLINE void *ask_handler(size_t align, size_t n, const void *site) {
  for (;;) {
    std::new_handler handler = current_handler();
    if (handler == nullptr) throw_bad_alloc(n);
    handler();
    void *p = align > malloc_align ? hak_front_memalign(align, n, site) : hak_front_alloc_at(n, site);
    if (p != nullptr) return p;
  }
}

/* `catch` needs the runtime's personality routine from the start. Where the runtime came later, its own nothrow form
 * does the catching; it calls operator new, which is the one below. */
void *catch_by_runtime(size_t align, size_t n) {
  using plain = void *(size_t, const std::nothrow_t &);
  using aligned = void *(size_t, std::align_val_t, const std::nothrow_t &);
  const std::nothrow_t nothrow{};
  if (align > malloc_align) {
    auto *form = reinterpret_cast<aligned *>(find_later("_ZnwmSt11align_val_tRKSt9nothrow_t"));
    return form != nullptr ? form(n, std::align_val_t{align}, nothrow) : nullptr;
  }
  auto *form = reinterpret_cast<plain *>(find_later("_ZnwmRKSt9nothrow_t"));
  return form != nullptr ? form(n, nothrow) : nullptr;
}

/* Was the runtime there at load? Asked of a name that the compiler does not know; the personality routine it takes
 * to be there whatever it is told. */
bool runtime_was_there(std::new_handler (*getter)()) { return getter != nullptr; }

HAK_NOINLINE void *ask_handler_nothrow(size_t align, size_t n, const void *site) noexcept {
  if (current_handler() == nullptr) return nullptr;
  if (!runtime_was_there(cxx_get_new_handler)) return catch_by_runtime(align, n);
  try {
    return ask_handler(align, n, site);
  } catch (...) {
    return nullptr;
  }
}

/* ---- the four ways to ask, inlined so that the front sees the program's own call site ---- */

HAK_NOINLINE void *make_slow(size_t n, const void *site) {
  void *p = hak_front_malloc_slow(n, site);
  return HAK_LIKELY(p != nullptr) ? p : ask_handler(0, n, site);
}

HAK_NOINLINE void *make_nothrow_slow(size_t n, const void *site) noexcept {
  void *p = hak_front_malloc_slow(n, site);
  return HAK_LIKELY(p != nullptr) ? p : ask_handler_nothrow(0, n, site);
}

HAK_INLINE void *make(size_t n) { return hak_front_malloc_or(n, make_slow); }
HAK_INLINE void *make_nothrow(size_t n) { return hak_front_malloc_or(n, make_nothrow_slow); }

HAK_INLINE void *front_aligned(size_t align, size_t n) {
  if (align <= malloc_align) return hak_front_malloc(n);
  return hak_front_memalign(align, n, __builtin_return_address(0));
}

HAK_INLINE void *make_aligned(std::align_val_t alignment, size_t n) {
  auto align = static_cast<size_t>(alignment);
  if (HAK_UNLIKELY(!hak_is_power_of_two(align))) throw_bad_alloc(n);
  void *p = front_aligned(align, n);
  return HAK_LIKELY(p != nullptr) ? p : ask_handler(align, n, __builtin_return_address(0));
}

HAK_INLINE void *make_aligned_nothrow(std::align_val_t alignment, size_t n) {
  auto align = static_cast<size_t>(alignment);
  if (HAK_UNLIKELY(!hak_is_power_of_two(align))) return nullptr;
  void *p = front_aligned(align, n);
  return HAK_LIKELY(p != nullptr) ? p : ask_handler_nothrow(align, n, __builtin_return_address(0));
}

using any_align = std::align_val_t;
using no_throw = const std::nothrow_t &;

}  // namespace

/* ---- new ---- */

HAK_EXPORT void *operator new(size_t n) { return make(n); }
HAK_EXPORT void *operator new[](size_t n) { return make(n); }
HAK_EXPORT void *operator new(size_t n, no_throw) noexcept { return make_nothrow(n); }
HAK_EXPORT void *operator new[](size_t n, no_throw) noexcept { return make_nothrow(n); }
HAK_EXPORT void *operator new(size_t n, any_align align) { return make_aligned(align, n); }
HAK_EXPORT void *operator new[](size_t n, any_align align) { return make_aligned(align, n); }
HAK_EXPORT void *operator new(size_t n, any_align align, no_throw) noexcept { return make_aligned_nothrow(align, n); }
HAK_EXPORT void *operator new[](size_t n, any_align align, no_throw) noexcept { return make_aligned_nothrow(align, n); }

/* ---- delete: size and alignment are the program's word; the class map is read all the same ---- */

HAK_EXPORT void operator delete(void *p) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete[](void *p) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete(void *p, size_t) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete[](void *p, size_t) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete(void *p, no_throw) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete[](void *p, no_throw) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete(void *p, any_align) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete[](void *p, any_align) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete(void *p, size_t, any_align) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete[](void *p, size_t, any_align) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete(void *p, any_align, no_throw) noexcept { hak_front_free(p); }
HAK_EXPORT void operator delete[](void *p, any_align, no_throw) noexcept { hak_front_free(p); }
