/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* runs_calls.h: short names for the tests of runs.
 *
 * what      Getting runs, their addresses, the number of free units of each sort, and the queue by age.
 * locks     As the calls.
 * failure   As the calls.
 * not here  Tests.
 */
#ifndef HAK_TEST_SPAN_CALLS_H
#define HAK_TEST_SPAN_CALLS_H

#include <vector>

extern "C" {
#include "runs/runs.h"
}

constexpr size_t kUnit = HAK_UNIT_BYTES;

inline char *address(uint32_t u) { return static_cast<char *>(hak_range_address(u)); }

/* As for a large block: dirty units are preferred, whatever *clean was. */
inline uint32_t get(size_t units, size_t align = 1, bool *clean = nullptr) {
  bool ignored, *zero = clean != nullptr ? clean : &ignored;
  *zero = false;
  return hak_runs_get(units, align, HAK_UNIT_LARGE, 0, zero, nullptr);
}

inline uint64_t dirty_units() {
  uint64_t dirty, clean;
  hak_runs_bytes(&dirty, &clean);
  return dirty / kUnit;
}

inline uint64_t clean_units() {
  uint64_t dirty, clean;
  hak_runs_bytes(&dirty, &clean);
  return clean / kUnit;
}

/* First units of free runs of this sort, from the unit table. */
inline std::vector<uint32_t> runs_of(hak_unit_kind kind) {
  std::vector<uint32_t> runs;
  for (uint32_t u = 1; u < g_range.units;) {
    const hak_unit *e = hak_range_entry(u);
    if (e->kind == kind) runs.push_back(u);
    u += e->kind == HAK_UNIT_HOLE ? 1 : e->length;
  }
  return runs;
}

/* First units of the dirty runs, oldest first. */
inline std::vector<uint32_t> queue() {
  std::vector<uint32_t> runs;
  for (const uint32_t u : runs_of(HAK_UNIT_DIRTY)) {
    if (hak_range_entry(u)->older == HAK_NO_UNIT) runs = {u};
  }
  for (uint32_t u; !runs.empty() && (u = hak_range_entry(runs.back())->newer) != HAK_NO_UNIT;) runs.push_back(u);
  return runs;
}

#endif
