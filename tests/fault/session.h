/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* session.h: operations of a script on the library, and the checks after each step.
 *
 * what      Every operation of the hak_ names, on slots that hold a block or, after a refusal, none. An allocation
 *           succeeds, or gives NULL and ENOMEM, the latter only if the kernel refused a call during this allocation.
 *           After each step: every live block has its content, the bytes in use are the sum of the usable sizes, and
 *           every unit of the range is in a slab, a large block or a free run.
 * owner     The session holds the blocks; its oracle (tests/model/model.h) checks the blocks.
 * locks     none: one thread at a time.
 * failure   gtest failures that name the step; the first failure ends the process, which was started for one case.
 * not here  The scripts (scripts.cpp), the refusals (kernel.h).
 */
#ifndef HAK_TESTS_FAULT_SESSION_H
#define HAK_TESTS_FAULT_SESSION_H

#include <vector>

#include "../model/model.h"

namespace fault {

class Session {
 public:
  using Slot = size_t;
  using Slots = std::vector<Slot>;

  Slot take(size_t n);
  Slot take_at(size_t n, const void *site);
  Slot take_zeroed(size_t count, size_t size);
  Slot take_aligned(size_t alignment, size_t n);
  Slot take_posix(size_t alignment, size_t n);
  void resize(Slot slot, size_t n);
  void give(Slot slot);

  /* One step: many blocks of a size, the first `watched` bytes of each filled. */
  Slots take_many(size_t count, size_t n, size_t watched);
  void give_many(const Slots &slots);
  void give_everything();

  void trim(size_t pad);
  void set(const char *name, const char *value);

  /* Checks the invariants of the present state. */
  void check();

 private:
  void begin();
  Slot hold(void *p, size_t n, size_t watched, size_t alignment);
  void free_quietly(Slot slot);
  void check_units();

  model::Oracle oracle_;
  std::vector<model::Block> slots_;
  uint64_t refused_before_ = 0;
  uint64_t tags_ = 0;
  unsigned step_ = 0;
};

/* Bytes that the kernel gave and hak_get_stats does not count. */
uint64_t unexplained_bytes();

}  // namespace fault

#endif
