/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* scripts.h: the fixed scripts, one per box and policy.
 *
 * what      Each is a function that does the same calls in the same order whenever it runs; kernel calls are numbered
 *           along it. What it still holds at its end is the session's to give back.
 * owner     none.
 * locks     none: one thread at a time. orders: none.
 * hot path  none.
 * failure   none of its own: the session checks.
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
  void (*prepare)(Session &session) = nullptr; /* before it, with a kernel that refuses nothing */
};

/* How a failing test calls it. */
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
void moved(Session &session);
void allow_draining(Session &session);
void drained(Session &session);

}  // namespace fault

#endif
