/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* scripts.h: the fixed scripts, one per block layer and policy.
 *
 * what      Each script is a function that makes the same calls in the same order in every run; its kernel calls are
 *           numbered. The session frees the blocks that a script still holds at its end.
 * locks     none: one thread at a time.
 * failure   none: the session checks.
 * not here  Refusing kernel calls (scripts_test.cpp).
 */
#ifndef HAK_TESTS_FAULT_SCRIPTS_H
#define HAK_TESTS_FAULT_SCRIPTS_H

#include <ostream>

#include "session.h"

namespace fault {

struct Script {
  const char *name;
  void (*run)(Session &session);
  void (*prepare)(Session &session) = nullptr; /* runs before the script, with a kernel that refuses nothing */
};

/* Name of the script in a failing test. */
inline void PrintTo(const Script &script, std::ostream *out) { *out << script.name; }

void slabs(Session &session);
void magazines(Session &session);
void depot(Session &session);
void threads(Session &session);
void large(Session &session);
void big(Session &session);
void fill_big_table(Session &session);
void big_table(Session &session);
void fill_big_cache(Session &session);
void big_cache(Session &session);
void aligned(Session &session);
void zeroed(Session &session);
void trimmed(Session &session);
void settings(Session &session);
void make_pages_dear(Session &session);
void moved(Session &session);
void allow_draining(Session &session);
void drained(Session &session);

}  // namespace fault

#endif
