/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* kernel.h: a kernel that refuses on demand.
 *
 * what      The linker's --wrap sends the library's kernel calls here. Each call is numbered, then made, or answered by
 *           a plan; mapped bytes are summed up.
 *
 *               src/os: hak_kernel --> __wrap_hak_kernel: number n in the plan? -- no --> the kernel
 *                                                                \-- yes -> ENOMEM, EEXIST or another address
 *
 * owner     One plan for the process; a forked child has a copy.
 * locks     none. Lock-free on purpose: a lock here would order the threads that are tested.
 * orders    Relaxed. A plan is made before the start of the threads concerned.
 * not here  The library's duties after a refusal (session.h).
 */
#ifndef HAK_TESTS_FAULT_KERNEL_H
#define HAK_TESTS_FAULT_KERNEL_H

#include <cstddef>
#include <cstdint>

namespace fault {

/* `place` is an mmap that names an address and disturbs no mapping there (MAP_FIXED_NOREPLACE); `wait` and `wake` are
 * the futex's, `barrier` is membarrier, with its query. */
enum class Call : uint8_t { map, place, unmap, advise, remap, protect, allocate, wait, wake, barrier };

const char *name_of(Call call);
constexpr unsigned only(Call call) { return 1U << static_cast<unsigned>(call); }

/* refuse: ENOMEM. taken: EEXIST. elsewhere: mapped at a different address, as kernels before 4.17 do. */
enum class Answer : uint8_t { refuse, taken, elsewhere };

/* Calls with a number of first..last, one of these kinds and at least this many bytes get the answer. */
struct Plan {
  uint64_t first;
  uint64_t last;
  Answer answer = Answer::refuse;
  unsigned kinds = ~0U;
  size_t bytes = 0;
};

/* Begins to number at 1. */
void arm(const Plan &plan);
/* Refuses one call in `one_in`, by chance, with a seed per thread. */
void arm_by_chance(uint64_t one_in);
void seed_this_thread(uint64_t seed);
void disarm();

/* Number of calls since the last arm; the kind of the n-th call, for the first kRemembered calls. */
constexpr uint64_t kRemembered = 4096;
uint64_t calls();
Call kind_of(uint64_t n);

/* Calls that were answered wrongly: to this thread, and to all. */
uint64_t refused_here();
uint64_t refused();

/* Bytes of anonymous memory mapped through these calls. */
uint64_t mapped();

/* Called before each kernel call, by the calling thread; nullptr for none. */
using Watcher = void (*)(Call call);
void watch(Watcher watcher);

/* Memory shared with children, unnumbered. */
void *shared_memory(size_t bytes);

}  // namespace fault

#endif
