/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_forms.h: every form of operator new with the deletes that may take its block back, as a table.
 *
 * what      One row per form of new; `family` says which basic form everything in the row is made of.
 * owner     The caller owns what a form gave.
 * locks     none. orders: none. hot path: none.
 * failure   As the forms.
 * not here  Who replaces which: replaced_new.cpp.
 */
#ifndef HAK_TESTS_API_NEW_FORMS_H
#define HAK_TESTS_API_NEW_FORMS_H

#include <cstddef>
#include <vector>

enum class Family { plain, array, aligned, aligned_array };

constexpr std::size_t new_forms_align = 256;

struct NewForm {
  const char *name;
  Family family;
  bool nothrow;
  void *(*make)(std::size_t n);
  std::vector<void (*)(void *p, std::size_t n)> give_back;
};

const std::vector<NewForm> &new_forms();

#endif
