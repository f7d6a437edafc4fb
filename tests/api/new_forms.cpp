/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_forms.cpp: see new_forms.h. Compiled into a program, or as a shared library that a program's operators serve.
 *
 * what      Explicit calls of the operators, which the compiler may not omit.
 * failure   As the forms.
 * not here  Judging: replaced_new.cpp.
 */
#include "new_forms.h"

#include <new>

/* By linker names: clang declares the sized forms only on request. */
extern "C" {
void delete_sized(void *p, std::size_t n) __asm__("_ZdlPvm");
void delete_array_sized(void *p, std::size_t n) __asm__("_ZdaPvm");
void delete_sized_aligned(void *p, std::size_t n, std::align_val_t align) __asm__("_ZdlPvmSt11align_val_t");
void delete_array_sized_aligned(void *p, std::size_t n, std::align_val_t align) __asm__("_ZdaPvmSt11align_val_t");
}

namespace {

using Size = std::size_t;
using GiveBack = std::vector<void (*)(void *, Size)>;
constexpr std::align_val_t align{new_forms_align};

const GiveBack plain = {
    [](void *p, Size) { ::operator delete(p); },
    [](void *p, Size n) { delete_sized(p, n); },
    [](void *p, Size) { ::operator delete(p, std::nothrow); },
};
const GiveBack array = {
    [](void *p, Size) { ::operator delete[](p); },
    [](void *p, Size n) { delete_array_sized(p, n); },
    [](void *p, Size) { ::operator delete[](p, std::nothrow); },
};
const GiveBack aligned = {
    [](void *p, Size) { ::operator delete(p, align); },
    [](void *p, Size n) { delete_sized_aligned(p, n, align); },
    [](void *p, Size) { ::operator delete(p, align, std::nothrow); },
};
const GiveBack aligned_array = {
    [](void *p, Size) { ::operator delete[](p, align); },
    [](void *p, Size n) { delete_array_sized_aligned(p, n, align); },
    [](void *p, Size) { ::operator delete[](p, align, std::nothrow); },
};

const std::vector<NewForm> forms = {
    {"new", Family::plain, false, [](Size n) { return ::operator new(n); }, plain},
    {"new(nothrow)", Family::plain, true, [](Size n) { return ::operator new(n, std::nothrow); }, plain},
    {"new[]", Family::array, false, [](Size n) { return ::operator new[](n); }, array},
    {"new[](nothrow)", Family::array, true, [](Size n) { return ::operator new[](n, std::nothrow); }, array},
    {"new(align)", Family::aligned, false, [](Size n) { return ::operator new(n, align); }, aligned},
    {"new(align, nothrow)", Family::aligned, true, [](Size n) { return ::operator new(n, align, std::nothrow); },
     aligned},
    {"new[](align)", Family::aligned_array, false, [](Size n) { return ::operator new[](n, align); }, aligned_array},
    {"new[](align, nothrow)", Family::aligned_array, true,
     [](Size n) { return ::operator new[](n, align, std::nothrow); }, aligned_array},
};

}  // namespace

const std::vector<NewForm> &new_forms() { return forms; }
