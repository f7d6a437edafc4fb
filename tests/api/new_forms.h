/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* new_forms.h: table of every form of operator new with the matching deletes.
 *
 * what      One row per form of new; `family` names the basic form of the row.
 * owner     The caller owns the blocks.
 * failure   As the forms.
 * not here  Programs that replace forms: replaced_new.cpp.
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
