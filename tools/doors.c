/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* doors.c: see doors.h.
 *
 * what      The wrappers, made from doors.def.
 */
#include "blocks/big.h"
#include "blocks/depot.h"
#include "blocks/large.h"
#include "blocks/slab.h"
#include "doors.h"
#include "entry/fast_path.h"
#include "entry/slow_path.h"
#include "tables/counters.h"
#include <stddef.h>
#include <string.h>

enum door {
#define DOOR(name, returns, parameters, arguments, counts) door_##name,
#include "doors.def"
#undef DOOR
  doors
};

static const char *const names[doors] = {
#define DOOR(name, returns, parameters, arguments, counts) #name,
#include "doors.def"
#undef DOOR
};

static uint64_t passed[doors];

#define DOOR(name, returns, parameters, arguments, counts)   \
  HAK_HIDDEN returns __real_##name parameters;               \
  HAK_HIDDEN returns __wrap_##name parameters;               \
  returns __wrap_##name parameters                           \
  {                                                          \
    hak_add(&passed[door_##name], (counts) ? 1 : 0);         \
    return __real_##name arguments;                          \
  }
#include "doors.def"
#undef DOOR

/* First of the counters that count without a setting. */
enum { first_always = HAK_COUNTER_kernel_map };

const char *doors_name(unsigned row)
{
  unsigned counter = first_always + row - doors;
  if (row < doors)
    return names[row] + strlen("hak_");
  return counter < HAK_COUNTERS ? hak_counter_name(counter) : NULL;
}

uint64_t doors_passed(unsigned row)
{
  return row < doors ? hak_load(&passed[row]) : hak_counter_value(first_always + row - doors);
}
